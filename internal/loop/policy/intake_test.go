package policy

import (
	"math"
	"reflect"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Rows that differ in anything that is counted have an order of their own, whichever it is, and a
// row with a value that no agent measures is left out. Each field of a row is tried, so that a new one
// is not forgotten.
func TestEachFieldOrdersRows(t *testing.T) {
	const start = 1_800_000_000
	sane := record.Window{Start: start, Prefix: letter(t, "a"), Cong: "cubic"}
	uncounted := map[string]bool{"Start": true, "AppLimitedShare": true}
	for f := range reflect.TypeFor[record.Window]().Fields() {
		if uncounted[f.Name] {
			continue
		}
		row := sane
		v := reflect.ValueOf(&row).Elem().FieldByIndex(f.Index)
		if v.Kind() == reflect.Array {
			v = v.Index(v.Len() - 1)
		}
		real := false
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("reno")
		case reflect.Float64:
			v.SetFloat(0.5)
			real = true
		case reflect.Uint64:
			v.SetUint(v.Uint() + 256) // of a prefix, the next network
		default:
			v.SetUint(1)
		}
		if a, b := compareRows(&sane, &row), compareRows(&row, &sane); a == 0 || a != -b {
			t.Errorf("%s: rows that differ in it compare %d and %d", f.Name, a, b)
		}
		if !sound(&row, start) {
			t.Errorf("%s: a sane row is not sound", f.Name)
		}
		if real {
			v.SetFloat(math.NaN())
			if sound(&row, start) {
				t.Errorf("%s: NaN is sound", f.Name)
			}
		}
	}
}
