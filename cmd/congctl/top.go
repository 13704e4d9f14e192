//go:build !small

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/sockets"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/top"
)

// topSockets is a variable for tests, whose answers must not depend on this host.
var topSockets = socketSource

func newTop(g *global) *cobra.Command {
	var once bool
	var netns string
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch networks and connections live: sort, filter, explain",
		Long: `top shows the client networks of a running congctl and the connections of this host,
and renews them. Keys sort, filter and explain; ? lists them. With --once it prints one
answer and ends.`,
		Example: "  congctl top\n  congctl top --every 10s\n  congctl top --once -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < time.Second || every > time.Minute {
				return usage(fmt.Errorf("--every %s: use 1s to 60s", every))
			}
			if netns != "" && g.pop != "" {
				return usage(errors.New("--netns and --pop: a fleet's controller has no connections of clients; use one of the two"))
			}
			if netns != "" { // a wrong one is an error before the screen, not on it
				_, done, err := socketSource(netns, nil, inetdiag.ExtAll)
				if err != nil {
					return err
				} else if err := done(); err != nil {
					return err
				}
			}
			t := &topSource{g: g, netns: cmp.Or(netns, "own")}
			switch {
			case once:
				return t.once(cmd)
			case !g.isTable():
				return usage(fmt.Errorf("-o %s without --once: a screen is not JSON; write --once, too", g.output))
			case !isTerminal(cmd.OutOrStdout()) || !isTerminal(os.Stdin):
				return usage(errors.New("top needs a terminal; for a script write --once"))
			}
			return t.live(cmd, every)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print one answer and end; needs no terminal")
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "time between two answers, 1s to 60s")
	cmd.Flags().StringVar(&netns, "netns", "", "whose connections: own (the default), all, or a name or path of a network namespace")
	ofFleet(g, cmd)
	return cmd
}

// topSource asks what top shows, one question of each kind at a time.
type topSource struct {
	g     *global
	netns string
	conns int // of the last dump
	kept  topKept
}

// topKept are networks for as long as a status shows that nothing about them has changed: an answer about 5,000 of them
// takes as much processor time, here and in the process that answers, as all else on the screen.
type topKept struct {
	networks []top.Network
	of       topEpoch
	until    time.Time
}

// topEpoch is what an answer about networks follows from.
type topEpoch struct {
	round           int64
	plan            record.PlanID
	stopped, frozen bool
	pid             int
}

// topKeep bounds that: a reload of the configuration is in no status.
const topKeep = 30 * time.Second

func (k *topKept) get(ctx context.Context, now time.Time, v control.View, st *control.Status) ([]top.Network, error) {
	of := topEpoch{st.RoundUnixS, st.Plan, st.Stopped, st.Frozen, st.PID}
	if k.of == of && now.Before(k.until) {
		return k.networks, nil
	}
	rows, err := v.Prefixes(ctx, control.PrefixesRequest{})
	if err != nil {
		return nil, err
	}
	*k = topKept{make([]top.Network, len(rows)), of, now.Add(topKeep)}
	for i, r := range rows {
		k.networks[i] = top.Network(r)
		if block := time.Unix(r.ArmUntil, 0); r.ArmUntil > 0 && block.Before(k.until) {
			k.until = block
		}
	}
	return k.networks, nil
}

func (t *topSource) once(cmd *cobra.Command) error {
	a := top.Answer{AtUnixS: time.Now().Unix()}
	err := t.g.withView(cmd.Context(), func(v control.View) (err error) {
		a.State, a.Networks, err = t.answer(cmd.Context(), v)
		return err
	})
	if err != nil {
		return err
	}
	var conns []top.Conn
	if t.g.pop == "" {
		if conns, err = t.dump(); err != nil {
			return err
		}
	}
	a.Totals = top.Totals(a.State, a.Networks, conns)
	return t.g.printTable(cmd, a, func(w io.Writer) error {
		if err := top.WriteTotals(w, a.Totals); err != nil {
			return err
		}
		fmt.Fprintln(w)
		rows := make([]control.PrefixRow, len(a.Networks))
		for i, n := range a.Networks {
			rows[i] = control.PrefixRow(n)
		}
		return control.WritePrefixes(w, rows, false)
	})
}

// answer asks a view for the two parts of an answer.
func (t *topSource) answer(ctx context.Context, v control.View) (s top.State, networks []top.Network, err error) {
	st, err := v.Status(ctx)
	if err != nil {
		return s, nil, err
	}
	if networks, err = t.kept.get(ctx, time.Now(), v, &st); err != nil {
		return s, nil, err
	}
	s = top.State{PoP: st.PoP, Running: st.Running, Stopped: st.Stopped, Frozen: st.Frozen, Plan: st.Plan, Ranked: st.Ranked, Needed: st.MinRanked, Default: "default"}
	if a := st.Agent; a != nil {
		s.Alarms = a.Alarms
		for i, c := range a.DefaultCongs {
			if s.Default = c; i > 0 && c != a.DefaultCongs[0] {
				s.Default = "default"
				break
			}
		}
	}
	return s, networks, nil
}

func (t *topSource) dump() (conns []top.Conn, err error) {
	from, done, err := topSockets(t.netns, nil, inetdiag.ExtInfo|inetdiag.ExtCong)
	if err != nil {
		return nil, err
	}
	names := map[inetdiag.Cong]string{} // one string for each, not for each connection
	conns = make([]top.Conn, 0, t.conns+t.conns/8)
	err = sockets.Source(from)(func(netns string, s *inetdiag.Sock) {
		c, ok := top.ConnOf(netns, s)
		if !ok {
			return
		}
		if name, known := names[s.Cong]; known && s.Has&inetdiag.HasCong != 0 {
			c.Cong = name
		} else {
			names[s.Cong] = c.Cong
		}
		conns = append(conns, c)
	})
	t.conns = len(conns)
	return conns, errors.Join(err, done())
}

// live shows the screen until a key or a signal ends it, which is no error.
func (t *topSource) live(cmd *cobra.Command, every time.Duration) error {
	cfg, err := t.g.config()
	if err != nil {
		return err
	}
	s := &topScreen{
		source: t, view: t.g.client(cfg), ctx: cmd.Context(), every: every,
		model: top.New(top.Options{Host: t.g.pop == "", Every: every}),
	}
	return runScreen(cmd.Context(), s, raw(cmd.OutOrStdout()))
}

// runScreen gives the terminal to a screen, and restores it whatever ends the screen.
func runScreen(ctx context.Context, s tea.Model, out io.Writer) error {
	p := tea.NewProgram(s, tea.WithInput(os.Stdin), tea.WithOutput(out), tea.WithoutSignalHandler(), tea.WithFPS(topFPS))
	// Not tea.WithContext: that ends the program without waiting for its reader of keys.
	defer context.AfterFunc(ctx, p.Quit)() // by SIGINT or SIGTERM
	_, err := p.Run()
	return err
}

// troubleOf is what to say of an error on the screen.
func troubleOf(err error) top.Trouble {
	c := codedOf(err)
	return top.Trouble{Text: c.Error(), Hint: c.hint, Down: errors.Is(err, control.ErrNotRunning)}
}
