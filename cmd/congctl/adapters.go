package main

import (
	"fmt"
	"net/netip"

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/kernel/enforce"
	"github.com/congctl/congctl/internal/kernel/route"
	"github.com/congctl/congctl/internal/kernel/sample"
)

// sampler shows kernel/sample to the agent.
type sampler struct {
	spaces *sample.Namespaces
	poll   *sample.Poll
	byID   map[record.NetnsID]*sample.Namespace
	cong   inetdiag.Cong // what counts as the default everywhere; zero: each namespace's own
}

var (
	_ agent.Sockets  = (*sampler)(nil)
	_ agent.Counters = (*sampler)(nil)
	_ agent.Follower = (*follower)(nil)
	_ agent.Treater  = (*follower)(nil)
	_ agent.Sweeper  = (*follower)(nil)
	_ agent.Treater  = (*route.Router)(nil)
)

func openSampler(c config.Config, storageFD int) (*sampler, error) {
	scope := sample.Scope{Mode: sample.ModeOwn}
	switch names := c.NetnsNames(); {
	case c.PollsAll():
		scope.Mode = sample.ModeAll
	case names != nil:
		scope = sample.Scope{Mode: sample.ModeList, List: names}
	}
	spaces, err := sample.OpenNamespaces(scope)
	if err != nil {
		if spaces != nil {
			spaces.Close()
		}
		return nil, fmt.Errorf("open network namespaces: %w", err)
	}
	cfg := sample.PollConfig{StorageFD: storageFD}
	for _, p := range c.Ports {
		cfg.Ports = append(cfg.Ports, inetdiag.PortRange{Lo: p, Hi: p})
	}
	poll, err := sample.NewPoll(spaces, cfg)
	if err != nil {
		spaces.Close()
		return nil, err
	}
	return &sampler{spaces: spaces, poll: poll, cong: inetdiag.CongOf(c.Treatment.DefaultCong)}, nil
}

func (s *sampler) Close() error { return s.spaces.Close() }

func (s *sampler) Namespaces() ([]agent.Namespace, error) {
	if _, err := s.spaces.Refresh(); err != nil && len(s.spaces.All()) == 0 {
		return nil, err
	}
	s.byID = map[record.NetnsID]*sample.Namespace{}
	var out []agent.Namespace
	for _, n := range s.spaces.All() {
		cong := s.cong
		if cong == (inetdiag.Cong{}) {
			var err error
			if cong, err = n.DefaultCong(); err != nil {
				return nil, err
			}
		}
		s.byID[n.Cookie] = n
		out = append(out, agent.Namespace{ID: n.Cookie, Name: n.Name, DefaultCong: cong})
	}
	return out, nil
}

func (s *sampler) find(id record.NetnsID) (*sample.Namespace, error) {
	n, ok := s.byID[id]
	if !ok {
		return nil, fmt.Errorf("namespace %d: gone", id)
	}
	return n, nil
}

func (s *sampler) Dump(id record.NetnsID, each func(*inetdiag.Sock)) (agent.DumpStats, error) {
	n, err := s.find(id)
	if err != nil {
		return agent.DumpStats{}, err
	}
	st, err := s.poll.One(n, func(_ *sample.Namespace, k *inetdiag.Sock) { each(k) })
	// A dump that was interrupted and repeated to its end is whole.
	broken := st.Interrupted+st.Truncated+st.Overruns > st.Retried
	return agent.DumpStats{Sockets: st.Sockets - st.Repeated, Malformed: st.Malformed, Repeated: st.Retried, Interrupted: broken}, err
}

func (s *sampler) Listening(id record.NetnsID) (func(netip.AddrPort) bool, error) {
	n, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return n.Listening.Accepts, nil
}

func (s *sampler) PassiveOpens(id record.NetnsID) (uint64, error) {
	n, err := s.find(id)
	if err != nil {
		return 0, err
	}
	return n.PassiveOpens()
}

// follower shows kernel/enforce to the agent.
type follower struct {
	*enforce.Enforcer
	sampler *sampler
}

func (f *follower) Set(p plan.Program) (int, error) {
	r, err := f.Enforcer.Set(p)
	return r.Set, err
}

func (f *follower) Sweep(ns agent.Namespace, req agent.SweepRequest) (agent.SweepResult, error) {
	n, err := f.sampler.find(ns.ID)
	if err != nil {
		return agent.SweepResult{}, err
	}
	var got enforce.Sweep
	err = n.Inside(func() (err error) {
		got, err = f.Enforcer.Sweep(enforce.SweepRequest{Rearm: req.Rearm, Evict: req.Evict, DefaultCong: ns.DefaultCong})
		return err
	})
	return agent.SweepResult{Marked: got.Marked, Stripped: got.Stripped, Rearmed: got.Rearmed, RearmFailed: got.RearmFailed,
		Evicted: got.Evicted, EvictFailed: got.EvictFailed}, err
}

func (f *follower) counts() (agent.KernelCounts, error) {
	s, err := f.Stats()
	return agent.KernelCounts{RingFull: s.RingFull, Unpolled: s.Unpolled, NotFollowed: s.NoStorage + s.NoFlags + s.NoTCPSock,
		SwitchFailed: s.SwitchFailed}, err
}
