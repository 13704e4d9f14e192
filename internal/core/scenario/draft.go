package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// draft is a cell before its defaults: what the file said, unit by unit, with the
// lengths that depend on other fields still unresolved.
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

// touch notes who set field. Two axes that set one field would leave one of them
// without effect.
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

// setting is one scalar key of a section.
type setting[T any] struct {
	name string
	set  func(*T, string) error
}

func put[T, V any](name string, read func(string) (V, error), at func(*T) *V) setting[T] {
	return setting[T]{name, func(t *T, s string) error {
		v, err := read(s)
		if err == nil {
			*at(t) = v
		}
		return err
	}}
}

var pathKeys = []setting[draft]{
	put("rate", parseRate, func(d *draft) *uint64 { return &d.cell.Path.RateBitPerS }),
	put("rtt", parseTime, func(d *draft) *uint64 { return &d.cell.Path.RTTUs }),
	put("jitter", parseTime, func(d *draft) *uint64 { return &d.cell.Path.JitterUs }),
	put("reorder", parseShare, func(d *draft) *uint32 { return &d.cell.Path.ReorderPPM }),
	put("mtu", parseBytes32, func(d *draft) *uint32 { return &d.cell.Path.MTU }),
	put("bottleneck", parseWord, func(d *draft) *string { return &d.cell.Path.Bottleneck }),
	put("buffer", parseBuffer, func(d *draft) *length { return &d.buffer }),
	put("burst", parseBytes32, func(d *draft) *uint32 { return &d.cell.Path.BurstBytes }),
	put("loss", parseShare, func(d *draft) *uint32 { return &d.cell.Path.Loss.PPM }),
	put("loss_at", parseWord, func(d *draft) *string { return &d.cell.Path.Loss.At }),
	put("loss_back", parseShare, func(d *draft) *uint32 { return &d.cell.Path.Loss.BackPPM }),
	put("gemodel", parseGilbert, func(d *draft) **Gilbert { return &d.cell.Path.Loss.Gilbert }),
}

var senderKeys = []setting[draft]{
	put("super_packets", parseSwitch, func(d *draft) *bool { return &d.cell.Sender.SuperPackets }),
	put("pacing", parseWord, func(d *draft) *string { return &d.cell.Sender.Pacing }),
	put("ecn", parseSwitch, func(d *draft) *bool { return &d.cell.Sender.ECN }),
	put("sndbuf", parseSize, func(d *draft) *uint64 { return &d.cell.Sender.SndbufBytes }),
	put("rcvbuf", parseSize, func(d *draft) *uint64 { return &d.cell.Sender.RcvbufBytes }),
	put("tbf_rate", parseRate, func(d *draft) *uint64 { return &d.cell.Sender.TbfBitPerS }),
	put("tbf_burst", parseBytes32, func(d *draft) *uint32 { return &d.cell.Sender.TbfBurst }),
	put("tbf_limit", parseTbfLimit, func(d *draft) *length { return &d.tbfLimit }),
}

var measureKeys = []setting[draft]{
	put("sample", parseTime, func(d *draft) *uint64 { return &d.cell.SampleUs }),
	put("probe", parseProbe, func(d *draft) *uint64 { return &d.cell.ProbeUs }),
	put("warm_up", parseTime, func(d *draft) *uint64 { return &d.cell.WarmUpUs }),
	put("limit", parseTime, func(d *draft) *uint64 { return &d.cell.LimitUs }),
}

var seedKeys = []setting[draft]{
	put("first", parseSeed, func(d *draft) *uint64 { return &d.cell.Seeds.First }),
	put("count", parseCount, func(d *draft) *int { return &d.cell.Seeds.Count }),
	put("max", parseCount, func(d *draft) *int { return &d.cell.Seeds.Max }),
	put("half_width", parseFraction, func(d *draft) *float64 { return &d.cell.Seeds.HalfWidth }),
}

var flowKeys = []setting[flowDraft]{
	put("name", parseWord, func(f *flowDraft) *string { return &f.Name }),
	put("cong", parseWord, func(f *flowDraft) *string { return &f.Cong }),
	put("start", parseTime, func(f *flowDraft) *uint64 { return &f.StartUs }),
	put("size", parseSize, func(f *flowDraft) *uint64 { return &f.Bytes }),
	put("duration", parseTime, func(f *flowDraft) *uint64 { return &f.DurationUs }),
	put("app_rate", parseRate, func(f *flowDraft) *uint64 { return &f.RateBitPerS }),
	put("repeat", parseCount, func(f *flowDraft) *int { return &f.Repeat }),
	put("gap", parseTime, func(f *flowDraft) *uint64 { return &f.GapUs }),
	put("count", parseCount, func(f *flowDraft) *int { return &f.count }),
	put("stagger", parseTime, func(f *flowDraft) *uint64 { return &f.staggerUs }),
}

// sections are the parts of a file that a point of the matrix may override key by key.
var sections = map[string][]setting[draft]{
	"path": pathKeys, "sender": senderKeys, "measure": measureKeys, "seeds": seedKeys,
}

func lookup[T any](keys []setting[T], name string) (setting[T], bool) {
	i := slices.IndexFunc(keys, func(k setting[T]) bool { return k.name == name })
	if i < 0 {
		return setting[T]{}, false
	}
	return keys[i], true
}

func names[T any](keys []setting[T]) (out []string) {
	for _, k := range keys {
		out = append(out, k.name)
	}
	return out
}

func parseBytes32(s string) (uint32, error) {
	v, err := parseSize(s)
	if err == nil && v > 1<<31 {
		err = errors.New("too large; at most 2GiB")
	}
	return uint32(v), err
}

// parseProbe reads "none" as a wish, which a zero would not be.
func parseProbe(s string) (uint64, error) {
	if s == "none" {
		return noProbe, nil
	}
	return parseTime(s)
}

func parseFraction(s string) (float64, error) {
	v, err := parseShare(s)
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
		share, err := parseShare(w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		v[i] = share
	}
	return &Gilbert{P: v[0], R: v[1], LossBad: v[2], LossGood: v[3]}, nil
}
