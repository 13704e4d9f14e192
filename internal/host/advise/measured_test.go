package advise

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// measuredCase is a line of testdata/sysctl.measured.
type measuredCase struct {
	text string
	by   map[string]string // value by program, "-" where the old one was kept
}

func measuredCases(t *testing.T) (list []measuredCase) {
	t.Helper()
	b, err := os.ReadFile("testdata/sysctl.measured")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if line[0] == '#' {
			continue
		}
		w := strings.Fields(line)
		text, err := strconv.Unquote(line[strings.IndexByte(line, '"') : len(line)-1])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		text = strings.NewReplacer("@", KeyCong, "<blanks>", strings.Repeat(" ", 5000), "<letters>", strings.Repeat("x", 5000)).Replace(text)
		list = append(list, measuredCase{text, map[string]string{"systemd-sysctl": w[0], "procps": w[1]}})
	}
	return list
}

// TestMeasured: a file is predicted to do what the program that reads it was measured to do with it.
func TestMeasured(t *testing.T) {
	for _, c := range measuredCases(t) {
		for applier, want := range c.by {
			f := hostOf(File{Path: "/etc/sysctl.d/x.conf", Text: c.text})
			if applier == "procps" {
				f = masked(File{Path: RCLocal, Exec: true, Text: "#!/bin/sh\nsysctl -p /etc/x.conf\n"}, File{Path: "/etc/x.conf", Text: c.text})
			}
			f.Kernel.Congs = []string{"reno", "bbr"}
			f.Kernel.Config = Know(map[string]string{"DEFAULT_TCP_CONG": "-"})
			if b := f.AfterBoot(KeyCong); b.Value.Value != want {
				t.Errorf("%s of %.100q: %s%s, measured %s", applier, c.text, b.Value.Value, b.Why, want)
			}
		}
	}
}
