package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// draft is a cell before its defaults: the file's values, unit by unit, with the lengths
// that depend on other fields still unresolved.
type draft struct {
	cell     Cell
	buffer   length // of the bottleneck
	tbfLimit length // of the sender's tbf
	flows    []flowDraft
	schedule schedule

	line  map[string]int    // field -> line that set it last
	owner map[string]string // field -> axis that set it, "" for the file's base
	turn  string            // axis that is being applied
}

// flowDraft is Count flows alike, each Stagger after the one before.
type flowDraft struct {
	Flow
	count     int
	staggerUs uint64
}

func (d *draft) clone() draft {
	c := *d
	c.cell.Sysctls = maps.Clone(d.cell.Sysctls)
	c.flows = slices.Clone(d.flows)
	c.line = maps.Clone(d.line)
	c.owner = maps.Clone(d.owner)
	return c
}

// touch notes what set field. If two axes set one field, one of them would have no effect.
func (d *draft) touch(field string, line int) error {
	if d.turn != "" {
		for _, set := range slices.Sorted(maps.Keys(d.owner)) {
			within := set == field || strings.HasPrefix(set, field+".") || strings.HasPrefix(field, set+".")
			if by := d.owner[set]; within && by != "" && by != d.turn {
				return fmt.Errorf("set by the axes %s and %s; keep it in one of them", by, d.turn)
			}
		}
	}
	d.line[field], d.owner[field] = line, d.turn
	return nil
}

var pathKeys = []strict.Key[draft]{
	strict.Put("rate", ReadRate, func(d *draft) *uint64 { return &d.cell.Path.RateBitPerS }),
	strict.Put("rtt", parseTime, func(d *draft) *uint64 { return &d.cell.Path.RTTUs }),
	strict.Put("jitter", parseTime, func(d *draft) *uint64 { return &d.cell.Path.JitterUs }),
	strict.Put("reorder", ReadShare, func(d *draft) *uint32 { return &d.cell.Path.ReorderPPM }),
	strict.Put("mtu", parseBytes32, func(d *draft) *uint32 { return &d.cell.Path.MTU }),
	strict.Put("bottleneck", ReadWord, func(d *draft) *string { return &d.cell.Path.Bottleneck }),
	strict.Put("buffer", parseBuffer, func(d *draft) *length { return &d.buffer }),
	strict.Put("burst", parseBytes32, func(d *draft) *uint32 { return &d.cell.Path.BurstBytes }),
	strict.Put("loss", ReadShare, func(d *draft) *uint32 { return &d.cell.Path.Loss.PPM }),
	strict.Put("loss_at", ReadWord, func(d *draft) *string { return &d.cell.Path.Loss.At }),
	strict.Put("loss_back", ReadShare, func(d *draft) *uint32 { return &d.cell.Path.Loss.BackPPM }),
	strict.Put("gemodel", parseGilbert, func(d *draft) **Gilbert { return &d.cell.Path.Loss.Gilbert }),
}

var senderKeys = []strict.Key[draft]{
	strict.Put("super_packets", ReadSwitch, func(d *draft) *bool { return &d.cell.Sender.SuperPackets }),
	strict.Put("pacing", ReadWord, func(d *draft) *string { return &d.cell.Sender.Pacing }),
	strict.Put("ecn", ReadSwitch, func(d *draft) *bool { return &d.cell.Sender.ECN }),
	strict.Put("sndbuf", ReadSize, func(d *draft) *uint64 { return &d.cell.Sender.SndbufBytes }),
	strict.Put("rcvbuf", ReadSize, func(d *draft) *uint64 { return &d.cell.Sender.RcvbufBytes }),
	strict.Put("tbf_rate", ReadRate, func(d *draft) *uint64 { return &d.cell.Sender.TbfBitPerS }),
	strict.Put("tbf_burst", parseBytes32, func(d *draft) *uint32 { return &d.cell.Sender.TbfBurst }),
	strict.Put("tbf_limit", parseTbfLimit, func(d *draft) *length { return &d.tbfLimit }),
}

var measureKeys = []strict.Key[draft]{
	strict.Put("sample", parseTime, func(d *draft) *uint64 { return &d.cell.SampleUs }),
	strict.Put("probe", parseProbe, func(d *draft) *uint64 { return &d.cell.ProbeUs }),
	strict.Put("warm_up", parseTime, func(d *draft) *uint64 { return &d.cell.WarmUpUs }),
	strict.Put("limit", parseTime, func(d *draft) *uint64 { return &d.cell.LimitUs }),
}

var seedKeys = []strict.Key[draft]{
	strict.Put("first", parseSeed, func(d *draft) *uint64 { return &d.cell.Seeds.First }),
	strict.Put("count", ReadCount, func(d *draft) *int { return &d.cell.Seeds.Count }),
	strict.Put("max", ReadCount, func(d *draft) *int { return &d.cell.Seeds.Max }),
	strict.Put("half_width", parseFraction, func(d *draft) *float64 { return &d.cell.Seeds.HalfWidth }),
}

var flowKeys = []strict.Key[flowDraft]{
	strict.Put("name", ReadWord, func(f *flowDraft) *string { return &f.Name }),
	strict.Put("cong", ReadWord, func(f *flowDraft) *string { return &f.Cong }),
	strict.Put("start", parseTime, func(f *flowDraft) *uint64 { return &f.StartUs }),
	strict.Put("size", ReadSize, func(f *flowDraft) *uint64 { return &f.Bytes }),
	strict.Put("duration", parseTime, func(f *flowDraft) *uint64 { return &f.DurationUs }),
	strict.Put("rtt", parseTime, func(f *flowDraft) *uint64 { return &f.RTTUs }),
	strict.Put("app_rate", ReadRate, func(f *flowDraft) *uint64 { return &f.RateBitPerS }),
	strict.Put("repeat", ReadCount, func(f *flowDraft) *int { return &f.Repeat }),
	strict.Put("gap", parseTime, func(f *flowDraft) *uint64 { return &f.GapUs }),
	strict.Put("count", ReadCount, func(f *flowDraft) *int { return &f.count }),
	strict.Put("stagger", parseTime, func(f *flowDraft) *uint64 { return &f.staggerUs }),
}

// sections are the parts of a file that a point of the matrix may override key by key.
var sections = map[string][]strict.Key[draft]{
	"path": pathKeys, "sender": senderKeys, "measure": measureKeys, "seeds": seedKeys,
}

func parseBytes32(s string) (uint32, error) {
	v, err := ReadSize(s)
	if err == nil && v > 1<<31 {
		err = errors.New("too large; at most 2GiB")
	}
	return uint32(v), err
}

// parseProbe distinguishes "none" from an absent value, which a zero would not.
func parseProbe(s string) (uint64, error) {
	if s == "none" {
		return noProbe, nil
	}
	return parseTime(s)
}

func parseFraction(s string) (float64, error) {
	v, err := ReadShare(s)
	return float64(v) / ppm, err
}

// parseGilbert reads netem's "gemodel p r [1-h [1-k]]" with tc's defaults for the last
// two: everything is lost in the bad state, nothing in the good one.
func parseGilbert(s string) (*Gilbert, error) {
	words := strings.Fields(s)
	if len(words) < 2 || len(words) > 4 {
		return nil, errors.New("not 2 to 4 shares; write p and r, then loss in the bad and in the good state, as in 0.5% 20%")
	}
	v := [4]uint32{2: ppm}
	for i, w := range words {
		share, err := ReadShare(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		v[i] = share
	}
	return &Gilbert{P: v[0], R: v[1], LossBad: v[2], LossGood: v[3]}, nil
}
