package process

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const smaps = `00400000-01000000 r-xp 00000000 fe:00 12 /usr/bin/congctl
Rss:               12716 kB
Anonymous:             0 kB
01000000-02000000 r--p 00c00000 fe:00 12 /usr/bin/congctl
Rss:               13516 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
02000000-02100000 r--p 01c00000 fe:00 12 /usr/bin/congctl
Anonymous:             4 kB
02100000-02200000 rw-p 01d00000 fe:00 12 /usr/bin/congctl
Anonymous:             0 kB
02200000-02300000 r--s 01d00000 fe:00 12 /usr/bin/congctl
Anonymous:             0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 13 /usr/lib/libc.so
Anonymous:             0 kB
`

// TestUntouched: only what the kernel can read again from the file is forgotten.
func TestUntouched(t *testing.T) {
	got, err := untouched(strings.NewReader(smaps), "/usr/bin/congctl")
	if want := []mapping{{0x400000, 0x1000000}, {0x1000000, 0x2000000}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, %v; want %x", got, err, want)
	}
}

// TestForget: this program goes on, with fewer pages of files.
func TestForget(t *testing.T) {
	before := ofFiles(t)
	if err := Forget(); err != nil {
		t.Fatal(err)
	}
	if after := ofFiles(t); after >= before {
		t.Errorf("%d kB, before %d", after, before)
	}
}

// TestForgetKeepsPages: with KeepPages nothing is taken out.
func TestForgetKeepsPages(t *testing.T) {
	t.Setenv(KeepPages, "1")
	before := ofFiles(t)
	if err := Forget(); err != nil {
		t.Fatal(err)
	}
	if after := ofFiles(t); after < before {
		t.Errorf("%d kB, before %d", after, before)
	}
}

// ofFiles is how much of files is resident, in kB.
func ofFiles(t *testing.T) (kB int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "RssFile:")
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		t.Fatal(err)
	}
	return kB
}
