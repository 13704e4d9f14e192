package world

import (
	"os"
	"testing"

	"github.com/congctl/congctl/internal/lab/proof"
	"github.com/congctl/congctl/internal/linux/netns"
)

// TestEnable: a connection has what was made the default, and the default comes back. That
// a machine's own kernel does is TestLabVerifyKernel's.
func TestEnable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a network namespace; minimum kernel 4.15")
	}
	ns, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	for cong, internals := range map[string]bool{"bbr": true, "reno": false, "nosuch": false} {
		var e proof.Enabled
		var after string
		err := ns.Do(func() error {
			err := enable(cong, &e)
			after, _ = readSysctl(defaultSysctl)
			return err
		})
		if err != nil {
			if cong == "bbr" {
				t.Skipf("needs a host that lists bbr as allowed; minimum kernel 4.15: %v", err)
			}
			t.Fatal(err)
		}
		want := proof.Enabled{Available: e.Available, Before: e.Before, Default: cong, Conn: cong, Internals: internals}
		if cong == "nosuch" {
			want.Default, want.Conn = "", ""
		}
		if e != want || after != e.Before || e.Before == "" {
			t.Errorf("%s: %+v, then %s", cong, e, after)
		}
	}
}
