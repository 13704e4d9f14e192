package advise

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	set, faults := grammarProcps.parse("f", `# a comment
; another
net.core.default_qdisc = fq
-net/ipv4/conf/eth0.100/rp_filter=2
net.ipv4.conf.*.rp_filter = 1
-net.ipv4.conf.lo.rp_filter
net.ipv4.tcp_congestion_control = bbr # for good
net.ipv4.tcp_congestion_control = "bbr"
net.core.somaxconn
= 4
vm.swappiness =
`)
	var got []string
	for _, s := range set {
		got = append(got, s.at()+" "+s.Key+"="+s.Value)
	}
	want := []string{"f:3 net.core.default_qdisc=fq", "f:4 net.ipv4.conf.eth0/100.rp_filter=2", "f:5 net.ipv4.conf.*.rp_filter=1",
		"f:6 net.ipv4.conf.lo.rp_filter=", "f:7 net.ipv4.tcp_congestion_control=bbr # for good", `f:8 net.ipv4.tcp_congestion_control="bbr"`, "f:11 vm.swappiness="}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var lines []int
	for _, f := range faults {
		lines = append(lines, f.Line)
	}
	if len(lines) != 5 || lines[0] != 7 || lines[1] != 8 || lines[2] != 9 || lines[3] != 10 || lines[4] != 11 {
		t.Errorf("faults %+v", faults)
	}
}

// host returns facts whose only interest is in files.
func hostOf(files ...File) *Facts {
	f := &Facts{Files: files}
	f.System = System{Init: "systemd", Applies: Know(true), Script: RCLocal}
	f.Kernel.Config = Know(map[string]string{"DEFAULT_TCP_CONG": "cubic"})
	return f
}

// masked is a host on which nothing applies files of settings.
func masked(files ...File) *Facts {
	f := hostOf(files...)
	f.System.Applies = Know(false)
	return f
}

func setsCong(path, value string) File { return File{Path: path, Text: KeyCong + "=" + value + "\n"} }

func TestAfterBoot(t *testing.T) {
	conf := setsCong(SysctlConf, "vegas")
	link := File{Path: "/etc/sysctl.d/99-sysctl.conf", Link: "../sysctl.conf", Text: conf.Text}
	for name, c := range map[string]struct {
		facts *Facts
		want  string
	}{
		"nothing":                       {hostOf(), "cubic the kernel's own default"},
		"one file":                      {hostOf(setsCong("/usr/lib/sysctl.d/9.conf", "bbr")), "bbr /usr/lib/sysctl.d/9.conf:1"},
		"later name, weaker dir":        {hostOf(setsCong("/etc/sysctl.d/10.conf", "bbr"), setsCong("/lib/sysctl.d/20.conf", "reno")), "reno /lib/sysctl.d/20.conf:1"},
		"same name":                     {hostOf(setsCong("/lib/sysctl.d/20.conf", "reno"), setsCong("/run/sysctl.d/20.conf", "bbr")), "bbr /run/sysctl.d/20.conf:1"},
		"masked":                        {hostOf(setsCong("/lib/sysctl.d/20.conf", "reno"), File{Path: "/etc/sysctl.d/20.conf", Link: "/dev/null"}), "cubic the kernel's own default"},
		"sysctl.conf, systemd":          {hostOf(conf), "cubic the kernel's own default"},
		"sysctl.conf, systemd and link": {hostOf(conf, link), "vegas /etc/sysctl.d/99-sysctl.conf:1"},
		"no file is applied":            {masked(conf, setsCong("/etc/sysctl.d/1.conf", "bbr")), "cubic the kernel's own default"},
		"refused, systemd":              {hostOf(setsCong("/etc/sysctl.d/1.conf", "bbr"), setsCong("/etc/sysctl.d/2.conf", "bbr # x")), "cubic the kernel's own default"},
		"refused, procps": {hostOf(File{Path: RCLocal, Exec: true, Text: "#!/bin/sh\nsysctl --system\n"}, setsCong("/etc/sysctl.d/1.conf", "bbr"), setsCong("/etc/sysctl.d/2.conf", "bbr # x")),
			"bbr /etc/sysctl.d/1.conf:1"},
		"pattern": {hostOf(setsCong("/etc/sysctl.d/1.conf", "bbr"),
			File{Path: "/etc/sysctl.d/2.conf", Text: "net.ipv4.tcp_congestion_*=reno\n"}), "bbr /etc/sysctl.d/1.conf:1"},
		"rc.local":      {hostOf(conf, File{Path: RCLocal, Exec: true, Text: "#!/bin/sh\nsysctl -w net.ipv4.tcp_congestion_control=bbr\n"}), "bbr /etc/rc.local:2"},
		"rc.local echo": {masked(File{Path: RCLocal, Exec: true, Text: "#!/bin/sh\necho bbr >/proc/sys/net/ipv4/tcp_congestion_control\n"}), "bbr /etc/rc.local:2"},
	} {
		b := c.facts.AfterBoot(KeyCong)
		if got := b.Value.Value + " " + b.Value.From; !b.OK() || got != c.want {
			t.Errorf("%s: %q (%s), want %q", name, got, b.Why, c.want)
		}
	}
	hidden := hostOf(File{Path: "/etc/sysctl.d/1.conf", Why: "not permitted"})
	if b := hidden.AfterBoot(KeyCong); b.OK() {
		t.Errorf("a file that may not be read: %+v", b)
	}
}

// TestLaterNameWins: whatever files there are, one with the last name decides.
func TestLaterNameWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files []File
		for i := range rapid.IntRange(0, 8).Draw(t, "files") {
			dir := rapid.SampledFrom(SysctlDirs).Draw(t, "dir")
			name := rapid.StringMatching(`[0-9a-y]{1,4}`).Draw(t, "name")
			files = append(files, setsCong(dir+"/"+name+".conf", string(rune('a'+i))))
		}
		files = append(files, setsCong(rapid.SampledFrom(SysctlDirs).Draw(t, "last")+"/zz.conf", "bbr"))
		f := hostOf(files...)
		if b := f.AfterBoot(KeyCong); b.Value.Value != "bbr" {
			t.Fatalf("%+v", b)
		}
		order, masked := f.Files.DropIns(SysctlDirs, ".conf")
		if len(order)+len(masked) != len(files) {
			t.Fatalf("%d files, %d in order, %d masked", len(files), len(order), len(masked))
		}
	})
}

// FuzzParseSysctl: any text gives settings whose lines and keys are in it, whichever program reads it.
func FuzzParseSysctl(f *testing.F) {
	f.Add("net.core.default_qdisc = fq # x\n-a/b.c=1\n=\n*\n")
	f.Add("\ufeff# a \\\n-\x00=\r\n/proc/sys/a..b/=\u00a0\\")
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range []grammar{grammarSystemd, grammarProcps} {
			set, faults := g.parse("f", text)
			lines := strings.Count(text, "\n") + 1
			for _, s := range set {
				if s.Line < 1 || s.Line > lines || !strings.Contains(text, s.Value) {
					t.Errorf("%+v of %q", s, text)
				}
				s.sets(KeyCong)
			}
			for _, fault := range faults {
				if fault.Why == "" || fault.Line > lines {
					t.Errorf("%+v of %q", fault, text)
				}
			}
		}
	})
}

// FuzzTexts: no file, however broken, may end a check.
func FuzzTexts(f *testing.F) {
	f.Add("[QDisc]\nParent=root\n[FairQueueing]\ninstall tcp_bbr /bin/true\nsysctl -w net.core.default_qdisc=fq\necho\n[")
	f.Fuzz(func(t *testing.T, text string) {
		facts := hostOf()
		for _, p := range []string{"/etc/sysctl.d/1.conf", SysctlConf, "/etc/rc.local", "/etc/modprobe.d/1.conf", "/etc/systemd/network/1.network",
			"/etc/NetworkManager/system-connections/1.nmconnection", "/etc/modules-load.d/x", "/etc/systemd/network/1.network.d/x.conf", TunedMain, "/etc/tuned/active_profile", "/etc/tuned/x/tuned.conf"} {
			facts.Files = append(facts.Files, File{Path: p, Text: text})
		}
		facts.Kernel.Release, facts.Kernel.Cmdline = text, text
		facts.Writers = Files{{Path: "/etc/cron.d/x", Text: text}}
		if n := len(Check(facts)); n != len(checks) {
			t.Errorf("%d findings", n)
		}
	})
}
