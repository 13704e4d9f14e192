package guest

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What needs a guest is tested from outside: lab/kernel/vm boots machines.

func TestOnlyTheFirstProcessIsAGuest(t *testing.T) {
	t.Setenv("CONGCTL_GUEST", "1")
	if os.Getpid() != 1 && IsGuest() {
		t.Error("an ordinary process takes itself for a guest's first one")
	}
}

func TestJobNeedsASeed(t *testing.T) {
	for job, want := range map[string]string{
		`{"cells":[]}`:  `no "seed"`,
		`{"seed":null}`: `no "seed"`,
		`{"seed":-1}`:   "seed",
		`{"seed":"1"}`:  "seed",
		`not JSON`:      "read job",
	} {
		if err := seedRandom([]byte(job)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", job, err, want)
		}
	}
}

// TestSeedKeepsItsBytes: results are only repeatable while a seed means the same to
// the kernel. The bytes are struct rand_pool_info by hand: 256 bits, 32 bytes, and
// what sha256sum says of "congctl lab " and eight bytes of the seed.
func TestSeedKeepsItsBytes(t *testing.T) {
	got := poolInfo(1)
	if len(got) != 40 || string(got[:8]) != "\x00\x01\x00\x00\x20\x00\x00\x00" {
		t.Fatalf("% x", got)
	}
	if want := "71efb6ad047e0303dbf5ecaa283a2cdbc02aae665638c5f5eccf738732d52ac5"; want != hex.EncodeToString(got[8:]) {
		t.Errorf("seed 1 became %s, want %s", hex.EncodeToString(got[8:]), want)
	}
	if string(poolInfo(2)) == string(got) {
		t.Error("two seeds give the same bytes")
	}
}

func TestIdentityOfADevice(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"vendor": "0x1af4\n", "device": "0x1110\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := identity(dir); got != ivshmemID {
		t.Errorf("%q", got)
	}
	if got := identity(t.TempDir()); got == ivshmemID {
		t.Error("nothing is taken for the mailbox")
	}
}

func TestModuleThatDoesNotLoadIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := loadModules(dir); err != nil {
		t.Error(err)
	}
	if os.Geteuid() == 0 && unix.Access("/proc/modules", unix.F_OK) != nil {
		t.Skip("needs a kernel with loadable modules (minimum 3.8), or no root")
	}
	if err := os.WriteFile(filepath.Join(dir, "00-nonsense.ko"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := loadModules(dir); err == nil || !strings.Contains(err.Error(), "00-nonsense.ko") {
		t.Errorf("%v", err)
	}
}
