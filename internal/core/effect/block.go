package effect

// Block is the eligible connections of one prefix in the counted windows of one block,
// or of several blocks of one arm and group. The unit of analysis is the logarithm of
// the delivery rate: effects on rates multiply, and their spread is log-normal.
//
// VarLog is the mean squared distance from MeanLog (divided by N, not N-1), so that two
// sets join without a rest:
//
//	M2 = M2a + M2b + (mean a - mean b)^2 Na Nb / N,  M2 = N VarLog
//
// Source: Chan, Golub and LeVeque, The American Statistician 37 (1983).
type Block struct {
	N               int     // connections
	MeanLog, VarLog float64 // of ln(delivery rate in bytes/s)

	SentBytes, RetransBytes uint64  // of the same connections; sent includes retransmitted
	SRTTUs, MinRTTUs        float64 // of the same connections; joined, a mean weighted by N
}

// Join gives two sets of connections as one.
func (b Block) Join(o Block) Block {
	b.SentBytes += o.SentBytes
	b.RetransBytes += o.RetransBytes
	if o.N == 0 {
		return b
	}
	if b.N == 0 {
		o.SentBytes, o.RetransBytes = b.SentBytes, b.RetransBytes
		return o
	}
	n := b.N + o.N
	share := float64(o.N) / float64(n)
	apart := o.MeanLog - b.MeanLog
	return Block{
		N: n, MeanLog: b.MeanLog + apart*share,
		VarLog:    b.VarLog*(1-share) + o.VarLog*share + apart*apart*share*(1-share),
		SentBytes: b.SentBytes, RetransBytes: b.RetransBytes,
		SRTTUs:   b.SRTTUs*(1-share) + o.SRTTUs*share,
		MinRTTUs: b.MinRTTUs*(1-share) + o.MinRTTUs*share,
	}
}

// RetransShare is retransmitted bytes by sent bytes, 0..1; 0 where nothing was sent.
func (b Block) RetransShare() float64 {
	if b.SentBytes == 0 {
		return 0
	}
	return float64(b.RetransBytes) / float64(b.SentBytes)
}
