package report

import (
	"strings"
	"testing"
)

func TestTablePrint(t *testing.T) {
	f := folder(t, sweepText)
	for _, w := range []int{0, 120, 80} {
		var b strings.Builder
		Table(&b, &f.Summary, w)
		t.Log("\n" + b.String())
	}
}
