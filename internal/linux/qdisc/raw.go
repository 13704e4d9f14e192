package qdisc

import "slices"

// rounded are options in microseconds that the kernel keeps in steps of 2^shift ns and
// tells rounded down: to take what was told would lose one with each return.
var rounded = map[string]struct {
	attrs []uint16
	shift uint
}{
	"codel":    {[]uint16{1, 3, 5}, 10}, // TCA_CODEL_TARGET, _INTERVAL, _CE_THRESHOLD
	"fq_codel": {[]uint16{1, 3, 7}, 10},
	"pie":      {[]uint16{1}, 6}, // TCA_PIE_TARGET
	"fq_pie":   {[]uint16{3}, 6},
}

// steady are options that the kernel will tell as these are.
func steady(kind string, told []byte) []byte {
	r, is := rounded[kind]
	if !is {
		return told
	}
	o := slices.Clone(told)
	// A fault in the kernel's own bytes leaves the rest as it is: the kernel judges it.
	_ = eachAttr(o, func(typ uint16, v []byte) error {
		if slices.Contains(r.attrs, typ) && len(v) == 4 {
			native.PutUint32(v, steadyMicros(native.Uint32(v), r.shift))
		}
		return nil
	})
	return o
}

func steadyMicros(us uint32, shift uint) uint32 {
	if tells(us, shift) != us && tells(us+1, shift) == us {
		return us + 1
	}
	return us
}

// tells is what the kernel says after it was given a time.
func tells(us uint32, shift uint) uint32 {
	return uint32(uint64(us) * 1000 >> shift << shift / 1000)
}
