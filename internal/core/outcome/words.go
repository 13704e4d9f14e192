package outcome

import (
	"fmt"
	"strconv"
)

// Words for people: three or four digits, and the unit that makes them readable.

func bits(perS float64) string {
	return scaled(perS, []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s"})
}

func micros(us float64) string { return scaled(us, []string{"us", "ms", "s"}) }

func percent(share float64) string { return digits(100*share) + " %" }

func scaled(x float64, units []string) string {
	i := 0
	for ; i < len(units)-1 && x >= 1000; i++ {
		x /= 1000
	}
	return digits(x) + " " + units[i]
}

// digits gives four of them, without an exponent.
func digits(x float64) string {
	short, _ := strconv.ParseFloat(fmt.Sprintf("%.4g", x), 64)
	return strconv.FormatFloat(short, 'f', -1, 64)
}
