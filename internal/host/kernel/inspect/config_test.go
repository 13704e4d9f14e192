package inspect

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/host/kconfig"
)

const release = "6.1.0-test"

// files of a host, by path; one that says "!" may not be read.
type files map[string]string

func (f files) Read(path string) (string, error) {
	text, ok := f[path]
	switch {
	case !ok:
		return "", &fs.PathError{Op: "open", Path: path, Err: unix.ENOENT}
	case text == "!":
		return "", &fs.PathError{Op: "open", Path: path, Err: unix.EACCES}
	}
	return text, nil
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	return b.String()
}

// said is what was found, a line for each place that says anything.
func said(e *kconfig.Evidence, err error) string {
	var b strings.Builder
	if e.Config != nil {
		fmt.Fprintf(&b, "BBR=%s ", e.Config.Get("TCP_CONG_BBR"))
	}
	if e.Modules != nil {
		fmt.Fprintf(&b, "built in %d files %d ", len(e.Modules.Builtin), len(e.Modules.Files))
	}
	for _, s := range e.Sources {
		if s.Used {
			fmt.Fprintf(&b, "by %s ", s.Path)
		} else if s.Note != fs.ErrNotExist.Error() {
			fmt.Fprintf(&b, "not %s: %s ", s.Path, s.Note)
		}
	}
	if err != nil {
		b.WriteString(err.Error())
	}
	return strings.TrimSpace(b.String())
}

// TestConfigOf finds what there is at each place where distributions leave it.
func TestConfigOf(t *testing.T) {
	const lib = "/lib/modules/" + release
	for name, c := range map[string]struct {
		host files
		want string
	}{
		"nothing":         {files{}, ""},
		"of its own":      {files{"/proc/config.gz": packed("CONFIG_TCP_CONG_BBR=y\n")}, "BBR=y by /proc/config.gz"},
		"Debian's":        {files{"/boot/config-" + release: "CONFIG_TCP_CONG_BBR=m\n"}, "BBR=m by /boot/config-6.1.0-test"},
		"Fedora's":        {files{lib + "/config": "# CONFIG_TCP_CONG_BBR is not set\n"}, "BBR=n by /lib/modules/6.1.0-test/config"},
		"a build tree's":  {files{lib + "/build/.config": "CONFIG_TCP_CONG_BBR=y\n"}, "BBR=y by /lib/modules/6.1.0-test/build/.config"},
		"another release": {files{"/boot/config-6.1.0-other": "CONFIG_TCP_CONG_BBR=y\n"}, ""},
		"two":             {files{"/proc/config.gz": packed("CONFIG_TCP_CONG_BBR=y\n"), "/boot/config-" + release: "CONFIG_TCP_CONG_BBR=m\n"}, "BBR=y by /proc/config.gz not /boot/config-6.1.0-test: a better one was found"},
		"not for us":      {files{"/boot/config-" + release: "!", lib + "/config": "CONFIG_TCP_CONG_BBR=m\n"}, "BBR=m not /boot/config-6.1.0-test: permission denied by /lib/modules/6.1.0-test/config"},
		"cut off":         {files{"/proc/config.gz": packed("CONFIG_TCP_CONG_BBR=y\n")[:20]}, "not /proc/config.gz: unpack: unexpected EOF"},
		"no configuration": {files{"/boot/config-" + release: "hello\n"},
			"not /boot/config-6.1.0-test: parse configuration: line 1: \"hello\": neither CONFIG_SYMBOL=value, nor a comment"},
		"lists of modules": {files{lib + "/modules.builtin": "kernel/net/sched/sch_fq.ko\n", lib + "/modules.dep": "kernel/net/ipv4/tcp_bbr.ko.xz:\n"},
			"built in 1 files 1 by /lib/modules/6.1.0-test/modules.builtin by /lib/modules/6.1.0-test/modules.dep"},
		"an empty list": {files{lib + "/modules.dep": ""}, "built in 0 files 0 by /lib/modules/6.1.0-test/modules.dep"},
		"no list": {files{lib + "/modules.dep": "nonsense\n"},
			"by /lib/modules/6.1.0-test/modules.dep read modules of 6.1.0-test: parse modules.dep: line 1: \"nonsense\": not the path of a module, kernel/.../name.ko"},
	} {
		e, err := configOf(c.host.Read, release)
		if got := said(e, err); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestConfigFile reads files of a real disk, packed and plain, and says what is wrong with others.
func TestConfigFile(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"plain":  {"# Linux/x86 6.1.5 Kernel Configuration\nCONFIG_TCP_CONG_BBR=y\n", "BBR=y by plain"},
		"packed": {packed("CONFIG_TCP_CONG_BBR=m\n"), "BBR=m by packed"},
		"empty":  {"", "none of its 0 lines sets a symbol"},
		"huge":   {packed(strings.Repeat("#", maxText+1)), "more than 8388608 bytes"},
	} {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := ConfigFile(at)
		if e == nil {
			e = &kconfig.Evidence{}
		}
		if got := strings.ReplaceAll(said(e, err), dir+"/", ""); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if _, err := ConfigFile(dir + "/nosuch"); err == nil || err.Error() != "read configuration "+dir+"/nosuch: no such file or directory" {
		t.Error(err)
	}
}

// TestPartialFile: what a configuration without its defaults leaves out is unknown, and what it says or implies is not.
func TestPartialFile(t *testing.T) {
	features, err := kconfig.Features([]string{"bbr", "inet-diag", "fq", "ingress"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const head = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/arm64 6.1.57 Kernel Configuration\n#\n"
	for name, c := range map[string]struct{ text, want string }{
		"gki_defconfig": {"CONFIG_AUDIT=y\nCONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_BBR=y\n# CONFIG_NET_SCH_FQ is not set\n", "bbr ok, fq missing, inet-diag unknown, ingress unknown"},
		"fragment":      {"CONFIG_INET_TCP_DIAG=m\n", "bbr unknown, fq unknown, inet-diag ok, ingress unknown"},
		"a whole one":   {head + "CONFIG_TCP_CONG_BBR=y\n", "bbr ok, fq missing, inet-diag missing, ingress missing"},
		"of 2.6":        {"#\n# Automatically generated make config: don't edit\n# Linux kernel version: 2.6.32\n#\nCONFIG_NET=y\n", "bbr missing, fq missing, inet-diag missing, ingress missing"},
	} {
		at := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(at, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := ConfigFile(at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range kconfig.Check(e, features).Features {
			got = append(got, f.Feature+" "+f.Verdict)
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), c.want)
		}
		fragment, err := kconfig.Parse([]byte("CONFIG_NET_CLS_U32=m\n"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: kconfig.Dropped, false: kconfig.Unknown}[e.Config.Whole]
		if d := kconfig.Compare(fragment, e.Config, e.Release)[0]; d.Verdict != want {
			t.Errorf("%s: a symbol left out is %s, want %s", name, d.Verdict, want)
		}
	}
}
