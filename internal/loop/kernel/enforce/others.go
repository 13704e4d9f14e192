package enforce

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Other is a foreign sock_ops program loaded on this host.
type Other struct {
	ID   uint32 `json:"id"`
	Name string `json:"name"`
}

// String leaves out a name that is not known, and says who knows it.
func (o Other) String() string {
	if o.Name == "" {
		return fmt.Sprintf("id %d (congctl host check has its name)", o.ID)
	}
	return fmt.Sprintf("%q (id %d)", o.Name, o.ID)
}

// others lists the foreign sock_ops programs that some of the sockets meet which meet ours: those
// of the cgroup, of those above it and of those below. Several may share a cgroup, but
// bpf_sock_ops_cb_flags_set replaces a socket's callback flags, so any of them can silently
// take ours. It needs CAP_NET_ADMIN; without CAP_SYS_ADMIN they have no names.
func (e *Enforcer) others() (found []Other, err error) {
	own, err := e.ownID()
	if err != nil {
		return nil, err
	}
	seen := map[ebpf.ProgramID]bool{own: true}
	err = filepath.WalkDir(e.opt.Cgroup, func(dir string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = attachedTo(dir, dir == e.opt.Cgroup, func(id ebpf.ProgramID) {
				if !seen[id] {
					seen[id] = true
					o, _ := sockopsByID(id)
					found = append(found, Other{uint32(id), o.Name})
				}
			})
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			return nil // a cgroup that was removed meanwhile
		}
		return err
	})
	slices.SortFunc(found, func(a, b Other) int { return cmp.Compare(a.ID, b.ID) })
	if err != nil {
		return found, fmt.Errorf("list programs of %s: %w", e.opt.Cgroup, err)
	}
	return found, nil
}

func (e *Enforcer) ownID() (ebpf.ProgramID, error) {
	own, err := e.objs.CongctlSockops.Info()
	if err != nil {
		return 0, fmt.Errorf("look at own program: %w", err)
	}
	id, _ := own.ID()
	return id, nil
}

// attachedTo passes on the programs of one cgroup, and of those above it.
func attachedTo(path string, above bool, each func(ebpf.ProgramID)) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	o := link.QueryOptions{Target: int(dir.Fd()), Attach: ebpf.AttachCGroupSockOps}
	if above {
		o.QueryFlags = unix.BPF_F_QUERY_EFFECTIVE
	}
	all, err := link.QueryPrograms(o)
	if err != nil {
		return err
	}
	for _, p := range all.Programs {
		each(p.ID)
	}
	return nil
}

// SockOps lists the sock_ops programs that are loaded on this host, whosever they
// are. It needs CAP_SYS_ADMIN.
func SockOps() (found []Other, err error) {
	var id ebpf.ProgramID
	for {
		if id, err = ebpf.ProgramGetNextID(id); errors.Is(err, os.ErrNotExist) {
			return found, nil
		} else if err != nil {
			return found, fmt.Errorf("list sock_ops programs: %w", err)
		}
		if o, ok := sockopsByID(id); ok {
			found = append(found, o)
		}
	}
}

// sockopsByID returns ok only for a sock_ops program that still exists.
func sockopsByID(id ebpf.ProgramID) (Other, bool) {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return Other{}, false
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil || info.Type != ebpf.SockOps {
		return Other{}, false
	}
	return Other{uint32(id), info.Name}, true
}
