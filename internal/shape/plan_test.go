package shape

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

var ethernet = Link{Name: "eth0", Index: 2, MTU: 1500, HeaderBytes: 14, Up: true, TSO: true, GSO: true,
	Kernel: [2]int{6, 1}, Timer: Timer{HighRes: true}, Root: Qdisc{Kind: "fq_codel"}}

// reported are roots with more than options.
var reported = map[string]Qdisc{
	"peak":                  {Kind: "tbf", Handle: 0x8001, Tbf: &Tbf{8e6, 204800, 500000}, Peak: 40e6, PeakBurst: 1600},
	"narrow-peak":           {Kind: "tbf", Handle: 0x8001, Tbf: &Tbf{8e6, 3028, 50000}, Peak: 40e6, PeakBurst: 1513},
	"ours-with-peak":        {Kind: "tbf", Handle: Handle, Tbf: &Tbf{8e6, 3028, 103028}, Peak: 9e6, PeakBurst: 1600},
	"ours-sized":            {Kind: "tbf", Handle: Handle, Tbf: &Tbf{8e6, 3028, 103028}, Sized: true},
	"on-atm":                {Kind: "tbf", Handle: 1, Tbf: &Tbf{8e6, 1600, 50000}, Sized: true, Lost: []string{"the cells of the size table (stab)"}},
	"leaf-in-hardware":      {Kind: "mq", Handle: 1, Below: []Qdisc{{Kind: "fq", Handle: 2}, {Kind: "tbf", Handle: 3, Lost: []string{"the place in the card's hardware", "attribute 40"}}}},
	"sorted-by-the-kernels": {Kind: "fq_codel", Filters: true},
}

// links by what is special about them.
func linkOf(name string) Link {
	l := ethernet
	if root, ok := reported[name]; ok {
		l.Root = root
	}
	switch name {
	case "old":
		l.Kernel = [2]int{3, 10}
	case "old-tso":
		l.Kernel, l.GSO = [2]int{3, 10}, false
	case "first-to-split":
		l.Kernel = [2]int{3, 11}
	case "no-offloads":
		l.TSO, l.GSO = false, false
	case "ticks":
		l.Timer = Timer{HZ: 250}
	case "unknown-ticks":
		l.Timer = Timer{}
	case "two-frames-64k":
		l.MTU = 32<<10 - l.HeaderBytes
	case "jumbo":
		l.MTU = 9000
	case "down":
		l.Up = false
	case "lo":
		l.Name, l.Loopback = "lo", true
	case "mq":
		l.Root = Qdisc{Kind: "mq", Below: []Qdisc{{Kind: "fq"}, {Kind: "fq"}}}
	case "mq-by-hand":
		l.Root = Qdisc{Kind: "mq", Handle: 1, Below: []Qdisc{{Kind: "fq", Handle: 2}, {Kind: "fq", Handle: 3}}}
	case "leaves-by-hand":
		l.Root = Qdisc{Kind: "mq", Below: []Qdisc{{Kind: "fq", Handle: 2}, {Kind: "fq_codel"}}}
	case "htb":
		l.Root = Qdisc{Kind: "htb", Handle: 1}
	case "htb-below":
		l.Root = Qdisc{Kind: "mq", Handle: 1, Below: []Qdisc{{Kind: "fq"}, {Kind: "htb", Handle: 2}}}
	case "htb-of-the-kernel":
		l.Root = Qdisc{Kind: "htb"}
	case "sorted":
		l.Root = Qdisc{Kind: "fq_codel", Handle: 1, Filters: true}
	case "enabled":
		l.Root = Qdisc{Kind: "fq", Handle: 0xcc00}
	case "enabled-mq":
		l.Root = Qdisc{Kind: "mq", Handle: 0xcc00, Below: []Qdisc{{Kind: "fq", Handle: 0x8001}, {Kind: "fq", Handle: 0x8002}}}
	case "tbf-of-another":
		l.Root = Qdisc{Kind: "tbf", Handle: 0x8001, Tbf: &Tbf{8e6, 1600, 50000}}
	case "ours":
		l.Root = Qdisc{Kind: "tbf", Handle: Handle, Tbf: &Tbf{8e6, 3028, 103028}}
	case "guest":
		l.Root = Qdisc{Kind: "tbf", Handle: Handle, Tbf: &Tbf{8e6, 3028, 103028}, Below: []Qdisc{{Kind: "pfifo", Handle: 0x10}}}
	case "stuck-guest":
		l.Root = Qdisc{Kind: "tbf", Handle: Handle, Tbf: &Tbf{8e6, 3028, 103028}, Below: []Qdisc{{Kind: "netem", Handle: ChildHandle}}}
	case "ours-with-fq_codel":
		l.Root = Qdisc{Kind: "tbf", Handle: Handle, Tbf: &Tbf{8e6, 3028, 103028}, Below: []Qdisc{{Kind: "fq_codel", Handle: ChildHandle}}}
	case "filtered":
		l.Ingress = true
	}
	return l
}

// A plan from a link and what was asked: `plan link=NAME rate=R burst=S queue=Q inner=K ingress=R replace`.
func TestPlan(t *testing.T) {
	datadriven.RunTest(t, "testdata/plan", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.SplitSeq(strings.TrimSpace(d.Input), "\n") {
			link, ask := parseAsk(t, line)
			got, err := For(linkOf(link), ask)
			fmt.Fprintln(&out, ">", line)
			if err != nil {
				fmt.Fprintln(&out, err)
				continue
			}
			fmt.Fprintf(&out, "rate %s  burst %d  limit %d  wait %s  inner %q  offloads off %t\n", got.Tbf.Rate, got.Tbf.Burst, got.Tbf.Limit,
				Wait(got.Tbf.Rate, got.Tbf.Limit, got.Tbf.Burst), got.Inner, got.OffloadsOff)
			if got.Ingress != nil {
				fmt.Fprintf(&out, "ingress %+v\n", *got.Ingress)
			}
			for _, n := range got.Notes {
				fmt.Fprintln(&out, "-", n)
			}
		}
		return out.String()
	})
}

func parseAsk(t *testing.T, line string) (link string, a Ask) {
	link = "plain"
	for _, w := range strings.Fields(line) {
		k, v, _ := strings.Cut(w, "=")
		var err error
		switch k {
		case "link":
			link = v
		case "rate":
			a.Rate, err = ParseRate(v)
		case "burst":
			a.Burst, err = ParseSize(v)
		case "queue":
			a.Queue, err = ParseQueue(v)
		case "inner":
			a.Inner = v
		case "ingress":
			a.Ingress, err = ParseRate(v)
		case "replace":
			a.Replace = true
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return link, a
}

// A refusal is an ErrAsk and nothing else.
func TestRefusal(t *testing.T) {
	if _, err := For(linkOf("lo"), Ask{Rate: 8e6}); !errors.Is(err, ErrAsk) || errors.Is(err, ErrForeign) {
		t.Errorf("got %v", err)
	}
}

// Whatever is asked, the bucket holds a frame, the queue one more, and tbf can count both.
func TestPlanHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := ethernet
		l.MTU = Size(rapid.IntRange(68, 65521).Draw(t, "mtu"))
		l.Timer = Timer{HighRes: rapid.Bool().Draw(t, "high-res"), HZ: rapid.SampledFrom([]int{0, 100, 250, 1000}).Draw(t, "hz")}
		a := Ask{Rate: Rate(rapid.Uint64Range(uint64(MinRate), uint64(MaxRate)).Draw(t, "rate"))}
		if rapid.Bool().Draw(t, "burst") {
			a.Burst = Size(rapid.Uint64Range(2*uint64(l.Frame()), uint64(MaxSize)).Draw(t, "bytes"))
		}
		if rapid.Bool().Draw(t, "queue") {
			a.Queue.Time = time.Duration(rapid.Int64Range(1, int64(MaxWait)).Draw(t, "time"))
		}
		got, err := For(l, a)
		if err != nil {
			late := a.Queue.Time > 0 && strings.Contains(err.Error(), "write a shorter time")
			if wide := a.Burst > MaxSize-l.Frame() && strings.Contains(err.Error(), "write a smaller --burst"); !late && !wide {
				t.Fatal(err)
			}
			return
		}
		b := got.Tbf
		if b.Burst < 2*l.Frame() || b.Limit < b.Burst+l.Frame() || b.Limit > MaxSize || b.Rate.Kept() != b.Rate {
			t.Fatalf("got %+v", b)
		}
		if wait := Wait(b.Rate, b.Limit, b.Burst); a.Queue.Time > 0 && wait < a.Queue.Time-time.Millisecond {
			t.Fatalf("waits %s, asked %s", wait, a.Queue.Time)
		}
	})
}

// What keeps a limit is found and taken out again, and the file is as it was.
func TestWithout(t *testing.T) {
	target, err := For(ethernet, Ask{Rate: 8e6})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range hosts {
		before := map[string]string{b.Keyfile: b.KeyText}
		p, err := Persist("eth0", target, b, Command("congctl", "eth0", target))
		if err != nil {
			continue // nobody keeps it there
		}
		for _, f := range p.Files {
			rest, there := Without(f.Text)
			want := before[f.Path]
			was := want != "" // a file that is to be made is not there before
			if want, _ = Without(want); rest != want || there != was {
				t.Errorf("%s: %s: left %t %q, was %t %q", name, f.Path, there, rest, was, want)
			}
			if !slices.Contains(Keeping("eth0", b), f.Path) {
				t.Errorf("%s: %s would not be found", name, f.Path)
			}
		}
	}
}

func TestAlone(t *testing.T) {
	for dir, want := range map[string]bool{"eth0.network.d": true, "eth0.device.d": true, "eth0.network": false, "conf.d": false} {
		if got := Alone("/etc/systemd/" + dir); got != want {
			t.Errorf("%s: %t", dir, got)
		}
	}
}
