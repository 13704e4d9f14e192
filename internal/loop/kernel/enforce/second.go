package enforce

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// ErrSecond means that another congctl treats the same sockets.
var ErrSecond = errors.New("another congctl is attached to the same sockets")

// lingers: the kernel detaches the program of a killed process within milliseconds of its
// end. One that stays this long belongs to a process that runs.
const lingers = 5 * time.Second

// alone checks, once our program is attached, that no older one of congctl's works on the
// cgroup, its parents included: two would switch each other's connections, and the state
// directory's lock keeps only one of them. Of two that start together the older one stays.
// It cannot name programs, and so sees none, without CAP_SYS_ADMIN.
func (e *Enforcer) alone() error {
	for until := time.Now().Add(lingers); ; time.Sleep(50 * time.Millisecond) {
		older, err := e.older()
		switch {
		case err != nil, len(older) == 0:
			return err
		case time.Now().After(until):
			return fmt.Errorf("attach sock_ops to %s: %w (program %d); end it first: congctl stop --force with its configuration", e.opt.Cgroup, ErrSecond, older[0])
		}
	}
}

func (e *Enforcer) older() (ids []ebpf.ProgramID, err error) {
	own, err := e.objs.CongctlSockops.Info()
	if err != nil {
		return nil, fmt.Errorf("list programs of %s: %w", e.opt.Cgroup, err)
	}
	ownID, _ := own.ID()
	dir, err := os.Open(e.opt.Cgroup)
	if err != nil {
		return nil, fmt.Errorf("list programs of %s: %w", e.opt.Cgroup, err)
	}
	defer dir.Close()
	all, err := link.QueryPrograms(link.QueryOptions{Target: int(dir.Fd()), Attach: ebpf.AttachCGroupSockOps, QueryFlags: unix.BPF_F_QUERY_EFFECTIVE})
	if err != nil {
		return nil, fmt.Errorf("list programs of %s: %w", e.opt.Cgroup, err)
	}
	for _, p := range all.Programs {
		if o, ok := sockopsByID(p.ID); ok && o.Name == own.Name && p.ID < ownID {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
