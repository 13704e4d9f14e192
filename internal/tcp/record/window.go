package record

// Quantiles of delivery rate that a window keeps, type 7, in this order.
var RateQuantiles = [5]float64{0.05, 0.10, 0.20, 0.50, 0.80}

// Quantiles of late rate that a window keeps, type 7, in this order.
var LateQuantiles = [2]float64{0.50, 0.95}

const (
	// LateBytes after the crossing a sample is late: in the lab the median of those is 0.95 to 1.01 of
	// the path's rate on all paths, the mean of all 0.1 to 0.98.
	LateBytes = 300_000
	// LateSamples of one response make a late rate: the median of fewer is one sample's luck.
	LateSamples = 3
)

// Indexes into Window.RateBytesPerS.
const (
	Q05 = iota
	Q10
	Q20
	Q50
	Q80
)

// Window is what one prefix did in one 5-minute window under one arm and one
// congestion control. Rows of one prefix and window differ in (Arm, Cong, Carryover, Control, Capped).
type Window struct {
	Start  int64 // Unix seconds
	Prefix Prefix
	Arm    Arm // the block's assigned arm
	Cong   string

	// Control: these connections measure the level under the default congestion control: an
	// untreated prefix or a control block, the default cong, no carry-over.
	Control   bool
	Carryover bool // connections that last crossed in another block, in whichever arm: in no estimate
	Washout   bool // of earlier versions' rows, the first window of a block: in no estimate
	Capped    bool // what counts ran under a pacing cap (SO_MAX_PACING_RATE), or its application's own where one was due

	Conns     uint32 // client-facing connections seen; of thinned records as many as they stand for
	Eligible  uint32 // of them: passive, >= the byte threshold in this window, path-limited rate
	RateMeans uint32 // of the eligible: followed by eBPF, so that the rate is a mean of samples (the others: the last sample)
	Bytes     uint64 // acknowledged in this window, all connections of the row

	// In these, and in the shares below, no client has more than a third (loop/window/client.go).
	RateBytesPerS [5]float64 // over the eligible, at RateQuantiles; zeros when Eligible is 0
	MinRTTUs      float64    // median over the eligible
	SRTTUs        float64    // median over the eligible

	// For pairs of blocks. Rates multiply, so means are of logarithms: of ln(rate in bytes/s)
	// over the eligible, the variance by N.
	LogRateMean, LogRateVar                 float64 // 0 and 0 if Eligible is 0, and in rows from before schema 4
	EligibleSentBytes, EligibleRetransBytes uint64  // what counts of the eligible; sent includes retransmitted
	// The same of ln(acknowledged bytes / busy time, bytes/s), what counts of the eligible, over those of RateMeans with a Goodput; RateMeans
	// stands for their number, which on the lab's day random is 4 % less.
	LogGoodputMean, LogGoodputVar float64 // 0 and 0 without any, and in rows from before schema 5
	Episodes                      uint64  // loss recoveries of the eligible while they counted

	// Late rates: of each eligible connection with LateSamples or more of them the median of the
	// path-limited samples beyond LateBytes after the crossing, where slow start is over.
	LateConns     uint32     // connections that have one
	LateBytesPerS [2]float64 // over them, at LateQuantiles; zeros when LateConns is 0

	// Shares, 0..1, pooled over the row's connections that moved >= the threshold
	// (over all of them when none did).
	RetransShare    float64 // bytes_retrans / bytes_sent
	RwndShare       float64 // rwnd_limited time / busy time, without the client that raises it most
	BusyShare       float64 // busy time / elapsed time, without the client that lowers it most
	AppLimitedShare float64 // application-limited samples / all samples
}

// WindowNote marks a whole window of this host.
type WindowNote struct {
	Start  int64
	Reason string // why the window is unknown, e.g. "wall clock stepped by 612 s"
}

// CompareBool orders false before true, as cmp.Compare does numbers.
func CompareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
