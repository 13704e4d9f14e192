package qdisc

import "testing"

// The kernel tells of a bucket what Kept foretells, over all rates that a person asks for.
func TestKernelKeepsAsForetold(t *testing.T) {
	c, link := inNamespace(t)
	at := At{link, Root, Handle(7)}
	for rate := uint64(1000); rate <= 1e11; rate = rate*7/3 + 1 {
		for _, burst := range []uint32{1514, 3028, 12_501, 65_536, 204_800, 1_000_003} {
			asked := Tbf{RateBytesPerS: rate, BurstBytes: burst, LimitBytes: 2_000_000}
			if burst < 3000 {
				asked.PeakBytesPerS, asked.PeakBurstBytes = rate*2, burst
			}
			if err := c.Replace(at, asked); err != nil {
				t.Fatal(err)
			}
			s, err := c.Get(link, at.Handle)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ReadTbf(s.Options)
			if err != nil || got != asked.Kept() {
				if uint64(burst)*1e9/rate/tickNs < 1<<32 {
					t.Errorf("asked %+v, kept %+v, foretold %+v, %v", asked, got, asked.Kept(), err)
				}
			}
		}
	}
}
