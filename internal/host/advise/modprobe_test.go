package advise

import "testing"

// TestLoads: a module is loaded by a line of its own, and not by being spoken of.
func TestLoads(t *testing.T) {
	for text, want := range map[string]bool{
		"tcp_bbr\n":                  true,
		"tcp-bbr # as kmod has it":   true,
		"# tcp_bbr was tried\n":      false,
		"dummy numdummies=tcp_bbr\n": false,
	} {
		f := &Facts{Files: Files{{Path: "/etc/modules", Text: text}}}
		if got := f.Loads("tcp_bbr") != ""; got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
