package agent

import (
	"testing"
	"time"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestArmsUnderAll: a network that the plan does not name is under the arm of all, unless it may not be treated: then its level is
// measured as before.
func TestArmsUnderAll(t *testing.T) {
	run(t, func(_ *host, a *Agent) {
		if err := a.SetPlan(signed(1, time.Now(), time.Hour, "all")); err != nil {
			t.Fatal(err)
		}
		for s, want := range map[string]bool{"203.0.113.0/24": true, "2001:db8:1::/56": true, "10.1.1.0/24": false} {
			p, _ := record.ParsePrefix(s)
			if arm, in := a.armAt(p, time.Now().Unix()); in != want || in != (arm != record.ArmNone) {
				t.Errorf("%s: %s, %t", s, arm, in)
			}
		}
	})
}
