package sample

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/kernel/nsthread"
)

// Inside runs fn on a thread of this namespace, for work that asks the kernel
// "the namespace that I am in". It needs CAP_SYS_ADMIN.
func (n *Namespace) Inside(fn func() error) error {
	// The dumper's socket knows where it was opened, so no second descriptor is kept.
	fd, err := unix.IoctlRetInt(n.dump.sock.fd, unix.SIOCGSKNS)
	if err != nil {
		return fmt.Errorf("enter network namespace %s: %w", n.Name, err)
	}
	defer unix.Close(fd)
	return nsthread.Run(fd, fn)
}

// One polls a single namespace of the set: its Listening is current when visit is
// called for the first time. The Sock is reused.
func (p *Poll) One(n *Namespace, visit func(*Namespace, *inetdiag.Sock)) (PollStats, error) {
	st := PollStats{Namespaces: 1}
	p.visit, p.noInfo, p.at = visit, 0, n
	err := p.one(&st)
	p.visit, p.at = nil, nil
	st.NoInfo = p.noInfo
	if err != nil {
		st.Failed = 1
	}
	return st, err
}
