package window

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// One client is not its network. A slow reader, or one that downloads all day, would otherwise set
// the level of its neighbours, and trip their guards. So of what a row's figure is made of, no
// client has more than the share c,
//
//	w = min(1, m/n)  for each of its n,  m = c W,  W = sum of min(n, m),  c = max(1/3, 1/clients)
//
// where n is connections in quantiles, and time or bytes in shares. Of two clients each has half,
// and one alone is its network. A guard that compares a share with a limit asks one thing more:
// would it hit without the client that moves the share most? A third of the time at 100 % is above the
// limit of 20 %.
//
// Means of logarithms count each connection alike: they are for pairs of blocks, in which a client
// stands on both sides, and whose noise is known by the number of connections.

// clientShare is c: with it a median has at least a quarter of the others on either side.
const clientShare = 1. / 3

// allClients of a network have numbers of their own.
const allClients = 255

// mostOf returns what one of the sizes may weigh. It sorts them.
func mostOf(sizes []float64) float64 {
	return stat.MostOf(sizes, max(clientShare, 1/float64(len(sizes))))
}

// clientSums are a client's connections in a row.
type clientSums struct {
	client uint8
	sums
}

func compareClient(s clientSums, client uint8) int { return cmp.Compare(s.client, client) }

// sumsOf returns those of a client, in order of clients, and whether they are new.
func (r *row) sumsOf(client uint8) (s *sums, fresh bool) {
	i, ok := slices.BinarySearchFunc(r.clients, client, compareClient)
	if !ok {
		r.clients = slices.Insert(r.clients, i, clientSums{client: client})
	}
	return &r.clients[i].sums, !ok
}

// fold puts clients together whose numbers differ only beyond mask, and returns how many are gone.
func (r *row) fold(mask uint8) (gone int) {
	all := r.clients
	r.clients = nil
	for i := range all {
		s, _ := r.sumsOf(all[i].client & mask)
		s.join(&all[i].sums)
	}
	for i := range r.samples {
		r.samples[i].hash &^= uint32(^mask)
	}
	return len(all) - len(r.clients)
}

// parts are a share's two sums for one client.
type parts struct{ part, whole float64 }

// scratch is what the rows of a window are computed in, one after another.
type scratch struct {
	sizes  []float64
	list   []parts
	conns  [256]float64 // of a client; zeros between rows
	weight [256]float64 // of a client's connection
	column []weighted
	values []float64
}

// bounded returns the clients' parts of a share, with no client above its share of the whole. They
// hold until the next call.
func (x *scratch) bounded(r *row, part, whole func(*sums) uint64) []parts {
	x.list, x.sizes = x.list[:0], x.sizes[:0]
	for i := range r.clients {
		s := &r.clients[i].sums
		if w := float64(whole(s)); w > 0 {
			x.list, x.sizes = append(x.list, parts{float64(part(s)), w}), append(x.sizes, w)
		}
	}
	most := mostOf(x.sizes)
	for i := range x.list {
		if p := &x.list[i]; p.whole > most {
			p.part, p.whole = p.part*(most/p.whole), most
		}
	}
	slices.SortFunc(x.list, compareParts) // sums must not depend on how clients are numbered
	return x.list
}

func compareParts(a, b parts) int {
	return cmp.Or(cmp.Compare(a.whole, b.whole), cmp.Compare(a.part, b.part))
}

// pooled adds the parts up.
func pooled(list []parts) (all parts) {
	for _, p := range list {
		all.part, all.whole = all.part+p.part, all.whole+p.whole
	}
	return all
}

// share is at most 1 (two counters of a record can be read a jiffy apart), and 0 of nothing.
func (p parts) share() float64 {
	if p.whole <= 0 {
		return 0
	}
	return min(p.part/p.whole, 1)
}

// withoutOne pools a share without the client that raises it most, or with sign -1 lowers it most;
// of fewer than three clients with all.
func withoutOne(list []parts, sign float64) float64 {
	all := pooled(list)
	best := all.share()
	if len(list) < 3 {
		return best
	}
	for _, p := range list {
		rest := parts{max(0, all.part-p.part), all.whole - p.whole}
		if v := rest.share(); (v-best)*sign < 0 {
			best = v
		}
	}
	return best
}

// weigh sets the weight of a connection of each client of the row, in quantiles of those whose
// value is known.
func (x *scratch) weigh(r *row, known func(sample) bool) {
	x.sizes = x.sizes[:0]
	for _, s := range r.samples {
		if known(s) {
			x.conns[s.client()] += float64(s.times)
		}
	}
	for _, s := range r.samples { // weight holds the number until most is known
		if c := s.client(); x.conns[c] > 0 {
			x.sizes = append(x.sizes, x.conns[c])
			x.weight[c], x.conns[c] = x.conns[c], 0
		}
	}
	most := mostOf(x.sizes)
	for _, s := range r.samples {
		if c := s.client(); x.weight[c] > 1 {
			x.weight[c] = min(1, most/x.weight[c])
		}
	}
}

// weighted is a value, how many connections it stands for, and their weight by client.
type weighted struct{ v, times, w float64 }

func compareWeighted(a, b weighted) int {
	return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.w, b.w), cmp.Compare(a.times, b.times))
}

// column is one known value of each sample, in order.
type column struct {
	values  []float64
	times   []float64 // how many connections each stands for; nil: all the same
	running []float64 // sums of weights; nil: all weigh the same
	n       float64   // as many equal observations as the weights are worth
}

// columnOf takes one value of each sample. 0 and the kernel's ~0 (tcp_min_rtt without a sample) are
// unknown. It holds until the next call.
func (x *scratch) columnOf(r *row, get func(sample) float64) (c column) {
	x.column, x.values = x.column[:0], x.values[:0]
	for _, s := range r.samples {
		if v := get(s); v > 0 && v != math.MaxUint32 {
			n := float64(s.times)
			x.column = append(x.column, weighted{v, n, n * x.weight[s.client()]})
		}
	}
	slices.SortFunc(x.column, compareWeighted)
	var sum, squares, times float64
	mixed := false
	for _, y := range x.column {
		x.values = append(x.values, y.v)
		sum, squares, times = sum+y.w, squares+y.w*y.w, times+y.times
		mixed = mixed || y.times != x.column[0].times
	}
	c.values = x.values
	if mixed {
		for _, y := range x.column {
			c.times = append(c.times, y.times)
		}
	}
	if mixed || sum < times {
		c.n, c.running = sum*sum/squares, make([]float64, len(x.column))
		sum = 0
		for i, y := range x.column {
			sum += y.w
			c.running[i] = sum
		}
	}
	return c
}

// logMoments returns mean and variance of the logarithms, which it leaves in place of the values. They
// are sorted, so that the sums do not depend on the order of arrival.
func (c column) logMoments() (mean, variance float64) {
	for i, v := range c.values {
		c.values[i] = math.Log(v)
	}
	if c.times != nil {
		return stat.WeightedMoments(c.values, c.times)
	}
	return stat.Moments(c.values)
}

// quantile is of type 7; 0 of nothing.
func (c column) quantile(q float64) float64 {
	switch {
	case len(c.values) == 0:
		return 0
	case c.running == nil:
		return stat.Sorted(c.values, q)
	}
	return stat.Weighted(c.values, c.running, c.n, q)
}

// worth is how many connections, all kept with one probability, would tell as much as the row's count of those that are
// known (Kish, Survey Sampling, 1965): (sum w)^2 / sum w^2, which is their number where none or all are thinned alike.
// Noise is known by it.
func (r *row) worth(count uint32, known func(sample) bool) uint32 {
	var n, sum, squares float64
	for _, s := range r.samples {
		if t := float64(s.times); known(s) {
			n, sum, squares = n+1, sum+t, squares+t*t
		}
	}
	if n*squares == sum*sum { // whole numbers below 2^53
		return count
	}
	return uint32(max(1, math.Round(float64(count)*sum*sum/(n*squares))))
}
