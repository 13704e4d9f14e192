package published

import (
	"fmt"
	"strings"
	"testing"
)

// TestTablesAreRead: every number of every file, as text for people.
func TestTablesAreRead(t *testing.T) {
	var b strings.Builder
	for _, table := range Tables() {
		table, ok := Find(table.Name)
		if !ok || table.Source == "" || len(table.Rows) == 0 {
			t.Fatalf("%s: %+v", table.Name, table)
		}
		fmt.Fprintf(&b, "%s, %s\n", table.Name, table.Unit.Name)
		for _, r := range table.Rows {
			fmt.Fprintf(&b, "  %-20s", r.Key)
			for _, v := range r.Values {
				if v.Low <= 0 || v.High < v.Low {
					t.Errorf("%s %s %s: %g to %g", table.Name, r.Key, v.Cong, v.Low, v.High)
				}
				fmt.Fprintf(&b, " %s %g", strings.Trim(v.Qdisc+"+"+v.Cong, "+"), v.Low)
				if v.High != v.Low {
					fmt.Fprintf(&b, " to %g", v.High)
				}
			}
			fmt.Fprintln(&b)
		}
	}
	golden(t, "testdata/tables.txt", b.String())
}

// TestResidualsNameRows: a reason for a row that is not there would never be shown.
func TestResidualsNameRows(t *testing.T) {
	for r := range residuals() {
		table, ok := Find(r.table)
		if !ok || table.published(r.key, r.cong) == 0 {
			t.Errorf("%+v: no such value", r)
		}
	}
	if _, ok := Find("nobody.csv"); ok {
		t.Error("found a table that is not there")
	}
}

func TestUnits(t *testing.T) {
	rate, time := perSecond("MB/s", 1e6), secondsFor("s", 2e9)
	if rate.of(80e6) != 10 || bitPerS(rate, 10) != 80e6 || time.of(160e6) != 100 || bitPerS(time, 100) != 160e6 {
		t.Error("units do not convert")
	}
	for _, k := range []struct {
		unit Unit
		a, b float64
		want int
	}{{rate, 100, 94, 1}, {rate, 94, 100, -1}, {rate, 100, 96, 0}, {time, 100, 94, -1}, {time, 94, 100, 1}, {time, 96, 100, 0}} {
		if got := k.unit.better(k.a, k.b); got != k.want {
			t.Errorf("%s: %g against %g: %d, want %d", k.unit.Name, k.a, k.b, got, k.want)
		}
	}
}
