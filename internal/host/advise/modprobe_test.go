package advise

import "testing"

// TestLoads: a module is loaded by a line of its own, and not by being spoken of.
func TestLoads(t *testing.T) {
	for text, want := range map[string]bool{
		"tcp_bbr\n":                  true,
		"  tcp-bbr\t\r\n":            true,
		"tcp_bbr":                    true,
		"tcp-bbr # of linux 4.9":     false,
		"tcp_bbr sch_fq\n":           false,
		"# tcp_bbr was tried\n":      false,
		"; tcp_bbr\n":                false,
		"dummy numdummies=tcp_bbr\n": false,
		"\ufefftcp_bbr\n":            false,
		"tcp_bbr\u00a0\n":            false,
	} {
		f := &Facts{Files: Files{{Path: "/etc/modules-load.d/x.conf", Text: text}}}
		if got := f.Loads("tcp_bbr") != ""; got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestKeptOut: a line of modprobe.d counts as kmod reads it.
func TestKeptOut(t *testing.T) {
	for text, want := range map[string]bool{
		"install tcp_bbr /bin/false\n":                                true,
		"\tinstall  tcp-bbr /bin/true":                                true,
		"install tcp_bbr \\\n /usr/bin/false\n":                       true,
		"install tcp_bbr /bin/false # hardened\n":                     true,
		"install tcp_bbr exit 1\n":                                    true,
		"install tcp_bbr /bin/false\r\n":                              true, // there is no such program, which is as bad
		"install tcp_bbr\r\n":                                         false,
		"install tcp_bbr\n":                                           false,
		"install tcp_bbr /sbin/modprobe --ignore-install tcp_bbr":     false,
		"#install tcp_bbr /bin/false\n":                               false,
		"install tcp_bbr\u00a0/bin/false\n":                           false,
		"install tcp_bbr2 /bin/false\n":                               false,
		"# \\\ninstall tcp_bbr /bin/false\n":                          false,
		"blacklist tcp_bbr\n":                                         false,
		"softdep tcp_bbr pre: sch_fq\noptions tcp_bbr install=/false": false,
	} {
		f := &Facts{Files: Files{{Path: "/etc/modprobe.d/x.conf", Text: text}}}
		if _, _, got := f.KeptOut("tcp_bbr"); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
