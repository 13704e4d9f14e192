package advise

import (
	"fmt"
	"strings"
	"testing"
)

// scripts and what they set, as LINE=VALUE, with FILE: where another file says so; LINE?
// where nobody can tell, with the value if only whether the line is reached is open.
var scripts = map[string]string{
	"sysctl -w net.ipv4.tcp_congestion_control=cubic":                                          "1=cubic",
	"/sbin/sysctl -w net.ipv4.tcp_congestion_control=cubic":                                    "1=cubic",
	"/usr/sbin/sysctl -q -w net.core.somaxconn=1 net.ipv4.tcp_congestion_control=reno":         "1=reno",
	"sysctl net/ipv4/tcp_congestion_control=cubic":                                             "1=cubic",
	"sysctl -qw 'net.ipv4.tcp_congestion_control=bbr' >/dev/null 2>&1 || true":                 "1=bbr",
	`sysctl -e "net.ipv4.tcp_congestion_control=bbr" # fast`:                                   "1=bbr",
	"echo bbr > /proc/sys/net/ipv4/tcp_congestion_control":                                     "1=bbr",
	"echo bbr >/proc/sys/net/ipv4/tcp_congestion_control":                                      "1=bbr",
	"echo -n bbr>/proc/sys/net/ipv4/tcp_congestion_control":                                    "1=bbr",
	"echo 'bbr' | tee /proc/sys/net/ipv4/tcp_congestion_control > /dev/null":                   "1=bbr",
	"modprobe tcp_bbr; sysctl -w net.ipv4.tcp_congestion_control=bbr":                          "1=bbr",
	"sysctl -w \\\n net.ipv4.tcp_congestion_control=bbr":                                       "2=bbr",
	"sysctl -w net.ipv4.tcp_congestion_control=a\nsysctl -w net.ipv4.tcp_congestion_control=b": "1=a 2=b",

	"": "",
	"# sysctl -w net.ipv4.tcp_congestion_control=cubic":                      "",
	"#sysctl -w net.ipv4.tcp_congestion_control=cubic":                       "",
	"sysctl -w net.ipv4.tcp_congestion_control_x=cubic":                      "",
	"sysctl net.ipv4.tcp_congestion_control":                                 "",
	"echo net.ipv4.tcp_congestion_control=bbr is set now":                    "",
	"exit 0\nsysctl -w net.ipv4.tcp_congestion_control=cubic":                "",
	"f() {\n x\n}\nsysctl -w net.ipv4.tcp_congestion_control=bbr":            "4=bbr",
	"exec /bin/x\nsysctl -w net.ipv4.tcp_congestion_control=cubic":           "",
	"exec >/log 2>&1\nsysctl -w net.ipv4.tcp_congestion_control=cubic":       "2=cubic",
	"echo waiting for exit\nsysctl -w net.ipv4.tcp_congestion_control=cubic": "2=cubic",
	"awk '{\nexit\n}' x\nsysctl -w net.ipv4.tcp_congestion_control=cubic":    "4=cubic",
	"# a \\\nsysctl -w net.ipv4.tcp_congestion_control=cubic":                "2=cubic",
	"sysctl -n net.core.rmem_max net.ipv4.tcp_congestion_control":            "",

	"ls && exit 0\nsysctl -w net.ipv4.tcp_congestion_control=cubic":                       "2? cubic",
	"ls || exit\nsysctl -w net.ipv4.tcp_congestion_control=cubic":                         "2? cubic",
	"[ -x /bin/x ] || exit 0\nsysctl -w net.ipv4.tcp_congestion_control=cubic":            "2? cubic",
	"[ -x /bin/x ] ||\n exit 0\nsysctl -w net.ipv4.tcp_congestion_control=cubic":          "3? cubic",
	"a || { echo no; exit 1; }\nsysctl -w net.ipv4.tcp_congestion_control=cubic":          "2? cubic",
	"if a; then\n exit 1\nfi\nsysctl -w net.ipv4.tcp_congestion_control=bbr":              "4? bbr",
	"if a; then exit 1; fi\nsysctl -w net.ipv4.tcp_congestion_control=bbr":                "2? bbr",
	"if a; then\n exec /bin/x\nfi\nsysctl -w net.ipv4.tcp_congestion_control=bbr":         "4? bbr",
	"f() {\n exec /bin/x\n}\nf\nsysctl -w net.ipv4.tcp_congestion_control=bbr":            "5? bbr",
	"a && exec /bin/x\nsysctl -w net.ipv4.tcp_congestion_control=bbr":                     "2? bbr",
	"case $1 in\n a)\n  exit 1\n ;;\nesac\nsysctl -w net.ipv4.tcp_congestion_control=bbr": "6? bbr",
	"case $1 in\n a)\n  sysctl -w net.ipv4.tcp_congestion_control=bbr\n ;;\nesac":         "3? bbr",
	"if a; then\n echo done\n sysctl -w net.ipv4.tcp_congestion_control=bbr\nfi":          "3? bbr",
	"a || exit\nexit 0\nsysctl -w net.ipv4.tcp_congestion_control=bbr":                    "3? bbr",
	"return 0\nsysctl -w net.ipv4.tcp_congestion_control=bbr":                             "2? bbr",
	"a || exit\nsysctl -p": "2? htcp",
	"a || exit\nb && sysctl -w net.ipv4.tcp_congestion_control=bbr": "2?",

	"if a; then\nsysctl -w net.ipv4.tcp_congestion_control=bbr\nfi":               "2? bbr",
	"if a; then sysctl -w net.ipv4.tcp_congestion_control=bbr; fi":                "1?",
	"modprobe tcp_bbr && sysctl -w net.ipv4.tcp_congestion_control=bbr":           "1?",
	"sysctl -w net.ipv4.tcp_congestion_control=$CC":                               "1?",
	"sysctl -w net.ipv4.tcp_congestion_control=\"$CC\"":                           "1?",
	"for i in a b; do\necho $i > /proc/sys/net/ipv4/tcp_congestion_control\ndone": "2?",
	"echo bbr cubic | xargs -n1 sysctl net.ipv4.tcp_congestion_control":           "1?",
	"sysctl -w net.ipv4.tcp_congestion_control = bbr":                             "1?",
	"sudo sysctl -w net.ipv4.tcp_congestion_control=bbr":                          "1?",
	"cat > /etc/x <<END\nnet.ipv4.tcp_congestion_control=bbr\nEND":                "2?",
	"echo net.ipv4.tcp_congestion_control=bbr >> /etc/sysctl.conf":                "1?",
	"sysctl -w 'net.ipv4.tcp_congestion_control=bbr":                              "1?",
	"false || sysctl -w net.ipv4.tcp_congestion_control=bbr":                      "1?",

	// a number in front of ">" is a descriptor and no value
	"echo 0\t0>/proc/sys/net/ipv4/tcp_congestion_control":            "1?",
	"echo bbr 10>/proc/sys/net/ipv4/tcp_congestion_control":          "1?",
	"echo bbr 1>/proc/sys/net/ipv4/tcp_congestion_control":           "1?",
	"echo x0>/proc/sys/net/ipv4/tcp_congestion_control":              "1=x0",
	"sysctl -w net.ipv4.tcp_congestion_control=bbr 1>/dev/null 2>&1": "1=bbr",

	"sysctl -p":                                  "conf:2=htcp",
	"/sbin/sysctl -q -p || :":                    "conf:2=htcp",
	"sysctl --load=/etc/own.conf":                "own:1=vegas",
	"sysctl -p /etc/own.conf":                    "own:1=vegas",
	"sysctl --system > /dev/null":                "drop:1=yeah conf:2=htcp",
	"sysctl -p /etc/nosuch.conf":                 "1?",
	"if a; then\nsysctl -p\nfi":                  "2? htcp",
	"sysctl -qp /etc/own.conf":                   "own:1=vegas",
	"sysctl -f /etc/own.conf":                    "own:1=vegas",
	"sysctl -qef":                                "conf:2=htcp",
	"sysctl -p/etc/own.conf":                     "own:1=vegas",
	"sysctl -p /etc/own.conf -q":                 "own:1=vegas",
	"sysctl -p /etc/own.conf /etc/sysctl.conf":   "own:1=vegas conf:2=htcp",
	"sysctl --load /etc/own.conf":                "own:1=vegas",
	"sysctl --quiet --load=/etc/own.conf":        "own:1=vegas",
	"sysctl -w -p /etc/own.conf >/dev/null 2>&1": "own:1=vegas",

	// a "p" takes the rest of its word for a file
	"sysctl -pq":         "1?",
	"sysctl -p own.conf": "1?",
	"sysctl -p net.ipv4.tcp_congestion_control=bbr": "1?",
	"sysctl -p $CONF":                 "1?",
	"sysctl -p /etc/sysctl.d/*.conf":  "1?",
	"cat /etc/own.conf | sysctl -p -": "1?",
	"sysctl -p -":                     "1?",
	"sysctl --lo=/etc/own.conf":       "1?",
	"sysctl --sys":                    "1?",
	"sysctl --system -r tcp":          "1?",
	"sysctl --dry-run --system":       "1?",
	"sudo sysctl -p":                  "1?",
	"a && sysctl -qp":                 "1?",
	"if a; then sysctl -p; fi":        "1?",
	"sysctl -p > /var/log/x":          "1?",
	"sysctl -w $LINE":                 "1?",
	"sysctl -w net.ipv4.$K=bbr":       "1?",

	"sysctl -w net.core.rmem_max=$MEM":                         "",
	"sysctl -n net.core.rmem_max > $F":                         "",
	"sysctl -a | grep -f /x -p":                                "",
	"sysctl -p\nsysctl -w net.ipv4.tcp_congestion_control=bbr": "conf:2=htcp 2=bbr",
}

// TestScriptSets: what is plain in a script is read, and of the rest that names the
// setting is reported as uncertain.
func TestScriptSets(t *testing.T) {
	for script, want := range scripts {
		f := &Facts{Files: Files{{Path: "/etc/rc.local", Text: script, Exec: true},
			{Path: SysctlConf, Text: "\nnet.ipv4.tcp_congestion_control = htcp\n"},
			{Path: "/etc/own.conf", Text: "net.ipv4.tcp_congestion_control=vegas"},
			{Path: "/etc/sysctl.d/drop.conf", Text: "net.ipv4.tcp_congestion_control=yeah"}}}
		var got []string
		for _, s := range f.scriptSets(f.Files[0], KeyCong) {
			name := map[string]string{SysctlConf: "conf:", "/etc/own.conf": "own:", "/etc/sysctl.d/drop.conf": "drop:"}[s.File]
			if s.Odd {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s%d? %s", name, s.Line, s.If)))
			} else {
				got = append(got, fmt.Sprintf("%s%d=%s", name, s.Line, s.Value))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}

// FuzzScriptSets: any text is read to its end, only lines that it has are named, and a value has
// no byte that is not in it, in that order. A shell puts one blank between words and drops quotes.
func FuzzScriptSets(f *testing.F) {
	f.Add("echo bbr > /proc/sys/net/ipv4/tcp_congestion_control; if x; then sysctl -w 'a=b'")
	f.Add("||:")
	f.Add("echo 'b'b\t r >/proc/sys/net/ipv4/tcp_congestion_control")
	f.Add("echo \x96 > /proc/sys/net/ipv4/tcp_congestion_control") // not UTF-8
	f.Fuzz(func(t *testing.T, text string) {
		facts := &Facts{}
		for _, s := range facts.scriptSets(File{Path: "x", Text: text}, KeyCong) {
			if s.Line < 1 || s.Line > strings.Count(text, "\n")+1 || !s.Odd && !inOrder(s.Value, text) {
				t.Errorf("%+v", s)
			}
		}
	})
}

func inOrder(value, text string) bool {
	for _, b := range []byte(strings.ReplaceAll(value, " ", "")) {
		at := strings.IndexByte(text, b)
		if at < 0 {
			return false
		}
		text = text[at+1:]
	}
	return true
}

// TestWhoRunsScripts: a script counts only if the init runs it as it is there.
func TestWhoRunsScripts(t *testing.T) {
	set := "sysctl -w net.ipv4.tcp_congestion_control=bbr\n"
	text := func(text string) Files { return Files{{Path: RCLocal, Text: text, Exec: true}} }
	rc := func(exec bool) Files { return Files{{Path: RCLocal, Text: "#!/bin/sh\n" + set, Exec: exec}} }
	for _, c := range []struct {
		name   string
		system System
		files  Files
		want   string // value after a boot, or why it is unknown
		idle   string
	}{
		{"systemd", System{Init: "systemd", Script: RCLocal}, rc(true), "bbr", ""},
		{"systemd, not executable", System{Init: "systemd", Script: RCLocal}, rc(false), "cubic", "it is not executable"},
		{"systemd, no interpreter", System{Init: "systemd", Script: RCLocal}, text(set), "cubic", `it does not begin with "#!", so systemd cannot start it`},
		{"systemd, empty", System{Init: "systemd", Script: RCLocal}, text(""), "cubic", `it does not begin with "#!", so systemd cannot start it`},
		{"systemd, a byte order mark", System{Init: "systemd", Script: RCLocal}, text("\ufeff#!/bin/sh\n" + set), "cubic", `it does not begin with "#!", so systemd cannot start it`},
		{"systemd, a blank before", System{Init: "systemd", Script: RCLocal}, text("\n#!/bin/sh\n" + set), "cubic", `it does not begin with "#!", so systemd cannot start it`},
		{"systemd, a blank within", System{Init: "systemd", Script: RCLocal}, text("#! /bin/sh -e\n" + set), "bbr", ""},
		{"systemd, of Windows", System{Init: "systemd", Script: RCLocal}, text("#!/bin/sh\r\n" + set), "cubic", "its lines end in a carriage return, which becomes part of the interpreter's name"},
		{"systemd, no path", System{Init: "systemd", Script: RCLocal}, text("#!sh\n" + set), "cubic", "its first line has no path of an interpreter"},
		{"a value with a carriage return", System{Init: "systemd", Script: RCLocal}, text("#!/bin/sh\nsysctl -w net.ipv4.tcp_congestion_control=bbr\r\n"), "cubic", ""},
		{"systemd without the generator", System{Init: "systemd"}, rc(true), "cubic", "systemd does not run it"},
		{"systemd, busybox's sysctl", System{Init: "systemd", Script: RCLocal, Busybox: true}, text("#!/bin/sh\n" + set), "bbr", ""},
		{"systemd, a file of busybox's sysctl", System{Init: "systemd", Script: RCLocal, Busybox: true}, text("#!/bin/sh\nsysctl -p\n"),
			"/etc/rc.local:2 may set net.ipv4.tcp_congestion_control, but only running it would tell: sysctl -p", ""},
		{"odd", System{Init: "systemd", Script: RCLocal}, Files{{Path: RCLocal, Exec: true, Text: "#!/bin/sh\nif true; then " + set + "fi"}},
			"/etc/rc.local:2 may set net.ipv4.tcp_congestion_control, but only running it would tell: then sysctl -w net.ipv4.tcp_congestion_control=bbr", ""},
		{"odd, then plain", System{Init: "systemd", Script: RCLocal}, Files{{Path: RCLocal, Exec: true, Text: "#!/bin/sh\nx && " + set + set}}, "bbr", ""},
		{"perhaps, and the same", System{Init: "systemd", Script: RCLocal}, text("#!/bin/sh\n" + set + "x || exit\n" + set), "bbr", ""},
		{"perhaps, and another", System{Init: "systemd", Script: RCLocal}, Files{{Path: RCLocal, Exec: true, Text: "#!/bin/sh\nx || exit\n" + set}},
			"/etc/rc.local:3 may set net.ipv4.tcp_congestion_control, but only running it would tell: sysctl -w net.ipv4.tcp_congestion_control=bbr (line 2 may end the script)", ""},
		{"may not be read", System{Init: "systemd", Script: RCLocal}, Files{{Path: RCLocal, Exec: true, Why: "not permitted"}}, "/etc/rc.local: not permitted", ""},
	} {
		f := &Facts{System: c.system, Files: c.files}
		f.Kernel.Config = Know(map[string]string{"DEFAULT_TCP_CONG": "cubic"})
		b := f.AfterBoot(KeyCong)
		if got := b.Value.Value + b.Why; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		_, idle := f.scripts()
		if got := strings.Join(reasons(idle), ""); got != c.idle {
			t.Errorf("%s: idle %q, want %q", c.name, got, c.idle)
		}
	}
}

// TestUnrunNamesTheSameLine: of two settings in a script that no boot runs, a report names the
// congestion control, each time.
func TestUnrunNamesTheSameLine(t *testing.T) {
	f := &Facts{System: System{Init: "systemd"}, Files: Files{{Path: RCLocal, Exec: true,
		Text: "sysctl -w net.core.default_qdisc=fq\nsysctl -w net.ipv4.tcp_congestion_control=bbr\n"}}}
	for range 50 {
		found, _ := f.unrun()
		if want := "no boot runs /etc/rc.local:2 (tcp_congestion_control=bbr): systemd does not run it"; found.Fact != want {
			t.Fatalf("%q, want %q", found.Fact, want)
		}
	}
}

func reasons(idle []idleScript) (list []string) {
	for _, s := range idle {
		list = append(list, s.why)
	}
	return list
}

func TestBeforeEnd(t *testing.T) {
	for text, want := range map[string]string{
		"a\nexit 0\n":                           "a\n",
		"a\nexit\n":                             "a\n",
		"a\nexit; # done\n\n# x":                "a\n",
		"exec >/log 2>&1\na\n":                  "exec >/log 2>&1\na\n",
		"exec 2>/log\na\n":                      "exec 2>/log\na\n",
		"a\nexec /bin/b\n":                      "a\n",
		"a\nif a; then\n\texit 1\nfi\nb\n":      "a\n",
		"a\n[ -x /b ] ||\n exit 0\nc\nexit 0\n": "a\n",
		"a\nb \\\n c || exit 1\nd\n":            "a\n",
		"#!/bin/sh -e\n# for you\nexit 0\n":     "#!/bin/sh -e\n# for you\n",
		"if a; then\n b\nfi; exit 0\n":          "",
		"a\nb; exit\n":                          "a\n",
		"a &&\n b; exit\n":                      "",
		"x '\nexit\n'\nb\n":                     "x '\nexit\n'\nb\n",
		"a\nf() {\n exit 1\n}\nb\n":             "a\n",
		"a\nexit 0\n# or\nexit 1\n":             "a\n",
		"exit 0":                                "",
		"exited\n":                              "exited\n",
		"":                                      "",
	} {
		if head, tail := BeforeEnd(text); head != want || head+tail != text {
			t.Errorf("%q: %q and %q", text, head, tail)
		}
	}
}

// TestForeign: of another init than systemd nothing is said to survive a boot, or not to, whatever files there are.
func TestForeign(t *testing.T) {
	for _, init := range []string{"openrc", "sysvinit", "busybox", "procd", "runit", "dinit"} {
		why := OnlySystemd(init)
		f := hostOf(setsCong("/etc/sysctl.d/1.conf", "bbr"), setsCong(SysctlConf, "cubic"), setsCong("/etc/sysctl.d/2.conf", "bbr # x"), setsCong("/etc/sysctl.d/3", "bbr"),
			File{Path: "/etc/modules-load.d/1.conf", Text: "tcp_bbr\n"}, File{Path: RCLocal, Text: "sysctl -w net.ipv4.tcp_congestion_control=bbr\n"})
		f.System = System{Init: init, Applies: Unknown[bool](why), InitNetNS: Know(true)}
		f.Modules = map[string]Module{"tcp_bbr": {State: Know(ModuleLoaded)}}
		var unknown []string
		for _, x := range Check(f) {
			if strings.Contains(x.Fact, why) && x.Verdict == Unclear && strings.Contains(x.Fix, init) {
				unknown = append(unknown, x.ID)
			}
		}
		if got := strings.Join(unknown, " "); got != "bbr-autoload boot-cong boot-qdisc sysctl-overrides sysctl-syntax sysctl-unread sysctl-applier" {
			t.Errorf("%s: unknown is %s", init, got)
		}
	}
}
