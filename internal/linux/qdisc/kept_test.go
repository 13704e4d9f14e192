package qdisc

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What is kept is kept again, is no less than asked, and at 100 Mbit/s and below the same.
func TestKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := Tbf{RateBytesPerS: rapid.Uint64Range(1000, 125e9).Draw(t, "rate"), BurstBytes: rapid.Uint32Range(1, 1<<24).Draw(t, "burst")}
		kept := asked.Kept()
		if kept.BurstBytes < asked.BurstBytes || kept.Kept() != kept || asked.RateBytesPerS <= 125e5 && kept != asked {
			if kernelTicks(asked.RateBytesPerS, uint64(asked.BurstBytes)) < 1<<32-1 { // longer than 275 s reads as that
				t.Fatalf("%+v, kept %+v, again %+v", asked, kept, kept.Kept())
			}
		}
	})
}

func FuzzReadTbf(f *testing.F) {
	f.Add(specs["tbf"].options().Serialize()[4:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := ReadTbf(b); err != nil && got != (Tbf{}) {
			t.Errorf("error %v, and a value", err)
		}
		if !bytes.HasPrefix(steady("tbf", b), b) {
			t.Error("what is restored is not what was reported")
		}
	})
}

// What the kernel tells of codel's times and takes again is what it had: it counts them
// in 1.024 us and cuts on each way (codel_time_to_us in include/net/codel.h).
func TestCodelTimesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept := rapid.Uint64Range(0, 1<<31).Draw(t, "kept")
		told := kept * 1024 / 1000
		o := nestedOptions()
		o.AddRtAttr(1, u32(uint32(told)))
		o.AddRtAttr(2, u32(7))
		b := steady("fq_codel", o.Serialize()[4:])
		if again := uint64(native.Uint32(b[4:])) * 1000 >> 10; again != kept || native.Uint32(b[12:]) != 7 {
			t.Fatalf("kept %d, told %d, kept again %d, and %v", kept, told, again, b)
		}
	})
}
