package config

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func sprint(v reflect.Value) string { return fmt.Sprint(v.Interface()) }

// TestFaults: what a person reads when a file is wrong.
func TestFaults(t *testing.T) {
	datadriven.RunTest(t, "testdata/faults", func(t *testing.T, d *datadriven.TestData) string {
		if _, err := Parse([]byte(d.Input)); err != nil {
			return err.Error() + "\n"
		}
		return "ok\n"
	})
}
