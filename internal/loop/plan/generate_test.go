package plan

import (
	"net/netip"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

func genPrefix() *rapid.Generator[record.Prefix] {
	return rapid.Custom(func(t *rapid.T) record.Prefix {
		var a netip.Addr
		if rapid.Bool().Draw(t, "v4") {
			a = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		} else {
			b := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address"))
			b[0] |= 0x20 // away from ::/32, which holds no clients
			a = netip.AddrFrom16(b)
		}
		p, _ := record.PrefixOf(a)
		return p
	})
}

// genPlan draws plans that Parse accepts, entries in any order.
func genPlan() *rapid.Generator[*Plan] {
	return rapid.Custom(func(t *rapid.T) *Plan {
		word := rapid.StringMatching(`[A-Za-z0-9._-]{1,15}`)
		created := rapid.Int64Range(1, maxUnix-1).Draw(t, "created")
		block := rapid.Int64Range(1, 86400).Draw(t, "block")
		p := &Plan{
			PoP: word.Draw(t, "pop"), Serial: record.PlanID(rapid.Int64Min(1).Draw(t, "serial")),
			Created: created, Expires: rapid.Int64Range(created+1, maxUnix).Draw(t, "expires"),
			Treatment: word.Draw(t, "treatment"), MinBytes: uint64(rapid.Int64Min(1).Draw(t, "min bytes")),
			BlockSeconds: block, WashoutSeconds: rapid.Int64Range(0, block-1).Draw(t, "washout"),
			Experiment: rapid.SampledFrom([]string{ExperimentOff, ExperimentOn}).Draw(t, "experiment"),
			GroupTrial: rapid.IntRange(2, 1024).Draw(t, "trial"), GroupPromoted: rapid.IntRange(2, 1024).Draw(t, "promoted"),
			HoldoutPermille: rapid.IntRange(0, 1000).Draw(t, "holdout"), AAPermille: rapid.IntRange(0, 1000).Draw(t, "aa"),
			Salt:    rapid.SliceOfN(rapid.Byte(), minSaltBytes, maxSaltBytes).Draw(t, "salt"),
			CapRule: rapid.OneOf(rapid.StringMatching(`[!-~]([ -~]{0,58}[!-~])?`), rapid.Just(CapRuleLate)).Draw(t, "cap rule"),
		}
		states := []string{StateSelected}
		if p.Experiment == ExperimentOn {
			states = []string{StateTrial, StatePromoted, StateHoldout, StateAA}
			if p.GroupSettled = rapid.SampledFrom([]int{0, 2, 24, 1024}).Draw(t, "settled"); p.GroupSettled > 0 {
				states = append(states, StateSettled)
				p.DrawBy = rapid.SampledFrom([]string{"", DrawByPoP}).Draw(t, "draw by")
			}
		}
		for _, pfx := range rapid.SliceOfNDistinct(genPrefix(), 0, 12, rapid.ID[record.Prefix]).Draw(t, "prefixes") {
			p.Entries = append(p.Entries, Entry{
				Prefix: pfx, Cong: word.Draw(t, "cong"), State: rapid.SampledFrom(states).Draw(t, "state"),
				Since:        rapid.Int64Range(1, maxUnix).Draw(t, "since"),
				CapBytesPerS: rapid.Uint64().Draw(t, "cap"),
				Reason:       rapid.StringMatching(`[!-~]([ -~]{0,118}[!-~])?`).Draw(t, "reason"),
			})
		}
		return p
	})
}
