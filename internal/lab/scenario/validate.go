package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// Bottlenecks. All but netem and the policer have a tbf that shapes; fq, fq_codel and
// pfifo_fast are what queues below it.
const (
	Netem   = "netem"
	Tbf     = "tbf"
	Policer = "policer"
)

var bottlenecks = []string{Netem, Tbf, "fq", "fq_codel", "pfifo_fast", Policer}

var qdiscs = []string{"fq", "fq_codel", "pfifo_fast", "noqueue", Tbf, Netem}

// Gates are the names that a scenario may exempt itself from; outcome has their rules.
var Gates = []string{"finished", "cong", "qdisc", "pacing", "emulator_at_sender", "single_mtu", "loss", "reorder", "idle_rtt", "rate", "burst", "buffer",
	"sender_drops", "link_drops", "limit_drops", "rwnd_limited", "sndbuf_limited", "metrics", "sysctls", "cpu"}

// cong matches what the kernel accepts as a name (TCP_CA_NAME_MAX is 16 with its end).
var cong = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,14}$`)

const (
	minRate = 1_000      // bit/s: a full packet in 12 s
	maxRTT  = 10_000_000 // us: beyond it TCP's first timeouts are all there is
	maxLoss = 500_000    // ppm: with more even a handshake is luck
	// maxReorder, ppm: half of five idle probes would be reordered once in a hundred runs.
	maxReorder = 100_000
	minMTU     = 576 // RFC 791
	maxMTU     = 9000
	// maxFlows of a cell: each is a process's two sockets in a small guest.
	maxFlows  = 256
	maxRTTs   = 8 // of flows' own, each a class of a prio
	maxRepeat = 100_000
	maxSeeds  = 1000
)

// faults are everything that would make c meaningless or impossible.
func (c *Cell) faults() strict.Faults {
	v := checker{}
	c.checkArm(&v)
	c.Path.check(&v)
	c.checkLoss(&v)
	c.checkSchedule(&v)
	c.checkSender(&v)
	c.checkFlows(&v)
	c.checkMeasure(&v)
	c.Seeds.check(&v)
	return v.faults
}

type checker struct{ faults strict.Faults }

// want adds a fault unless ok.
func (v *checker) want(ok bool, field string, value any, problem string, args ...any) {
	if !ok {
		v.faults.AddOnce(strict.Fault{Field: field, Value: fmt.Sprint(value), Problem: fmt.Sprintf(problem, args...)})
	}
}

// oneOf refuses a word that is not in list.
func (v *checker) oneOf(field, value string, list ...string) {
	v.want(slices.Contains(list, value), field, value, "not known; write one of %s", strings.Join(list, ", "))
}

// within refuses a number outside low..high.
func (v *checker) within(field string, value, low, high uint64, unit string) {
	v.want(value >= low && value <= high, field, strconv.FormatUint(value, 10)+unit, "out of bounds; write %d to %d%s", low, high, unit)
}

func (c *Cell) checkArm(v *checker) {
	v.want(strings.HasSuffix(c.ID, "/"+c.Arm.Name) && c.Arm.Name != "", "id", c.ID, "does not end in its arm's name")
	v.want(cong.MatchString(c.Arm.Cong), "arms", c.Arm.Cong, "not a congestion control's name; write one as in bbr or cubic")
	v.want(c.Sender.Qdisc == c.Arm.Qdisc, "arms", c.Arm.Qdisc, "not the sender's qdisc")
}

func (p *Path) check(v *checker) {
	v.within("path.rate", p.RateBitPerS, minRate, maxRate, "bit")
	v.want(p.RateBitPerS%8 == 0, "path.rate", p.RateBitPerS, "not whole bytes per second, which is what tc counts; write a multiple of 8bit")
	v.within("path.rtt", p.RTTUs, 0, maxRTT, "us")
	v.want(p.JitterUs <= p.RTTUs/2, "path.jitter", p.JitterUs, "above one direction's delay of %d us; write less", p.RTTUs/2)
	v.want(p.ReorderPPM <= maxReorder, "path.reorder", percent(p.ReorderPPM), "too much to measure the round trip; at most %s", percent(maxReorder))
	v.want(p.ReorderPPM == 0 || p.RTTUs >= 2, "path.reorder", percent(p.ReorderPPM), "without a delay there is nothing to skip; write an rtt")
	v.within("path.mtu", uint64(p.MTU), minMTU, maxMTU, "B")
	v.oneOf("path.bottleneck", p.Bottleneck, bottlenecks...)
	if p.Bottleneck == Policer {
		v.want(p.BufferPacket == 0, "path.buffer", p.BufferPacket, "a policer has no queue")
	} else {
		v.within("path.buffer", uint64(p.BufferPacket), 1, maxBuffer, " packets")
	}
	switch frame := p.MTU + ethernet; {
	case p.Bottleneck == Netem:
		v.want(p.BurstBytes == 0, "path.burst", p.BurstBytes, "netem has no bucket")
	case p.BurstBytes == 0:
		v.want(false, "path.burst", "", "missing; a policer's bucket is what is tested: write its size, as in 64KiB")
	default:
		v.want(p.BurstBytes >= frame, "path.burst", p.BurstBytes, "below a packet of %d bytes with its header: all would be dropped; write %dB or more", frame, 2*frame)
	}
}

func shaped(bottleneck string) bool { return bottleneck != Netem && bottleneck != Policer }

func (c *Cell) checkLoss(v *checker) {
	l := &c.Path.Loss
	v.want(l.PPM <= maxLoss, "path.loss", percent(l.PPM), "too much for any connection; at most %s", percent(maxLoss))
	v.want(l.BackPPM <= maxLoss, "path.loss_back", percent(l.BackPPM), "too much for any connection; at most %s", percent(maxLoss))
	v.want(l.At != "", "path.loss_at", "", "missing; write before (a sender may overdrive and still fill the link), after (the bound is rate x (1 - loss)) or sender")
	if l.At != "" {
		v.oneOf("path.loss_at", l.At, LossBefore, LossAfter, LossSender)
	}
	if g := l.Gilbert; g != nil {
		v.want(l.PPM == 0, "path.gemodel", "", "given together with loss; keep one")
		v.want(max(g.P, g.R, g.LossBad, g.LossGood) <= ppm && min(g.P, g.R) > 0, "path.gemodel", "",
			"p and r must be above 0%% and nothing above 100%%; write shares, as in 0.5%% 20%%")
		v.want(g.P+g.R == 0 || l.MeanPPM() <= maxLoss, "path.gemodel", "", "loses more than %s on average; write less", percent(maxLoss))
	}
	atSender := l.At == LossSender
	v.want(!atSender || c.Sender.Qdisc == Netem, "path.loss_at", l.At, "needs netem as the arm's qdisc, as in netem+%s", c.Arm.Cong)
	v.want(atSender || c.Sender.Qdisc != Netem, "arms", c.Arm.Name, "netem at the sender is for loss_at: sender; write another qdisc")
}

func (c *Cell) checkSchedule(v *checker) {
	steps := c.Path.Schedule
	if len(steps) == 0 {
		return
	}
	v.want(len(steps) <= maxCellSteps, "schedule", len(steps), "too many steps; at most %d", maxCellSteps)
	v.want(c.Path.Bottleneck != Policer, "path.bottleneck", Policer, "a schedule cannot change its rate; write tbf")
	v.want(c.Path.Loss.Gilbert == nil, "path.gemodel", "", "given together with a schedule, whose steps have their own loss; keep one")
	changes := slices.ContainsFunc(steps, func(s Step) bool { return s.RateBitPerS != c.Path.RateBitPerS })
	v.want(!changes || c.Path.Bottleneck != Netem, "path.bottleneck", Netem,
		"the rate changes, and netem would send waiting packets at the old rate; write tbf")
	_, known := c.lastEnd()
	v.want(known, "flows", "", "a flow without a duration on a link that changes has no known end; give each flow a duration")
	for i := range steps {
		before := len(v.faults)
		if c.checkStep(v, i); len(v.faults) > before {
			return // a generator repeats its fault in every step
		}
	}
}

func (c *Cell) checkStep(v *checker, i int) {
	s, at := c.Path.Schedule[i], fmt.Sprintf("step %d", i+1)
	v.want(i == 0 || s.AtUs > c.Path.Schedule[i-1].AtUs, "schedule", at, "not after the previous step; put the steps in order")
	v.want(s.AtUs < c.LimitUs, "schedule", at, "after the cell's end; remove it, or set measure.limit")
	v.want(s.RateBitPerS >= minRate && s.RateBitPerS <= maxRate && s.RateBitPerS%8 == 0, "schedule", at,
		"rate of %d bit/s; write a multiple of 8bit from %d", s.RateBitPerS, minRate)
	v.want(s.RTTUs <= maxRTT && s.RTTUs/2 >= c.Path.JitterUs, "schedule", at, "round trip of %d us; write less, and more than twice the jitter", s.RTTUs)
	v.want(s.LossPPM <= maxLoss, "schedule", at, "loses %s; at most %s", percent(s.LossPPM), percent(maxLoss))
}

func (c *Cell) checkSender(v *checker) {
	s := &c.Sender
	v.oneOf("arms", s.Qdisc, qdiscs...)
	v.oneOf("sender.pacing", s.Pacing, PacingAuto, PacingNone)
	v.want(!s.ECN || c.Path.Bottleneck == "fq_codel", "sender.ecn", "on", "%s marks no packets; write bottleneck: fq_codel", c.Path.Bottleneck)
	least := uint64(2 * (c.Path.MTU + ethernet))
	v.within("sender.sndbuf", s.SndbufBytes, least, maxSocket, "B")
	v.within("sender.rcvbuf", s.RcvbufBytes, least, maxSocket, "B")
	if s.Qdisc != Tbf {
		v.want(s.TbfBitPerS == 0 && s.TbfBurst == 0 && s.TbfLimit == 0, "sender.tbf_rate", s.TbfBitPerS, "without tbf as the arm's qdisc")
		return
	}
	v.within("sender.tbf_rate", s.TbfBitPerS, minRate, c.Path.RateBitPerS, "bit")
	v.want(s.TbfBitPerS%8 == 0, "sender.tbf_rate", s.TbfBitPerS, "not whole bytes per second; write a multiple of 8bit")
	frame := c.Path.MTU + ethernet
	v.want(s.TbfBurst >= frame, "sender.tbf_burst", s.TbfBurst, "below a packet of %d bytes with its header: all would be dropped; write %dB or more", frame, 2*frame)
	v.want(s.TbfLimit >= s.TbfBurst, "sender.tbf_limit", s.TbfLimit, "missing, or below the burst; write a size or a latency, as in 1MiB or 50ms")
}

func (s *Seeds) check(v *checker) {
	v.want(s.Count >= 1 && s.Count <= maxSeeds, "seeds.count", s.Count, "out of bounds; write 1 to %d", maxSeeds)
	v.want(s.Max >= s.Count && s.Max <= maxSeeds, "seeds.max", s.Max, "out of bounds; write count to %d", maxSeeds)
	v.want(s.HalfWidth >= 0 && s.HalfWidth < 1, "seeds.half_width", s.HalfWidth, "not a share of the median; write it as in 5%%")
	v.want(s.HalfWidth > 0 || s.Max == s.Count, "seeds.max", s.Max, "more than count, but without half_width to say when to stop; write half_width, as in 5%%")
	v.want(s.HalfWidth == 0 || s.Max > s.Count, "seeds.half_width", s.HalfWidth, "no more seeds than count are allowed; write max")
	v.want(s.First >= 1, "seeds.first", s.First, "out of bounds; write 1 or more")
	v.want(s.First+uint64(maxSeeds) > s.First, "seeds.first", s.First, "too large; write less")
}

func percent(ppm uint32) string { return strconv.FormatFloat(float64(ppm)/1e4, 'f', -1, 64) + "%" }

func (c *Cell) checkFlows(v *checker) {
	v.want(len(c.Flows) >= 1 && len(c.Flows) <= maxFlows, "flows", len(c.Flows), "out of bounds; write 1 to %d flows", maxFlows)
	seen := map[string]bool{}
	for i := range c.Flows {
		f := &c.Flows[i]
		v.want(!seen[f.Name], "flows", f.Name, "two flows of this name; name each")
		seen[f.Name] = true
		f.check(v, c)
	}
	v.want(len(c.RTTs()) <= maxRTTs, "flows", len(c.RTTs()), "too many round trips of flows' own; write at most %d", maxRTTs)
}

func (f *Flow) check(v *checker, c *Cell) {
	field := func(key string) string { return "flows." + f.Name + "." + key }
	v.want(word.MatchString(f.Name), field("name"), f.Name, "not a name")
	v.want(cong.MatchString(f.Cong), field("cong"), f.Cong, "not a congestion control's name; write one as in bbr or cubic")
	v.want(f.Bytes > 0 || f.DurationUs > 0, field("size"), "", "neither size nor duration; write one or both, as in size: 64MB")
	v.want(f.Bytes <= maxSize && f.DurationUs <= maxTimeUs, field("size"), f.Bytes, "too large; at most 1000GB and a day")
	end, _ := f.endUs()
	v.want(end < c.LimitUs, field("start"), f.StartUs, "this flow ends after measure.limit of %d us; write a later limit", c.LimitUs)
	v.want(f.RTTUs == 0 || len(c.Flows) > 1, field("rtt"), f.RTTUs, "there is no other flow; write path.rtt")
	v.want(f.RTTUs == 0 || f.RTTUs >= c.Path.RTTUs && f.RTTUs <= maxRTT, field("rtt"), f.RTTUs, "out of bounds; write path.rtt, %d us, to %d us", c.Path.RTTUs, uint64(maxRTT))
	v.want(f.RateBitPerS == 0 || f.RateBitPerS >= minRate && f.RateBitPerS <= maxRate, field("app_rate"), f.RateBitPerS, "out of bounds; write %dbit or more", minRate)
	v.want(f.Repeat >= 0 && f.Repeat <= maxRepeat, field("repeat"), f.Repeat, "out of bounds; at most %d", maxRepeat)
	v.want(f.Repeat <= 1 || f.Bytes > 0, field("repeat"), f.Repeat, "connections without a size never end; write size")
	v.want(f.GapUs == 0 || f.Repeat > 1, field("gap"), f.GapUs, "there is no next connection; write repeat, or remove it")
	v.want(f.GapUs <= maxTimeUs, field("gap"), f.GapUs, "too long; at most a day")
}

func (c *Cell) checkMeasure(v *checker) {
	v.within("measure.limit", c.LimitUs, 1_000_000, maxTimeUs, "us")
	v.want(c.SampleUs >= minSampleUs && c.SampleUs <= c.LimitUs, "measure.sample", c.SampleUs, "out of bounds; write 1ms to the limit")
	v.want(c.ProbeUs == 0 || c.ProbeUs >= 100 && c.ProbeUs <= c.LimitUs, "measure.probe", c.ProbeUs, "out of bounds; write 100us to the limit, or none")
	v.want(c.WarmUpUs < c.LimitUs, "measure.warm_up", c.WarmUpUs, "not before the limit; write less")
	// Only where each flow has a duration: the others' ends are guesses.
	end, known := c.lastEnd()
	v.want(!known || c.WarmUpUs < end, "measure.warm_up", c.WarmUpUs, "nothing is left to measure after it; write less than the flows' %d us", end)
}
