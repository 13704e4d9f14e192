package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// stage says what the demo is made of, before it starts.
func (s *show) stage(ctx context.Context) error {
	st, err := s.daemon.client.Status(ctx)
	if err != nil {
		return err
	}
	say := s.screen.say
	say("congctl demo: one edge, %d client networks (%d IPv4, %d IPv6), all on this machine", len(s.edge.list), fourNetworks, sixNetworks)
	say("  kernel     %s, tier %s: %s", release(), st.Tier, st.TierReason)
	say("  links      token buckets (tbf)%s", map[bool]string{true: ", delay and random loss (netem)", false: "; this kernel has no netem, so there is no delay and no random loss"}[s.edge.netem])
	say("  default    %s, %s", defaultCong, defaultBy[s.edge.EdgeCongBy])
	say("  treatment  %s for responses from %d bytes on, decided by the real `congctl up` in the edge's namespace", treatment, minBytes)
	for _, name := range s.edge.loaded {
		say("  module     the kernel loaded tcp_%s for this; it stays: modprobe -r tcp_%s", name, name)
	}
	say("  time       compressed: windows of %s (5 min), blocks of %s (30 min), decisions after 12 known windows", window, block)
	say("  off        the low-RTT guard (nothing here is far away) and the CPU guard (others may use this machine)")
	say("  denied     %s, as slow as those that will be selected", s.edge.deniedNetwork())
	say("  attached   to %s alone: nothing else on this machine is touched", s.edge.Cgroup.Path)
	return nil
}

// defaultBy says how the edge came to its default.
var defaultBy = map[string]string{
	"sysctl": "by net.ipv4.tcp_congestion_control of the edge's namespace",
	"route":  "by the edge's routes (ip route ... congctl): this kernel lets no namespace default to it",
}

func release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// littleToWin is what to expect of treatment here.
func (e *edge) littleToWin() string {
	if e.netem {
		return ""
	}
	return "\nWithout delay CUBIC recovers from a loss at once: BBR has little to win on these links."
}

// ask shows the verbs on the running daemon.
func (s *show) ask(ctx context.Context) error {
	s.screen.title("What congctl says")
	one := s.example()
	for _, q := range []struct {
		args []string
		most int
	}{
		{[]string{"status"}, 40},
		{[]string{"prefixes"}, 30},
		{[]string{"explain", one}, 60},
		{[]string{"explain", s.edge.deniedNetwork().String()}, 3},
		{[]string{"rounds"}, 30},
		{[]string{"plan", "show"}, 40},
	} {
		out, err := s.daemon.verb(ctx, q.args...)
		if err != nil {
			return err
		}
		s.screen.shell("congctl "+strings.Join(q.args, " "), out, q.most)
	}
	out, err := s.edge.verbInside(ctx, s.daemon, "sockets", "--summary")
	if err != nil {
		return err
	}
	s.screen.shell("congctl sockets --summary", out, 40)
	return s.look(ctx)
}

// example is a selected prefix to explain.
func (s *show) example() string {
	for _, n := range s.edge.list {
		if v := s.book.verdictOf(n); v.term != nil {
			return n.prefix.String()
		}
	}
	return s.edge.list[0].prefix.String()
}

// quit ends the daemon as systemd would, within its promise of 5 s.
func (d *daemon) quit() error {
	if d.child == nil {
		return nil
	}
	_ = d.client.Close()
	if err := d.end(5 * time.Second); err != nil && d.ready { // before, it may not yet know the signal
		return fmt.Errorf("end congctl up: %w; it says:\n%s", err, d.tail())
	}
	return nil
}
