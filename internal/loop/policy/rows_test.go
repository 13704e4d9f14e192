package policy

import (
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestRowsAfter: all rows in pieces of any length are all rows.
func TestRowsAfter(t *testing.T) {
	e := New(DefaultRules(), nil)
	for i := range 50 {
		e.insert(record.Prefix(7 + 3*i))
	}
	all := e.Rows()
	for n := 1; n < 60; n += 7 {
		var got []Row
		for last := record.Prefix(0); ; {
			rows := make([]Row, n)
			if rows = rows[:e.RowsAfter(last, rows)]; len(rows) == 0 {
				break
			}
			got, last = append(got, rows...), rows[len(rows)-1].Prefix
		}
		if len(all) != 50 || !slices.Equal(got, all) {
			t.Errorf("in pieces of %d: %d rows of %d", n, len(got), len(all))
		}
	}
	one := make([]Row, 1)
	if n := e.RowsAfter(8, one); n != 1 || one[0].Prefix != 10 { // one that is not tracked
		t.Errorf("after 8: %+v", one)
	}
}
