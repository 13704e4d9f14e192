package show

import (
	"fmt"
	"io"

	"github.com/congctl/congctl/internal/app/simulate"
)

// City prints how the loop did on an imagined city.
func City(w io.Writer, r simulate.CityReport) error {
	experiment := "off"
	if r.Experiment {
		experiment = "on"
	}
	if _, err := fmt.Fprintf(w, "%d prefixes, %d h, seed %d, experiment %s\n\n", r.Prefixes, r.Hours, r.Seed, experiment); err != nil {
		return err
	}
	if err := table(w, "HELPED VALUE", helpedRows(r)); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := table(w, "GAIN-AT-P10 VALUE", [][]string{
		{"the loop", gain(r.P10Gain)},
		{"just the helped treated", gain(r.P10GainOracle)},
		{"everybody treated", gain(r.P10GainAll)},
		{"everybody treated who is faster so", gain(r.P10GainFaster)},
	}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return table(w, "COST VALUE", costRows(r))
}

func helpedRows(r simulate.CityReport) [][]string {
	inForce := "promoted at the end"
	if !r.Experiment {
		inForce = "selected at the end"
	}
	return [][]string{
		{"prefixes that can be helped", fmt.Sprint(r.Helped)},
		{inForce, share(r.HelpedInForce)},
		{"the same by traffic", share(r.HelpedTraffic)},
		{"releases of each", value(r.ReleasesPerHelped, "%.2f")},
		{"start to selection, median", value(r.SelectionHoursP50, "%.1f h")},
		{"selection to promotion, median", value(r.PromotionHoursP50, "%.1f h")},
		{"selection to promotion, p90", value(r.PromotionHoursP90, "%.1f h")},
	}
}

func costRows(r simulate.CityReport) [][]string {
	return [][]string{
		{"prefixes tried", fmt.Sprint(r.Tried)},
		{"tried 3 times or more", fmt.Sprint(r.TriedOften)},
		{"promoted though no use (factor < 1.05)", fmt.Sprint(r.PromotedUseless)},
		{"promoted though harmed (factor < 1)", fmt.Sprint(r.PromotedHarmed)},
		{"harmed ones tried", fmt.Sprint(r.HarmedTried)},
		{"hours of treatment of each", value(r.HarmedHours, "%.1f h")},
		{"added and released in a round", fmt.Sprintf("%.1f", r.ChangesPerRound)},
		{"boundary of the slowest fifth", fmt.Sprintf("%.2f Mbit/s", r.BoundaryMbit)},
		{"against a city without effects", percent(r.BoundaryChange)},
		{"against a city without treatment", percent(r.BoundaryDrift)},
		{"promoted in a city without effects", fmt.Sprintf("%d of %d tried", r.NullPromoted, r.NullTried)},
		{"fleet-wide brake", or(r.Braked, "not pulled")},
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
