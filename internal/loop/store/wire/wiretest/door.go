package wiretest

import (
	"testing"
	"time"

	"github.com/congctl/congctl/internal/costtest"
)

// Door has do refuse each input whose fault it finds, within the bounds, and logs the worst of each figure. What it takes
// has the same bounds.
func Door(t *testing.T, inputs []Input, finds Fault, do func(Input) error) {
	t.Helper()
	var worst costtest.Cost
	var names [3]string
	for _, in := range inputs {
		c, err := costtest.Of(func() error { return do(in) })
		if (err != nil) != (in.Fault != None && in.Fault <= finds) {
			t.Errorf("%s: %.*v", in.Name, costtest.MaxText, err)
		}
		if over := c.Over(); over != "" {
			t.Errorf("%s: %s", in.Name, over)
		}
		if c.CPU >= worst.CPU {
			worst.CPU, names[0] = c.CPU, in.Name
		}
		if c.Bytes >= worst.Bytes {
			worst.Bytes, names[1] = c.Bytes, in.Name
		}
		if c.Text >= worst.Text {
			worst.Text, names[2] = c.Text, in.Name
		}
	}
	t.Logf("%d inputs; the worst: %v of CPU (%s); %d kB allocated (%s); %d bytes of text (%s)",
		len(inputs), worst.CPU.Round(time.Microsecond), names[0], worst.Bytes>>10, names[1], worst.Text, names[2])
}
