package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// world is one script's router over a fake table, with a clock of whole seconds.
type world struct {
	t    *testing.T
	tab  *fakeTable
	r    *Router
	nowS int64
}

func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		w := &world{t: t, tab: &fakeTable{refuse: map[string]error{}, past: map[netip.Addr]string{}}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.tab.log = nil
			var out strings.Builder
			err := w.run(d, &out)
			for _, line := range w.tab.log {
				fmt.Fprintln(&out, line)
			}
			if err != nil {
				fmt.Fprintf(&out, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
			}
			if w.r != nil && d.Cmd != "table" && d.Cmd != "close" {
				w.tell(&out)
			}
			return out.String()
		})
	})
}

func (w *world) run(d *datadriven.TestData, out *strings.Builder) (err error) {
	switch d.Cmd {
	case "table": // the routes of everybody else
		w.tab.all = slices.DeleteFunc(w.tab.all, func(e entry) bool { return e.proto != Proto })
		fallthrough
	case "add":
		for line := range strings.Lines(d.Input) {
			e, err := parseRoute(line)
			if err != nil {
				return err
			}
			w.tab.all = append(w.tab.all, e)
		}
		return nil
	case "lose": // somebody removes a route of ours
		w.tab.all = slices.DeleteFunc(w.tab.all, func(e entry) bool { return e.dst.String() == d.Input && e.proto == Proto })
	case "open":
		w.r = newRouter(w.tab, func() int64 { return w.nowS * 1e9 })
		_, err = clearOf(w.tab)
	case "refuse":
		w.tab.refuse = map[string]error{}
		if d.Input != "" {
			w.tab.refuse[d.Input] = errors.New("invalid argument")
		}
	case "rule":
		for line := range strings.Lines(d.Input) {
			w.tab.past[netip.MustParseAddr(strings.TrimSpace(line))] = ""
		}
	case "garble":
		w.tab.garble = true
	case "deny":
		return w.r.SetDeny(slices.Collect(func(yield func(netip.Prefix) bool) {
			for line := range strings.Lines(d.Input) {
				yield(netip.MustParsePrefix(strings.TrimSpace(line)))
			}
		}))
	case "stop", "resume":
		w.r.Stop(abi.StopKilled, d.Cmd == "stop")
	case "close":
		return w.r.Close()
	case "set":
		return w.set(d, out)
	default:
		return fmt.Errorf("unknown command %q", d.Cmd)
	}
	return err
}

// set reads lines "PREFIX NOW NEXT CONG [cap]"; the block ends at 1800 s, the next
// at 3600 s, and the program expires at 900 s after now unless told.
func (w *world) set(d *datadriven.TestData, out *strings.Builder) error {
	prog := plan.Program{Plan: 7}
	d.MaybeScanArgs(w.t, "now", &w.nowS)
	expires := w.nowS + 900
	d.MaybeScanArgs(w.t, "expires", &expires)
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		p, err := record.ParsePrefix(f[0])
		if err != nil {
			return err
		}
		e := plan.ProgramEntry{Prefix: p, Policy: abi.Policy{SwitchNs: 1800e9, UntilNs: 3600e9, ExpiresNs: uint64(expires) * 1e9, Cong: inetdiag.CongOf(f[3])}}
		if err := errors.Join(e.Policy.ArmNow.UnmarshalText([]byte(f[1])), e.Policy.ArmNext.UnmarshalText([]byte(f[2]))); err != nil {
			return err
		}
		if len(f) > 4 {
			if e.Policy.CapBytesPerS, err = strconv.ParseUint(f[4], 10, 64); err != nil {
				return err
			}
		}
		prog.Entries = append(prog.Entries, e)
	}
	n, err := w.r.Set(prog)
	if n != w.r.Report().InForce {
		fmt.Fprintf(out, "set says %d\n", n)
	}
	return err
}

func (w *world) tell(out *strings.Builder) {
	rep := w.r.Report()
	fmt.Fprintf(out, "in force %d, routes %d, drift %d, lost %d\n", rep.InForce, rep.Routes, rep.Drift, rep.Lost)
	if rep.Trouble != "" {
		fmt.Fprintf(out, "trouble: %s\n", rep.Trouble)
	}
	for _, s := range rep.Skipped {
		part := "not treated"
		if s.Partly {
			part = "partly treated"
		}
		fmt.Fprintf(out, "%s %s: %s\n", s.Prefix, part, s.Reason)
	}
	var ours []string
	for _, e := range w.tab.all {
		if e.proto == Proto {
			ours = append(ours, "  "+e.String()+"\n")
		}
	}
	slices.Sort(ours)
	out.WriteString(strings.Join(ours, ""))
}
