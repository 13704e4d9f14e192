package vm

import (
	"strings"
	"testing"
)

func TestAvailable(t *testing.T) {
	const meminfo = "MemTotal:       24684544 kB\nMemFree:          812344 kB\nMemAvailable:    3145728 kB\nBuffers:            3416 kB\n"
	if mb, err := availableMB(strings.NewReader(meminfo)); mb != 3072 || err != nil {
		t.Errorf("%d MB, %v", mb, err)
	}
	for _, bad := range []string{"", "MemFree: 1 kB\n", "MemAvailable: many kB\n"} {
		if mb, err := availableMB(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: %d MB", bad, mb)
		}
	}
	if n, err := Fit(1); n < 1 || err != nil {
		t.Errorf("machines of 1 MB: %d, %v", n, err)
	}
}
