package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/linux/sample"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// sampler adapts linux/sample to the agent.
type sampler struct {
	spaces *sample.Namespaces
	poll   *sample.Poll
	cong   inetdiag.Cong // what counts as the default everywhere; zero: each namespace's own
	cut    []string      // namespaces that are not polled for want of trust
	named  bool          // the configuration names each

	byID map[record.NetnsID]*sample.Namespace // of the last listing, and some that were gone by then
	gone []*sample.Namespace                  // the latest first
}

// keepGone is of how many namespaces local addresses are known after their end: close records
// of some seconds before come later.
const keepGone = 64

func openSampler(c config.Config, storageFD int) (*sampler, error) {
	open := sample.OpenTrusted
	if c.NetnsTrust == config.TrustAll {
		open = sample.OpenNamespaces
	}
	spaces, err := open(c.Netns...)
	if err != nil {
		if spaces != nil {
			spaces.Close()
		}
		return nil, fmt.Errorf("open network namespaces: %w", err)
	}
	poll, err := sample.NewPoll(spaces, sample.PollConfig{StorageFD: storageFD, Ports: c.PortRanges()})
	if err != nil {
		spaces.Close()
		return nil, err
	}
	return &sampler{spaces: spaces, poll: poll, cong: inetdiag.CongOf(c.Treatment.DefaultCong), named: !slices.Contains(c.Netns, sample.All)}, nil
}

// notTrusted counts the namespaces that are left out, and names those that the configuration names.
func (s *sampler) notTrusted() (count int, named []string) {
	if s.named {
		named = s.cut
	}
	return len(s.cut), named
}

func (s *sampler) Close() error { return s.spaces.Close() }

func (s *sampler) Namespaces() ([]agent.Namespace, error) {
	change, err := s.spaces.Refresh()
	s.cut = change.NotTrusted
	if len(s.spaces.All()) == 0 {
		return nil, errors.Join(err, agent.NotTrusted(s.cut))
	}
	if err := s.spaces.ReadLocal(); err != nil {
		return nil, err
	}
	s.index(change.Gone)
	var out []agent.Namespace
	for _, n := range s.spaces.All() {
		cong := s.cong
		if cong == (inetdiag.Cong{}) {
			var err error
			if cong, err = n.DefaultCong(); err != nil {
				return nil, err
			}
		}
		out = append(out, agent.Namespace{ID: n.Cookie, Name: n.Name, DefaultCong: cong})
	}
	return out, nil
}

func (s *sampler) index(gone []*sample.Namespace) {
	s.gone = slices.Concat(gone, s.gone)
	s.gone = s.gone[:min(len(s.gone), keepGone)]
	s.byID = make(map[record.NetnsID]*sample.Namespace, len(s.spaces.All())+len(s.gone))
	for _, n := range slices.Concat(s.gone, s.spaces.All()) {
		s.byID[n.Cookie] = n
	}
}

// isLocal reports whether an address is a namespace's own. Of a namespace that is not known any more
// each may be.
func (s *sampler) isLocal(id record.NetnsID, a netip.Addr) bool {
	n := s.byID[id]
	return n == nil || n.Local(a)
}

func (s *sampler) find(id record.NetnsID) (*sample.Namespace, error) {
	all := s.spaces.All()
	i := slices.IndexFunc(all, func(n *sample.Namespace) bool { return n.Cookie == id })
	if i < 0 {
		return nil, fmt.Errorf("namespace %d: gone", id)
	}
	return all[i], nil
}

func (s *sampler) Dump(id record.NetnsID, each func(*inetdiag.Sock)) (agent.DumpStats, error) {
	n, err := s.find(id)
	if err != nil {
		return agent.DumpStats{}, err
	}
	st, err := s.poll.One(n, func(_ *sample.Namespace, k *inetdiag.Sock) { each(k) })
	// A dump that was interrupted and then repeated to its end is complete.
	broken := st.Interrupted+st.Truncated+st.Overruns > st.Retried
	return agent.DumpStats{Sockets: st.Sockets - st.Repeated, Malformed: st.Malformed, Interrupted: broken}, err
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

// follower adapts loop/kernel/enforce to the agent.
type follower struct {
	*enforce.Enforcer
	sampler *sampler
}

func (f *follower) Sweep(id record.NetnsID, req abi.SweepRequest) (got abi.Sweep, err error) {
	n, err := f.sampler.find(id)
	if err != nil {
		return got, err
	}
	err = n.Inside(func() (err error) {
		got, err = f.Enforcer.Sweep(req)
		return err
	})
	return got, err
}

func (f *follower) counts() (agent.KernelCounts, error) {
	s, err := f.Stats()
	return agent.KernelCounts{RingFull: s.RingFull, Unpolled: s.Unpolled, NotFollowed: s.NoStorage + s.NoFlags + s.NoTCPSock,
		SwitchFailed: s.SwitchFailed}, err
}
