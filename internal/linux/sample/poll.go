package sample

// One poll: for each namespace a dump of the listeners, to distinguish accepted
// connections from the host's own outbound ones, then a dump of the connections. Both
// families come in one walk of the kernel's table.

import (
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// PollConfig chooses what is polled. The zero value polls all connections with
// what the closed loop needs.
type PollConfig struct {
	Ports     []inetdiag.PortRange // local ports, filtered in the kernel; none: all
	States    uint32               // 0: inetdiag.Connected
	Ext       inetdiag.Ext         // 0: inetdiag.ExtPoll
	StorageFD int                  // sk_storage map to read along (5.7 and CAP_BPF); 0: none
}

// PollStats counts one poll, all namespaces together.
type PollStats struct {
	Stats             // of the connections' dumps; handed out: Sockets - NoInfo
	Listeners  int    // distinct addresses and ports
	NoInfo     uint64 // sockets without tcp_info, not handed out: timewait remains of FIN_WAIT2
	Namespaces int    // polled
	Failed     int    // namespaces whose dump broke off; the error names them
}

// Poll polls a set of namespaces again and again. Not for concurrent use.
type Poll struct {
	spaces    *Namespaces
	req       inetdiag.Request
	visit     func(*Namespace, *inetdiag.Sock)
	at        *Namespace
	noInfo    uint64
	each      func(*inetdiag.Sock)
	eachHears func(*inetdiag.Sock)
}

// NewPoll makes a poll over namespaces that the caller keeps, refreshes and closes.
func NewPoll(spaces *Namespaces, cfg PollConfig) (*Poll, error) {
	p := &Poll{spaces: spaces, req: inetdiag.Request{States: cfg.States, Ext: cfg.Ext, StorageFD: cfg.StorageFD}}
	if p.req.States == 0 {
		p.req.States = inetdiag.Connected
	}
	if p.req.Ext == 0 {
		p.req.Ext = inetdiag.ExtPoll
	}
	if len(cfg.Ports) > 0 {
		var err error
		if p.req.Bytecode, err = inetdiag.SportFilter(cfg.Ports); err != nil {
			return nil, fmt.Errorf("prepare poll: %w", err)
		}
	}
	p.each, p.eachHears = p.connection, p.listener // bound once: a method value allocates
	return p, nil
}

// Run polls once. visit gets each connection with its namespace, whose Listening is
// current; Run reuses the Sock. A namespace that fails does not affect the others.
func (p *Poll) Run(visit func(*Namespace, *inetdiag.Sock)) (PollStats, error) {
	return p.over(p.spaces.All(), visit)
}

// One is Run for a single namespace of the set.
func (p *Poll) One(n *Namespace, visit func(*Namespace, *inetdiag.Sock)) (PollStats, error) {
	return p.over([]*Namespace{n}, visit)
}

func (p *Poll) over(list []*Namespace, visit func(*Namespace, *inetdiag.Sock)) (PollStats, error) {
	var st PollStats
	var errs error
	p.visit, p.noInfo = visit, 0
	for _, n := range list {
		p.at = n
		st.Namespaces++
		if err := p.one(&st); err != nil {
			st.Failed++
			errs = errors.Join(errs, err)
		}
	}
	p.visit, p.at = nil, nil
	st.NoInfo = p.noInfo
	return st, errs
}

func (p *Poll) one(st *PollStats) error {
	p.at.Listening.reset()
	if _, err := p.at.Dump(inetdiag.Request{States: inetdiag.Listening}, p.eachHears); err != nil {
		return fmt.Errorf("dump listeners: %w", err)
	}
	st.Listeners += p.at.Listening.Len()
	got, err := p.at.Dump(p.req, p.each)
	st.Add(got)
	return err
}

func (p *Poll) listener(s *inetdiag.Sock) { p.at.Listening.add(s) }

func (p *Poll) connection(s *inetdiag.Sock) {
	if p.req.Ext&inetdiag.ExtInfo != 0 && s.Has&inetdiag.HasInfo == 0 {
		p.noInfo++
		return
	}
	p.visit(p.at, s)
}
