package ledger

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// script runs the commands of a golden file. Lives persist between commands:
// "set" changes what the kernel would say of one, "poll" shows some of them to
// the ledger, "close" closes one.
type script struct {
	l     *Ledger
	lives map[uint64]*life
	out   strings.Builder
}

func newScript(max int) *script {
	sc := &script{lives: map[uint64]*life{}}
	sc.l = ledgerOf(Config{MaxConns: max,
		Emit: func(r *record.Conn) { sc.out.WriteString(showConn(r)) },
		// Blocks alternate C, T for 203.0.113.0/24; 198.51.100.0/24 is hold-out.
		ArmAt: func(p record.Prefix, unix int64) (record.Arm, bool) {
			switch p.String() {
			case "203.0.113.0/24":
				return record.ArmControl - record.Arm(unix/1800%2), true
			case "198.51.100.0/24":
				return record.ArmHoldout, true
			}
			return record.ArmNone, false
		}})
	return sc
}

func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		sc := newScript(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			sc.out.Reset()
			switch d.Cmd {
			case "new":
				var max int
				d.MaybeScanArgs(t, "max", &max)
				lives := sc.lives
				sc = newScript(max)
				sc.lives = lives
			case "set":
				sc.set(t, d)
			case "poll":
				sc.poll(t, d)
			case "close":
				var id uint64
				var at float64
				d.ScanArgs(t, "id", &id)
				d.ScanArgs(t, "at", &at)
				sc.l.Close(sc.lives[id].close(int64(at*1e9)), testOffset)
			case "settle":
				var w int64
				d.ScanArgs(t, "window", &w)
				sc.l.Settle(w)
			case "drop":
				sc.l.DropNetns(1)
			case "stats":
				return showStats(sc.l.Stats())
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			return sc.out.String()
		})
	})
}

// set applies "id key=value ..." for each line of input.
func (sc *script) set(t *testing.T, d *datadriven.TestData) {
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		var id uint64
		fmt.Sscan(f[0], &id)
		c := sc.lives[id]
		if c == nil {
			c = newLife(1, id)
			sc.lives[id] = c
		}
		for _, kv := range f[1:] {
			k, v, _ := strings.Cut(kv, "=")
			var n float64
			fmt.Sscan(v, &n)
			if !c.setField(k, v, n) {
				d.Fatalf(t, "unknown field %q", k)
			}
		}
	}
}

func (c *life) setField(k, v string, n float64) bool {
	counter := map[string]int{"acked": acked, "sent": sent, "retrans": retrans, "received": received,
		"busy": busyUs, "rwnd": rwndUs, "sndbuf": sndbufUs}
	bootNs := uint64(nanos(n) - testOffset)
	if i, ok := counter[k]; ok {
		c.n[i] = uint64(n)
		return true
	}
	switch k {
	case "established":
		c.marked, c.mark.EstablishedNs = true, bootNs
	case "samples":
		fmt.Sscanf(v, "%d/%d", &c.mark.RateSum, &c.mark.RateN)
	case "limited-samples":
		c.mark.LimitedN = uint32(n)
	case "late":
		var own uint32 // of the response that crossed last
		fmt.Sscanf(v, "%d/%d/%d", &c.mark.LateRate, &c.mark.LateN, &own)
		c.mark.Flags = c.mark.Flags&0xffff | own<<16
	case "episodes":
		c.mark.Episodes = uint16(n)
	case "crossed":
		c.mark.CrossedNs = bootNs
		c.mark.Crossings++
	case "switched":
		c.mark.SwitchedNs, c.mark.Cong = bootNs, inetdiag.CongOf("bbr")
	case "counting": // or no longer: acknowledged, sent and sent again, busy us so far
		c.turn()
	case "flags":
		c.mark.Flags = uint32(n)
	case "assigned":
		return c.mark.Assigned.UnmarshalText([]byte(v)) == nil
	case "applied":
		return c.mark.Applied.UnmarshalText([]byte(v)) == nil
	case "plan":
		c.mark.Plan = uint64(n)
	case "rate":
		c.rate = uint64(n)
	case "limited":
		c.limited = n != 0
	case "cong":
		c.cong = v
	case "state":
		c.state = uint8(n)
	case "remote":
		c.remote = netip.MustParseAddrPort(v)
	case "local":
		c.local = netip.MustParseAddrPort(v)
	default:
		return false
	}
	return true
}

func (sc *script) poll(t *testing.T, d *datadriven.TestData) {
	var at float64
	var window int64
	var see []uint64
	d.ScanArgs(t, "at", &at)
	d.ScanArgs(t, "window", &window)
	if d.HasArg("see") {
		for _, v := range argVals(d, "see") {
			var id uint64
			fmt.Sscan(v, &id)
			see = append(see, id)
		}
	}
	atNs := nanos(at)
	listening := func(a netip.AddrPort) bool { return a.Port() == 443 }
	sc.l.BeginPoll(Poll{Netns: 1, AtNs: atNs, BootNs: atNs - testOffset, DefaultCong: inetdiag.CongOf("cubic"), Listening: listening, First: d.HasArg("first"), Final: d.HasArg("final"), Window: window})
	for _, id := range see {
		sc.l.Sock(sc.lives[id].sock())
	}
	sc.l.EndPoll(!d.HasArg("interrupted"))
}

func argVals(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func showStats(st Stats) string {
	n := st.Dropped
	if len(st.Netns) > 0 {
		n = st.Netns[0]
	}
	return fmt.Sprintf(`live=%d gone=%d emitted=%v vanished-marked=%d joined=%d alone=%d returned=%d
dup-sights=%d dup-closes=%d tombstones=%d ignored=%d late=%d spanned=%d resets=%d mark-faults=%d overflow=%d forgotten-early=%d polls=%d+%d
netns: live=%d pre-start=%d new-marked=%d new-unmarked=%d new-active=%d
`, st.Live, st.Gone, st.Emitted, st.VanishedMarked, st.ClosesJoined, st.ClosesAlone, st.Returned,
		st.DuplicateSights, st.DuplicateCloses, st.Tombstones, st.Ignored, st.Late, st.Spanned, st.CounterResets, st.MarkFaults,
		st.Overflow, st.ForgottenEarly, st.Polls, st.PollsInterrupted,
		n.Live, n.PreStart, n.NewMarked, n.NewUnmarked, n.NewActive)
}

// nanos reads seconds with at most a microsecond's fraction.
func nanos(s float64) int64 { return int64(math.Round(s*1e6)) * 1000 }
