package carry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignLink: another user's link is not followed.
func TestForeignLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives a link to another user; minimum kernel 5.3")
	}
	root := laidOut(t, "/state", "/var -> state")
	if err := os.Lchown(filepath.Join(root, "var"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, err := HostDisk{Root: root}.Read("/var/lib")
	if want := "follow /var -> state: it belongs to user 65534: chown -h root /var"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
