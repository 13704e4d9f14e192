package simulate

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// CityReport is how the loop did, beside what was possible. Shares are of 1; a figure over
// no prefix is left out (null).
type CityReport struct {
	Seed     uint64   `json:"seed"`
	Prefixes int      `json:"prefixes"`
	Hours    int      `json:"hours"`
	Select   string   `json:"select"`
	World    []string `json:"world,omitempty"` // nuisances

	Helped            int      `json:"helped"`                  // truly: factor above 1.5, in the true bottom fifth, and not held out
	HelpedInForce     *float64 `json:"helped_in_force"`         // of them, promoted at the end; by level, selected
	HelpedTraffic     *float64 `json:"helped_in_force_traffic"` // the same, weighted by eligible connections
	ReleasesPerHelped *float64 `json:"releases_per_helped"`

	SelectionHoursP50 *float64 `json:"start_to_selection_hours_p50"` // of the helped that were selected
	PromotionHoursP50 *float64 `json:"selection_to_promotion_hours_p50"`
	PromotionHoursP90 *float64 `json:"selection_to_promotion_hours_p90"`

	ChangesPerRound float64 `json:"changes_per_round"` // added and released, after the first day
	Tried           int     `json:"tried"`             // prefixes that were ever in the plan and may be treated
	TriedOften      int     `json:"tried_3_times"`     // of them, three times or more

	PromotedUseless int `json:"promoted_useless"` // ever, though the factor is below 1.05
	PromotedHarmed  int `json:"promoted_harmed"`  // ever, though the factor is below 1

	VainTraffic float64 `json:"vain_traffic"` // of all eligible connections: those of prefixes in the plan, though the factor is below 1.05

	VainLate float64 `json:"vain_traffic_late"` // the same of the last four hours

	P10Gain       float64 `json:"p10_gain"`        // of all eligible connections of the last day, against nothing treated
	P10GainOracle float64 `json:"p10_gain_oracle"` // with just the helped treated
	P10GainAll    float64 `json:"p10_gain_all"`    // with every prefix treated
	P10GainFaster float64 `json:"p10_gain_faster"` // with every prefix treated whose factor is above 1

	BoundaryBytesPerS float64 `json:"boundary_bytes_per_s"` // mean of the last day
	BoundaryChange    float64 `json:"boundary_change"`      // against the same city without any effect
	BoundaryDrift     float64 `json:"boundary_drift"`       // against the same city with nobody treated: what treating does to the ranking

	HarmedTried int      `json:"harmed_tried"`
	HarmedHours *float64 `json:"harmed_hours"` // of treatment, mean of those tried

	NullTried    int    `json:"null_tried"`    // in the city without any effect
	NullPromoted int    `json:"null_promoted"` // of them, ever promoted
	NullDemoted  int    `json:"null_demoted"`
	NullBraked   string `json:"null_braked,omitempty"`
	Braked       string `json:"braked,omitempty"`

	HarmedDemoted    int      `json:"harmed_demoted"` // of the harmed that were tried
	RetrialsPerTrust *float64 `json:"second_looks_per_promotion,omitempty"`

	Estimates     Estimates `json:"estimates"`
	NullEstimates Estimates `json:"null_estimates"`
}

// often is how many tries are too many for days.
const often = 3

func report(o CityOptions, real, null, idle *tally) CityReport {
	r := CityReport{Seed: o.Seed, Prefixes: o.Prefixes, Hours: o.Hours, Select: o.Rules.Select, World: o.World.Names(),
		ChangesPerRound: real.changesPerRound(), Braked: real.braked,
		P10Gain: real.p10(worldLoop), P10GainOracle: real.p10(worldOracle), P10GainAll: real.p10(worldAll), P10GainFaster: real.p10(worldGain),
		BoundaryBytesPerS: real.boundary.Value(), BoundaryChange: real.boundary.Value()/null.boundary.Value() - 1,
		BoundaryDrift: real.boundary.Value()/idle.boundary.Value() - 1,
	}
	r.helped(real)
	r.others(real)
	r.Estimates, r.NullEstimates, r.NullBraked = real.truth.estimates(), null.truth.estimates(), null.braked
	r.RetrialsPerTrust = known(float64(real.retrials) / float64(real.promotions))
	for i, l := range null.lives {
		if l.entries > 0 && null.force.treatable(i) {
			r.NullTried++
			r.NullPromoted += one(l.trusted > 0)
			r.NullDemoted += one(l.demoted)
		}
	}
	return r
}

func (t *tally) hours(rounds float64) float64 {
	return rounds * float64(t.o.Rules.WindowSeconds) / 3600
}

func (t *tally) changesPerRound() float64 { return float64(t.changes) / float64(max(t.rounds, 1)) }

// p10 is the gain of a world at the tenth percentile of all eligible connections.
func (t *tally) p10(world int) float64 {
	return math.Exp(t.worlds[world].quantile(0.1)-t.worlds[worldNone].quantile(0.1)) - 1
}

func (r *CityReport) helped(t *tally) {
	var inForce, traffic, releases stat.Mean
	var selection, promotion []float64
	for i, l := range t.lives {
		p := &t.city.Places[i]
		if !p.Helped() || !t.force.treatable(i) {
			continue
		}
		r.Helped++
		now := l.promoted || l.in && !t.o.Rules.Experiment()
		inForce.Add(float64(one(now)), 1)
		traffic.Add(float64(one(now)), p.Conns)
		releases.Add(float64(l.left), 1)
		if l.selected > 0 {
			selection = append(selection, t.hours(float64(l.selected)))
		}
		if l.trusted > 0 {
			promotion = append(promotion, t.hours(float64(l.wait)))
		}
	}
	r.HelpedInForce, r.HelpedTraffic, r.ReleasesPerHelped = known(inForce.Value()), known(traffic.Value()), known(releases.Value())
	r.SelectionHoursP50 = known(stat.Quantile(selection, 0.5))
	r.PromotionHoursP50, r.PromotionHoursP90 = known(stat.Quantile(promotion, 0.5)), known(stat.Quantile(promotion, 0.9))
}

func (r *CityReport) others(t *tally) {
	var harmed stat.Mean
	for i, l := range t.lives {
		p := &t.city.Places[i]
		if l.entries == 0 || !t.force.treatable(i) {
			continue
		}
		r.Tried++
		r.TriedOften += one(l.entries >= often)
		r.PromotedUseless += one(l.trusted > 0 && p.Factor < useless)
		r.PromotedHarmed += one(l.trusted > 0 && p.Harmed())
		if p.Harmed() {
			r.HarmedTried++
			r.HarmedDemoted += one(l.demoted)
			harmed.Add(t.hours(float64(l.given)), 1)
		}
	}
	r.HarmedHours = known(harmed.Value())
	r.VainTraffic, r.VainLate = t.vain/max(t.conns, 1), t.lateVain/max(t.lateConns, 1)
}

// useless: an effect too small to notice.
const useless = 1.05

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// Write writes how the loop did on a simulated city.
func (r CityReport) Write(w io.Writer) error {
	world := ""
	if len(r.World) > 0 {
		world = ", world " + strings.Join(r.World, ",")
	}
	if _, err := fmt.Fprintf(w, "%d prefixes, %d h, seed %d, select %s%s\n\n", r.Prefixes, r.Hours, r.Seed, r.Select, world); err != nil {
		return err
	}
	if err := answer.Table(w, "HELPED VALUE", helpedRows(r)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := answer.Table(w, "GAIN-AT-P10 VALUE", [][]string{
		{"the loop", gain(r.P10Gain)},
		{"only prefixes that can benefit treated", gain(r.P10GainOracle)},
		{"all prefixes treated", gain(r.P10GainAll)},
		{"all prefixes that get faster treated", gain(r.P10GainFaster)},
	}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := answer.Table(w, "COST VALUE", costRows(r)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return answer.Table(w, "ESTIMATE RATIO 95% TRUTH", append(r.Estimates.rows(""), r.NullEstimates.rows(", in a city without effects")...))
}

func helpedRows(r CityReport) [][]string {
	inForce := "promoted at the end"
	if r.Select == policy.SelectSlowest {
		inForce = "selected at the end"
	}
	return [][]string{
		{"prefixes that can benefit", fmt.Sprint(r.Helped)},
		{inForce, share(r.HelpedInForce)},
		{"the same by traffic", share(r.HelpedTraffic)},
		{"releases of each", value(r.ReleasesPerHelped, "%.2f")},
		{"start to selection, median", value(r.SelectionHoursP50, "%.1f h")},
		{"selection to promotion, median", value(r.PromotionHoursP50, "%.1f h")},
		{"selection to promotion, p90", value(r.PromotionHoursP90, "%.1f h")},
	}
}

func costRows(r CityReport) [][]string {
	return [][]string{
		{"prefixes tried", fmt.Sprint(r.Tried)},
		{"tried 3 times or more", fmt.Sprint(r.TriedOften)},
		{"promoted without benefit (factor < 1.05)", fmt.Sprint(r.PromotedUseless)},
		{"promoted although harmed (factor < 1)", fmt.Sprint(r.PromotedHarmed)},
		{"harmed prefixes tried", fmt.Sprint(r.HarmedTried)},
		{"of them demoted", fmt.Sprint(r.HarmedDemoted)},
		{"hours of treatment of each", value(r.HarmedHours, "%.1f h")},
		{"second looks per promotion", value(r.RetrialsPerTrust, "%.2f")},
		{"added and released in a round", fmt.Sprintf("%.1f", r.ChangesPerRound)},
		{"boundary of the slowest fifth", fmt.Sprintf("%.2f Mbit/s", r.BoundaryBytesPerS*8e-6)},
		{"against a city without effects", percent(r.BoundaryChange)},
		{"against a city without treatment", percent(r.BoundaryDrift)},
		{"promoted in a city without effects", fmt.Sprintf("%d of %d tried", r.NullPromoted, r.NullTried)},
		{"demoted in a city without effects", fmt.Sprint(r.NullDemoted)},
		{"brake in a city without effects", answer.Or(r.NullBraked, "not pulled")},
		{"fleet-wide brake", answer.Or(r.Braked, "not pulled")},
	}
}

func value(v *float64, format string) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf(format, *v)
}

func share(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100**v)
}

func gain(v float64) string    { return fmt.Sprintf("%+.0f %%", 100*v) }
func percent(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }
