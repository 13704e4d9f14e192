package change

import "testing"

// TestOfEnableAfterABoot: a root of enable's is the kernel's own after a boot, with all that
// hangs below; somebody's, and what is of another kind, is as it was.
func TestOfEnableAfterABoot(t *testing.T) {
	const theirs = "mq ffffffff 10000 -; fq 10001 80010000 00ff"
	for _, c := range []struct {
		kind      Kind
		was, want string
	}{
		{Egress, "fq ffffffff cc000000 00ff", "fq ffffffff 0 00ff"},
		{Egress, "mq ffffffff cc000000 -; fq cc000002 80010000 00ff; fq cc000001 80020000 -", "mq ffffffff 0 -; fq 2 0 00ff; fq 1 0 -"},
		{Egress, theirs, theirs},
		{Egress, "", ""},
		{Egress, "shaped 1000000 3028 103028 -", "shaped 1000000 3028 103028 -"},
		{Ingress, "fq ffffffff cc000000 00ff", "fq ffffffff cc000000 00ff"},
	} {
		if got := c.kind.afterBoot(Text(c.was)); got != Text(c.want) {
			t.Errorf("%s %q: %q, want %q", c.kind, c.was, got.Text, c.want)
		}
	}
}
