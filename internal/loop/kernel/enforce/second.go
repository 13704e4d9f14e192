package enforce

import (
	"errors"
	"fmt"
	"time"
)

// ErrSecond means that another congctl treats the same sockets.
var ErrSecond = errors.New("another congctl is attached to the same sockets")

// lingers: the kernel detaches the program of a killed process within milliseconds of its
// end. One that stays this long belongs to a process that runs.
const lingers = 5 * time.Second

// alone checks, once our program is attached, that no older one of congctl's works on the
// cgroup, on one above it or below: two would switch each other's connections, and the state
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

func (e *Enforcer) older() (ids []uint32, err error) {
	own, err := e.objs.CongctlSockops.Info()
	if err != nil {
		return nil, fmt.Errorf("look at own program: %w", err)
	}
	ownID, _ := own.ID()
	others, err := e.others()
	for _, o := range others {
		if o.Name == own.Name && o.ID < uint32(ownID) {
			ids = append(ids, o.ID)
		}
	}
	return ids, err
}
