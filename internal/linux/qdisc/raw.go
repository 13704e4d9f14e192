package qdisc

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Raw is a qdisc of any kind with options as the kernel reported them, to restore it. That
// works only for kinds that report options in the form in which they take them.
type Raw struct {
	Name    string
	Options []byte // TCA_OPTIONS; nil for the kernel's own choice
}

// Kind is the name.
func (r Raw) Kind() string { return r.Name }

func (r Raw) String() string {
	if len(r.Options) == 0 {
		return r.Name
	}
	return fmt.Sprintf("%s with %d bytes of options", r.Name, len(r.Options))
}

// Sized is a qdisc with a size table as the kernel reported it (TCA_STAB), nil for none.
type Sized struct {
	Spec
	Stab []byte
}

// takesNone are kinds that report options and take none, or refuse them.
var takesNone = map[string]bool{"pfifo_fast": true, "mq": true, "noqueue": true}

func (r Raw) options() *nl.RtAttr {
	if len(r.Options) == 0 || takesNone[r.Name] {
		return nil
	}
	return nl.NewRtAttr(unix.TCA_OPTIONS, steady(r.Name, r.Options))
}

// rounded are options in microseconds that the kernel keeps in steps of 2^shift ns and
// reports rounded down: to restore the reported value would lose one each time.
var rounded = map[string]struct {
	attrs []uint16
	shift uint
}{
	"codel":    {[]uint16{1, 3, 5}, 10}, // TCA_CODEL_TARGET, _INTERVAL, _CE_THRESHOLD
	"fq_codel": {[]uint16{1, 3, 7}, 10},
	"pie":      {[]uint16{1}, 6}, // TCA_PIE_TARGET
	"fq_pie":   {[]uint16{3}, 6},
}

// steady returns options that the kernel will report unchanged.
func steady(kind string, told []byte) []byte {
	if kind == "tbf" {
		return exactBursts(told)
	}
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

// tells returns what the kernel reports for a time that was set.
func tells(us uint32, shift uint) uint32 {
	return uint32(uint64(us) * 1000 >> shift << shift / 1000)
}
