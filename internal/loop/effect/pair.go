package effect

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Pair is both arms of one prefix in one group of blocks, the unit of every estimate here. A
// group has exactly one control block; the treatment blocks, one on trial and fifteen once
// promoted, are one side of ONE pair, since fifteen pairs with the same control block would count
// its luck fifteen times.
//
// The draw decides which of the blocks is control, and nothing else. So whatever a pair weighs by
// must not depend on it: each block's mean counts the same, however many connections it has, and
// variance and traffic are of all blocks alike. Then a treatment that does nothing shows nothing
// on average, however load, level and noise move together. Weighed by connections, a network that
// is slow while it is busy would be slow in its treated blocks: their mean would lean to the
// busy ones, while a control block alone leans nowhere (docs/effect.md).
type Pair struct {
	Prefix record.Prefix
	Drawn  record.Prefix // record.All where one draw decided for all networks; 0: the network's own
	Group  int64         // number of the group, of its own length
	End    int64         // Unix seconds of the group's end: the pair is known from then on
	T      []Block       // treatment blocks that saw a connection; by assignment, whatever was applied
	C      Block         // the control block
}

// Begin is the group's, Unix seconds.
func (p Pair) Begin() int64 { return p.End - p.End/(p.Group+1) }

// Usable reports whether both arms saw a connection: one alone compares nothing.
func (p Pair) Usable() bool { return len(p.T) > 0 && p.C.N > 0 }

// LogRatio returns the pair's difference, ln(treatment / control).
func (p Pair) LogRatio() float64 { return p.Treated().MeanLog - p.C.MeanLog }

// Share returns the share of treatment blocks: 1/2 on trial, 15/16 once promoted, and of the blocks
// that saw a connection where others did not, or where the prefix came in the middle of the group.
func (p Pair) Share() float64 { return float64(len(p.T)) / float64(len(p.T)+1) }

// Treated returns the treatment blocks as one: their connections, what they sent, and the mean of
// their means.
func (p Pair) Treated() (t Block) {
	for _, b := range p.T {
		t.N += b.N
		t.MeanLog += b.MeanLog / float64(len(p.T))
		t.SentBytes += b.SentBytes
	}
	return t
}

// RetransShares returns what each arm retransmitted of what it sent, 0..1: of the treatment blocks
// that sent, the mean of their shares.
func (p Pair) RetransShares() (t, c float64) {
	n := 0
	for _, b := range p.T {
		if b.SentBytes > 0 {
			t, n = t+b.RetransShare(), n+1
		}
	}
	return t / float64(max(n, 1)), p.C.RetransShare()
}

// Block is the eligible connections of one prefix in the counted windows of one block. The
// unit of analysis is the logarithm of the delivery rate: effects on rates multiply, and their
// spread is log-normal.
//
// VarLog is the mean squared distance from MeanLog (divided by N, not N-1), so that two sets
// join exactly:
//
//	M2 = M2a + M2b + (mean a - mean b)^2 Na Nb / N,  M2 = N VarLog
//
// Source: Chan, Golub and LeVeque, The American Statistician 37 (1983).
type Block struct {
	N               int     // connections
	MeanLog, VarLog float64 // of ln(delivery rate in bytes/s)

	Goodput Moments // the second outcome, over those that eBPF followed

	SentBytes, RetransBytes uint64  // of the same connections; sent includes retransmitted
	SRTTUs, MinRTTUs        float64 // of the same connections; joined, a mean weighted by N
}

// Moments are of the logarithm of an outcome over connections; the variance is as VarLog is.
type Moments struct {
	N         int
	Mean, Var float64
}

func (m Moments) join(o Moments) Moments {
	if m.N == 0 || o.N == 0 {
		return Moments{m.N + o.N, m.Mean + o.Mean, m.Var + o.Var} // the other's: those of none are 0
	}
	n := m.N + o.N
	share := float64(o.N) / float64(n)
	apart := o.Mean - m.Mean
	return Moments{n, m.Mean + apart*share, m.Var*(1-share) + o.Var*share + apart*apart*share*(1-share)}
}

// BlockOf returns what a window's row adds to its block.
func BlockOf(w *record.Window) Block {
	b := Block{N: int(w.Eligible), MeanLog: w.LogRateMean, VarLog: w.LogRateVar,
		SentBytes: w.EligibleSentBytes, RetransBytes: w.EligibleRetransBytes, SRTTUs: w.SRTTUs, MinRTTUs: w.MinRTTUs}
	if m := w.LogGoodputMean; w.RateMeans > 0 && (m != 0 || w.LogGoodputVar != 0) && !math.IsNaN(m) {
		b.Goodput = Moments{int(w.RateMeans), m, w.LogGoodputVar} // only of those is goodput known
	}
	return b
}

// Join returns two sets of connections of a block as one.
func (b Block) Join(o Block) Block {
	m := Moments{b.N, b.MeanLog, b.VarLog}.join(Moments{o.N, o.MeanLog, o.VarLog})
	j := Block{N: m.N, MeanLog: m.Mean, VarLog: m.Var, Goodput: b.Goodput.join(o.Goodput),
		SentBytes: b.SentBytes + o.SentBytes, RetransBytes: b.RetransBytes + o.RetransBytes, SRTTUs: b.SRTTUs, MinRTTUs: b.MinRTTUs}
	if o.N > 0 {
		share := float64(o.N) / float64(m.N)
		j.SRTTUs, j.MinRTTUs = b.SRTTUs*(1-share)+o.SRTTUs*share, b.MinRTTUs*(1-share)+o.MinRTTUs*share
	}
	return j
}

// RetransShare returns retransmitted bytes over sent bytes, 0..1; 0 if nothing was sent.
func (b Block) RetransShare() float64 {
	if b.SentBytes == 0 {
		return 0
	}
	return float64(b.RetransBytes) / float64(b.SentBytes)
}
