package enforce

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"
)

// Other is a foreign sock_ops program loaded on this host.
type Other struct {
	ID   uint32 `json:"id"`
	Name string `json:"name"`
}

// Others lists the sock_ops programs on this host that are not ours. Several may
// share a cgroup, but bpf_sock_ops_cb_flags_set replaces a socket's callback
// flags, so any of them can silently take ours.
func (e *Enforcer) Others() ([]Other, error) {
	own, err := e.objs.CongctlSockops.Info()
	if err != nil {
		return nil, fmt.Errorf("list sock_ops programs: %w", err)
	}
	ownID, _ := own.ID()
	all, err := SockOps()
	return slices.DeleteFunc(all, func(o Other) bool { return o.ID == uint32(ownID) }), err
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
