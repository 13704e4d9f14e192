package pop

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	godiff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// town is a simulated PoP with a known truth: networks that each have a rate, connections that spread around it, and
// hosts of given sizes among which chance deals them.
type town struct {
	paper
	rng   *rand.Rand
	sent  []sentConn
	ends  []End
	names map[string]bool
}

type sentConn struct {
	host string
	conn record.Conn
}

func (f *town) Conns(_ int64, row func(string, *record.Conn)) error {
	for _, s := range f.sent {
		row(s.host, &s.conn)
	}
	return nil
}

const (
	networks   = 500
	spreadLog  = 0.5 // of a network's connections
	inventedAt = 10_000
)

func networkOf(i int) record.Prefix {
	p, _ := record.PrefixOf(netip.AddrFrom4([4]byte{11, byte(i >> 8), byte(i), 1}))
	return p
}

// rateOf is a network's truth, in bytes/s.
func rateOf(i int) float64 { return 1e5 * math.Exp(3*float64(i*7919%networks)/networks) }

func newTown(sizes []int) *town {
	f := &town{rng: rand.New(rand.NewPCG(1, 2)), names: map[string]bool{}}
	for h, n := range sizes {
		name := fmt.Sprintf("edge-%03d", h)
		f.ends = append(f.ends, End{Host: name})
		for range n {
			at := f.rng.IntN(networks)
			f.add(name, networkOf(at), rateOf(at)*math.Exp(spreadLog*f.rng.NormFloat64()), 0)
		}
	}
	return f
}

func (f *town) add(host string, p record.Prefix, rate, weight float64) {
	if !f.names[host] {
		f.names[host] = true
		if !slices.ContainsFunc(f.ends, func(e End) bool { return e.Host == host }) {
			f.ends = append(f.ends, End{Host: host})
		}
	}
	addr := p.Netip().Addr().As4()
	addr[3] = byte(f.rng.IntN(256))
	f.sent = append(f.sent, sentConn{host, record.Conn{Window: w, Prefix: p, Remote: netip.AddrPortFrom(netip.AddrFrom4(addr), 1), Cookie: record.Cookie(len(f.sent)),
		Passive: true, ClientFacing: true, Cong: "cubic", DefaultCong: true, WinBytesAcked: 1 << 20, RateBytesPerS: rate, RateSource: record.RateMean, Weight: weight}})
}

func (f *town) pop(t testing.TB, maxPrefixes int) *PoP {
	t.Helper()
	f.paper = *newPaper()
	p, err := New(Options{Name: "chi", Key: []byte("key"), Window: w * time.Second, Block: 1800 * time.Second, Washout: w * time.Second, MinBytes: 1e5, MaxPrefixes: maxPrefixes},
		f, f, f, Past{}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (f *town) gather(t testing.TB, p *PoP) []record.Window {
	t.Helper()
	c, err := p.gather(w, f.ends)
	if err != nil {
		t.Fatal(err)
	}
	return c.Rows
}

// believed is what the window would be without bounds.
func (f *town) believed(p *PoP) []record.Window {
	rows := p.newRows()
	for i := range f.sent {
		rows.Add(&f.sent[i].conn)
	}
	out, _ := rows.Flush(w)
	return out
}

// levels are the networks' medians, in order: what a PoP ranks by.
func levels(rows []record.Window) (all []float64) {
	for _, r := range rows {
		all = append(all, r.RateBytesPerS[record.Q50])
	}
	slices.Sort(all)
	return all
}

func times(n, size int) (sizes []int) {
	for range n {
		sizes = append(sizes, size)
	}
	return sizes
}

// TestHonestHosts of any size that a PoP has count in full, to the last digit.
func TestHonestHosts(t *testing.T) {
	for name, sizes := range map[string][]int{
		"one": {5000}, "two": {3000, 2000}, "two very unequal": {6000, 10}, "five": times(5, 2000),
		"five of two generations": {6000, 6000, 1500, 1500, 1500}, "one of the next generation": {7000, 2000, 2000, 2000},
		"a hundred": times(100, 300), "a hundred of two generations": append(times(30, 1000), times(70, 260)...),
		"three that serve, many that stand by": append(times(3, 4000), times(97, 20)...), "one that serves": append(times(1, 4000), times(9, 20)...),
	} {
		f := newTown(sizes)
		p := f.pop(t, 10_000)
		if d := godiff.Diff(f.believed(p), f.gather(t, p)); d != "" {
			t.Errorf("%s (-believed +bounded):\n%.500s", name, d)
		}
		for host, s := range p.Standings() {
			if s.Capped() || s.Counted != 1 {
				t.Errorf("%s: %s: %+v", name, host, s)
			}
		}
	}
}

// attack is what a hostile host sends to a town.
type attack struct {
	name string
	send func(f *town)
}

func invented(rate, weight float64) func(*town) {
	return func(f *town) {
		for i := range 10_000 {
			for range 3 {
				f.add("mallory", networkOf(inventedAt+i), rate, weight)
			}
		}
	}
}

func everywhere(rate float64) func(*town) {
	return func(f *town) {
		for i := range networks {
			for range 5 {
				f.add("mallory", networkOf(i), rate, record.MaxWeight)
			}
		}
	}
}

// victim is the network at which an attack aims.
const victim = 7

var attacks = []attack{
	{"10,000 networks at 1 kbit/s", invented(125, 0)},
	{"10,000 networks at 10 Gbit/s, weights of 1,024", invented(1.25e9, record.MaxWeight)},
	{"1 kbit/s in all networks, weights of 1,024", everywhere(125)},
	{"10 Gbit/s in all networks, weights of 1,024", everywhere(1.25e9)},
	{"1 kbit/s in one network", func(f *town) {
		for range 3000 {
			f.add("mallory", networkOf(victim), 125, record.MaxWeight)
		}
	}},
}

// TestHostileHost: whatever one host invents, it moves what a PoP ranks by no further than its share of
// networks and of connections can, and that share is at most what the rule says.
func TestHostileHost(t *testing.T) {
	for _, hosts := range []int{5, 40} {
		for _, a := range attacks {
			sizes := times(hosts-1, 10_000/hosts+100)
			honest := newTown(sizes)
			truth := levels(honest.believed(honest.pop(t, 50_000)))
			f := newTown(sizes)
			a.send(f)
			p := f.pop(t, 50_000)
			rows := f.gather(t, p)
			t.Run(fmt.Sprintf("%d hosts: %s", hosts, a.name), func(t *testing.T) { f.judge(t, p, rows, truth, sizes) })
		}
	}
}

// judge says by how much a hostile host may move what f's rows show.
func (f *town) judge(t *testing.T, p *PoP, rows []record.Window, truth []float64, sizes []int) {
	var conns, honest uint64
	for _, n := range sizes {
		honest += uint64(n)
	}
	nets := 0
	for _, r := range rows {
		conns += uint64(r.Conns)
		if r.Prefix >= networkOf(inventedAt) {
			nets++
		}
	}
	if most := uint64(maxRatio * slices.Max(sizes)); conns > honest+most {
		t.Errorf("%d connections count, of them %d of honest hosts: more than %d of the hostile one", conns, honest, most)
	}
	if most := maxRatio * networks / len(sizes); nets > most {
		t.Errorf("%d invented networks, the most is %d", nets, most)
	}
	f.judgeNetworks(t, rows)
	// Of n networks a share c is invented: the slowest fifth of all ends where it must, within three standard errors of a
	// fifth of them, 3 sqrt(0.2 x 0.8 / 500) = 0.054.
	c, noise := float64(nets)/float64(len(rows)), 3*math.Sqrt(0.2*0.8/networks)
	low, high := stat.Sorted(truth, max(0, (0.2-c)/(1-c)-noise)), stat.Sorted(truth, min(1, 0.2/(1-c)+noise))
	if c == 0 { // medians moved instead, by as much as its share of connections moves that of a log-normal
		share := float64(maxRatio*slices.Max(sizes)) / float64(conns)
		moved := math.Exp(spreadLog * math.Sqrt2 * math.Erfinv(1/(1-share)-1))
		low, high = low/moved, high*moved
	}
	got := stat.Sorted(levels(rows), 0.2)
	if len(sizes) > 10 && (c < 0.2 && got < low || got > high) { // of five hosts one may have half

		t.Errorf("the boundary is at %.3g bytes/s, outside of %.3g to %.3g (%.1f %% of the networks are invented)", got, low, high, 100*c)
	}
	if s := p.Standings()["mallory"]; !s.Capped() || s.Ratio > 0.1 && s.Ratio < 10 {
		t.Errorf("the status says %+v", s)
	}
	if !slices.ContainsFunc(f.told, func(e string) bool { return strings.Contains(e, "host mallory") }) {
		t.Errorf("told %q", f.told)
	}
}

// judgeNetworks: with a share c of a network's connections a median moves to no further than the honest
// connections' quantiles (1/2 - c)/(1 - c) and 1/2/(1 - c).
func (f *town) judgeNetworks(t *testing.T, rows []record.Window) {
	rates, largest := map[record.Prefix][]float64{}, map[record.Prefix]map[string]int{}
	for _, s := range f.sent {
		if p := s.conn.Prefix; s.host != "mallory" {
			rates[p] = append(rates[p], s.conn.RateBytesPerS)
			if largest[p] == nil {
				largest[p] = map[string]int{}
			}
			largest[p][s.host]++
		}
	}
	for _, r := range rows {
		honest := rates[r.Prefix]
		if len(honest) == 0 {
			continue
		}
		slices.Sort(honest)
		most := 0
		for _, n := range largest[r.Prefix] {
			most = max(most, n)
		}
		theirs := int(r.Conns) - len(honest)
		if limit := maxRatio * max(most, minNet); theirs > limit {
			t.Errorf("%s: %d connections of the hostile host, the most is %d", r.Prefix, theirs, limit)
		}
		if c := float64(theirs) / float64(r.Conns); c < 0.45 {
			near := 1 / float64(len(honest)) // type 7 is between two order statistics
			low, high := stat.Sorted(honest, max(0, (0.5-c)/(1-c)-near)), stat.Sorted(honest, min(1, 0.5/(1-c)+near))
			if m := r.RateBytesPerS[record.Q50]; m < low*0.999 || m > high*1.001 {
				t.Errorf("%s: median %.3g is outside of %.3g to %.3g, with %.0f %% hostile", r.Prefix, m, low, high, 100*c)
			}
		}
	}
}

// TestFloodTakesNoPlaces: the networks of one host's flood, larger than all others, do not push out the others'.
func TestFloodTakesNoPlaces(t *testing.T) {
	for _, sizes := range [][]int{{3000}, {1000, 1000, 1000, 1000}} {
		f := newTown(sizes)
		for i := range 20_000 {
			f.add("mallory", networkOf(inventedAt+i), 1e6, 0)
			f.sent[len(f.sent)-1].conn.WinBytesAcked = 1 << 40
		}
		f.rng.Shuffle(len(f.sent), func(i, j int) { f.sent[i], f.sent[j] = f.sent[j], f.sent[i] })
		p := f.pop(t, 2*networks)
		honest := func(rows []record.Window) (n int) {
			for _, r := range rows {
				if r.Prefix < networkOf(inventedAt) {
					n++
				}
			}
			return n
		}
		if n := honest(f.believed(p)); n > networks/2 {
			t.Errorf("%d hosts: %d of %d honest networks are left without bounds: the flood is none", len(sizes), n, networks)
		}
		rows, sent := f.gather(t, p), map[record.Prefix]bool{}
		for _, s := range f.sent {
			if s.host != "mallory" {
				sent[s.conn.Prefix] = true
			}
		}
		if n := honest(rows); n != len(sent) || len(rows) > 2*networks {
			t.Errorf("%d hosts: %d of %d honest networks are left, in %d rows", len(sizes), n, networks, len(rows))
		}
	}
}

// TestThinning: a bound holds to the connection, whatever weights the records have.
func TestThinning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Uint64Range(1, record.MaxWeight), 1, 50).Draw(t, "weights")
		n := uint64(0)
		for _, r := range records {
			n += r
		}
		th := thinning{n: n, most: rapid.Uint64Range(0, 2*n).Draw(t, "most")}
		got := uint64(0)
		for _, r := range records {
			left := th.of(r)
			if left > r {
				t.Fatalf("%d of %d are left", left, r)
			}
			got += left
		}
		if want := min(n, th.most); got > want || got+1 < want {
			t.Fatalf("%d of %d are left, want %d", got, n, want)
		}
		if later := th.of(5); later != 0 {
			t.Fatalf("%d of what came after it was counted", later)
		}
	})
}

// TestTally: a flood takes no more memory than two times the places, and what is kept does not depend on the order.
func TestTally(t *testing.T) {
	f := newTown(nil)
	for i := range 5000 {
		f.add("mallory", networkOf(inventedAt+i), 1e6, 0)
	}
	var kept [][]record.Prefix
	for range 3 {
		f.rng.Shuffle(len(f.sent), func(i, j int) { f.sent[i], f.sent[j] = f.sent[j], f.sent[i] })
		tally := newTally(100, 1e5)
		for i := range f.sent {
			tally.add("mallory", &f.sent[i].conn)
			if n := len(tally.hosts["mallory"].nets); n >= 200 {
				t.Fatalf("%d networks", n)
			}
		}
		s := tally.hosts["mallory"]
		s.shrink(min(100, len(s.nets)-1))
		var list []record.Prefix
		for p := range s.nets {
			list = append(list, p)
		}
		slices.SortFunc(list, cmp.Compare)
		kept = append(kept, list)
	}
	if !slices.Equal(kept[0], kept[1]) || !slices.Equal(kept[0], kept[2]) {
		t.Errorf("the order decides what is kept: %d, %d, %d networks", len(kept[0]), len(kept[1]), len(kept[2]))
	}
}
