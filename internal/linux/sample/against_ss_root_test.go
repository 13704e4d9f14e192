package sample

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// explained are the fields of ss that may differ from ours while nothing happens,
// or that one of the two cannot tell, each with its reason.
var explained = map[string]string{
	"lastsnd":       "milliseconds since: grows with time, checked against the elapsed time",
	"lastrcv":       "milliseconds since: grows with time, checked against the elapsed time",
	"lastack":       "milliseconds since: grows with time, checked against the elapsed time",
	"timer_expires": "counts down, and ss rounds it for reading",
	"cgroup":        "ss prints the path, the kernel sends the id",
}

// quietWorld opens n connections in cubic, bbr and reno over both families, in
// seven states, with data moved, left unread and left unsent, then waits for
// delayed acknowledgements.
func quietWorld(t testing.TB, n int) *world {
	w := newWorld(t)
	var listeners []int
	congs := []string{"cubic", "bbr", "reno"}
	families := []int{unix.AF_INET, unix.AF_INET6}
	for i := range 6 {
		listeners = append(listeners, w.listen(families[i%2], 8000+i, 128, congs[i/2]))
	}
	for i := range n {
		k := i % 6
		p := w.connect(listeners[k], families[k%2], 1000+i/40, 8000+k, congs[k/2])
		w.move(p.client, p.server, 100+i%700*13)
		w.move(p.server, p.client, 1+i%90*700)
		w.disturb(p, i/6%16)
	}
	full := w.listen(unix.AF_INET, 9000, 0, "cubic") // a backlog of one: the rest stays in SYN_SENT
	for range 4 {
		fd := w.socket(unix.AF_INET, "reno")
		w.must(unix.SetNonblock(fd, true))
		if err := unix.Connect(fd, loopback(unix.AF_INET, 1, 9000)); err != unix.EINPROGRESS {
			w.must(err)
		}
	}
	_ = full
	time.Sleep(300 * time.Millisecond)
	return w
}

// disturb leaves a connection in one of several conditions; most stay idle.
func (w *world) disturb(p pair, kind int) {
	w.t.Helper()
	fill := func() {
		w.must(unix.SetNonblock(p.client, true))
		for {
			if _, err := unix.Write(p.client, make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	switch kind {
	case 1: // CLOSE_WAIT, FIN_WAIT2
		w.must(unix.Shutdown(p.client, unix.SHUT_WR))
	case 2: // unread data
		_, err := unix.Write(p.client, make([]byte, 5000))
		w.must(err)
	case 3:
		w.must(unix.SetsockoptInt(p.client, unix.SOL_SOCKET, unix.SO_MARK, 0x2a))
	case 4:
		w.must(unix.SetsockoptInt(p.client, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1))
	case 5:
		w.must(unix.SetsockoptUint64(p.server, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, 1e9))
	case 6: // zero window, unsent data, persist timer
		w.must(unix.SetsockoptInt(p.client, unix.SOL_SOCKET, unix.SO_SNDBUF, 256<<10))
		w.must(unix.SetsockoptInt(p.server, unix.SOL_SOCKET, unix.SO_RCVBUF, 16<<10))
		if w.pairs[0] != p && len(w.pairs)%5 == 0 {
			fill()
			w.must(unix.Shutdown(p.client, unix.SHUT_WR)) // FIN_WAIT1
		}
	}
}

func TestSameAsSS(t *testing.T) {
	needSS(t)
	ownNetns(t)
	moreFiles(t, 8000)
	quietWorld(t, 2000)
	d, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for try := 0; !sameAsSS(t, d); try++ {
		if try == 10 {
			t.Fatal("too many fields moved to conclude")
		}
		time.Sleep(300 * time.Millisecond) // on a busy machine the last timers come late
	}
}

// sameAsSS compares a dump with what ss says before and after it; false if so
// much moved meanwhile that nothing can be said.
func sameAsSS(t *testing.T, d *Dumper) bool {
	t.Helper()
	began := time.Now()
	before := runSS(t)
	ours := map[uint64]map[string]string{}
	states := map[string]int{}
	st, err := d.Dump(inetdiag.Request{States: inetdiag.Everything, Ext: inetdiag.ExtAll}, func(s *inetdiag.Sock) {
		ours[s.Cookie] = asSS(s)
		states[ssStates[s.State]]++
	})
	if err != nil || st.Malformed != 0 || int(st.Sockets) != len(ours) || st.NewAttrs != 0 {
		t.Fatalf("%+v: %d sockets, %v", st, len(ours), err)
	}
	after := runSS(t)
	elapsed := time.Since(began)
	if len(explained) > 8 {
		t.Fatalf("%d explained fields", len(explained))
	}
	if !slices.Equal(sortedKeys(ours), sortedKeys(before)) {
		t.Errorf("ss has %d sockets, we %d", len(before), len(ours))
	}
	if len(ours) < 4000 || len(states) < 6 {
		t.Errorf("only %d sockets in states %v", len(ours), states)
	}
	if moved, all := movedFields(before, after); float64(sum(moved)) > 0.01*float64(all) {
		t.Logf("moved between the two runs of ss, of %d: %v", all, moved)
		return false
	}
	equal := compareWithSS(t, before, ours, after, elapsed)
	t.Logf("%d sockets %v; %d fields equal of %d kinds", len(ours), states, sum(equal), len(equal))
	for _, key := range []string{"fwmark", "timer", "bbr", "notsent", "v6only", "pacing_rate"} {
		if equal[key] == 0 {
			t.Errorf("the sockets exercise no %s", key)
		}
	}
	return true
}

// movedFields counts the fields that differ between two runs of ss, but those that
// grow with time, and all.
func movedFields(before, after map[uint64]map[string]string) (moved map[string]int, all int) {
	moved = map[string]int{}
	for cookie, was := range before {
		for k, v := range was {
			if all++; explained[k] == "" && after[cookie][k] != v {
				moved[k]++
			}
		}
	}
	return moved, all
}

func compareWithSS(t *testing.T, before, ours, after map[uint64]map[string]string, elapsed time.Duration) map[string]int {
	equal := map[string]int{}
	complaints := 0
	for cookie, was := range before {
		mine, is := ours[cookie], after[cookie]
		if mine == nil || is == nil {
			continue
		}
		keys := map[string]bool{}
		for _, m := range []map[string]string{was, mine, is} {
			for k := range m {
				keys[k] = true
			}
		}
		for k := range keys {
			switch {
			case strings.HasPrefix(k, "last"):
				if !within(was[k], mine[k], is[k], elapsed) {
					complaints++
					t.Errorf("%x %s: ss %s, we %s, ss %s", cookie, k, was[k], mine[k], is[k])
				}
			case explained[k] != "":
			case was[k] != is[k]: // movedFields counts it
			case mine[k] != was[k]:
				complaints++
				t.Errorf("%x %s: ss twice %q, we %q", cookie, k, was[k], mine[k])
			default:
				equal[k]++
			}
			if complaints > 20 {
				t.Fatal("and more")
			}
		}
	}
	return equal
}

// within checks a time-since field. Where a probe or retransmission reset the
// clock in between, the later value is smaller than the elapsed time.
func within(was, mine, is string, elapsed time.Duration) bool {
	num := func(s string) int64 { v, _ := strconv.ParseInt(s, 10, 64); return v } // ss omits 0
	a, b, c := num(was), num(mine), num(is)
	const jiffy = 10 // the kernel rounds to its tick, 10 ms at most
	most := elapsed.Milliseconds() + jiffy
	grew := func(from, to int64) bool { return to >= from-jiffy && to <= from+most }
	return (grew(a, b) || b <= most) && (grew(b, c) || c <= most)
}

func sortedKeys(m map[uint64]map[string]string) []uint64 { return slices.Sorted(maps.Keys(m)) }

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// TestRecordDump rewrites the recorded dumps of the decoder's own tests:
// CONGCTL_RECORD=$PWD/internal/tcp/inetdiag/testdata/6.18 go test -run TestRecordDump ./internal/linux/sample
func TestRecordDump(t *testing.T) {
	dir := os.Getenv("CONGCTL_RECORD")
	if dir == "" {
		t.Skip("records only when CONGCTL_RECORD names a directory; no minimum kernel")
	}
	needSS(t)
	ownNetns(t)
	quietWorld(t, 42)
	sock, err := openSocket()
	if err != nil {
		t.Fatal(err)
	}
	defer sock.close()
	if err := sock.send(inetdiag.Request{States: inetdiag.Everything, Ext: inetdiag.ExtAll}.Append(nil, 1)); err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for done := false; !done; {
		data, _, err := sock.read()
		if err != nil {
			t.Fatal(err)
		}
		raw = append(raw, data...)
		m, _, err := inetdiag.Next(data)
		done = err != nil || m.Type == inetdiag.TypeDone
	}
	writeFile(t, dir+"/dump.bin", raw)
}

func writeFile(t *testing.T, path string, data []byte) {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
