package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wrongHost are invocations of the host's verbs that must change nothing: the words after
// congctl, in which DIR is a directory with the files of hostFiles, and the whole message.
var wrongHost = []struct{ words, says string }{
	{"host nosuch", "unknown command \"nosuch\" for \"congctl host\"\ntry: congctl host --help"},
	{"host chek", "unknown command \"chek\" for \"congctl host\"\ntry: congctl host check"},
	{"host check x", "host check: takes no argument, and got \"x\"\ntry: congctl host check --help"},
	{"host check --nosuch", "--nosuch: no such flag\ntry: congctl host check --help"},
	{"host check -o yaml", "--output \"yaml\": use table, json, jsonl"},
	{"host enable", "host enable \"\": name what to enable: bbr or cubic_lt\ntry: congctl host enable --help"},
	{"host enable cubic", "host enable \"cubic\": name what to enable: bbr or cubic_lt\ntry: congctl host enable --help"},
	{"host enable bbr cubic", "host enable \"bbr cubic\": name what to enable: bbr or cubic_lt\ntry: congctl host enable --help"},
	{"host enable bbr --at-boot", "host enable --at-boot: only for cubic_lt: files turn BBR on at boot\ntry: congctl host enable --help"},
	{"host enable cubic_lt --at-boot --dry-run", "host enable --at-boot: leave out --dry-run and --changes: it keeps no journal\ntry: congctl host enable --help"},
	{"host enable bbr --force", "--force: no such flag\ntry: congctl host enable --help"},
	{"host enable bbr --dry-run=maybe", "--dry-run \"maybe\": write true or false, or the flag alone for true\ntry: congctl host enable --help"},
	{"host enable bbr --changes", "--changes: write a value after it: directory of the journals of changes\ntry: congctl host enable --help"},
	{"host enable bbr --changes=", "--changes \"\": empty: name a file or a folder\ntry: congctl host enable --help"},
	{"host disable bbr", "host disable: takes no argument, and got \"bbr\"\ntry: congctl host disable --help"},
	{"host disable --dry-run", "--dry-run: no such flag\ntry: congctl host disable --help"},
	{"host kernel nosuch", "unknown command \"nosuch\" for \"congctl host kernel\"\ntry: congctl host kernel --help"},
	{"host kernel check", "name one kernel: --running for this host's, or --kconfig FILE"},
	{"host kernel check --running --kconfig DIR/config", "name one kernel: --running for this host's, or --kconfig FILE"},
	{"host kernel check --against DIR/config", "name one kernel: --running for this host's, or --kconfig FILE"},
	{"host kernel check --running --against DIR/config", "--against compares a --kconfig with a fragment: leave out --running and --for"},
	{"host kernel check --kconfig DIR/config --for bbr --against DIR/config", "--against compares a --kconfig with a fragment: leave out --running and --for"},
	{"host kernel check --running --for bbr,speed", "--for: feature \"speed\": use bbr, fq, tbf, netem, inet-diag, fq-codel, ingress, policer, cgroup-bpf, bbr-default, btf, or loop, lab or all for several"},
	{"host kernel check --kconfig DIR/nosuch", "read configuration DIR/nosuch: no such file or directory"},
	{"host kernel check --kconfig DIR", "read configuration DIR: not a plain file: a directory"},
	{"host kernel check --kconfig DIR/torn.host", "read configuration DIR/torn.host: parse configuration: line 1: \"-- /etc/x\": neither CONFIG_SYMBOL=value, nor a comment"},
	{"host kernel check --kconfig DIR/config --against DIR/nosuch", "read configuration DIR/nosuch: no such file or directory"},
	{"host kernel fragment", "--for: target \"\": use generic, debian, amazon-linux, yocto\ntry: congctl host kernel fragment --help"},
	{"host kernel fragment --for windows", "--for: target \"windows\": use generic, debian, amazon-linux, yocto\ntry: congctl host kernel fragment --help"},
	{"host kernel fragment --for generic --feature speed", "--feature: feature \"speed\": use bbr, fq, tbf, netem, inet-diag, fq-codel, ingress, policer, cgroup-bpf, bbr-default, btf, or loop, lab or all for several"},
	{"host kernel fragment --for yocto --write DIR", "--write DIR: has config already: name a new or empty folder"},
	{"host kernel fragment --for generic more", "host kernel fragment: takes no argument, and got \"more\"\ntry: congctl host kernel fragment --help"},
	{"lab verify-kernel", "lab verify-kernel: missing BZIMAGE\ntry: congctl lab verify-kernel --help"},
	{"lab verify-kernel a b", "lab verify-kernel: \"b\" is one argument too many\ntry: congctl lab verify-kernel --help"},
	{"lab verify-kernel DIR/config --seed 0", "--limit 30m0s, --seed 0: use a time, and 1 or more"},
	{"lab verify-kernel DIR/config --limit 0s", "--limit 0s, --seed 1: use a time, and 1 or more"},
	{"lab verify-kernel DIR/config --limit soon", "--limit \"soon\": write a time with its unit, as 90s, 10m or 2h\ntry: congctl lab verify-kernel --help"},
	{"lab verify-kernel DIR/nosuch", "find kernel: read kernel: open DIR/nosuch: no such file or directory"},
	{"lab verify-kernel DIR/config", "find kernel: read kernel DIR/config: not a bzImage: name arch/x86/boot/bzImage of a build, or /boot/vmlinuz-RELEASE"},
	{"lab verify-kernel DIR/config --modules DIR/nosuch", "find kernel: read kernel DIR/config: not a bzImage: name arch/x86/boot/bzImage of a build, or /boot/vmlinuz-RELEASE"},
}

var hostFiles = map[string]string{"torn.host": "-- /etc/x\n", "config": "CONFIG_TCP_CONG_BBR=m\n"}

// TestOnlyRootWrites: a unit of root starts no program that another user may change, or whose folder.
func TestOnlyRootWrites(t *testing.T) {
	system, err := filepath.EvalSymlinks("/bin/sh")
	check(t, err)
	own := filepath.Join(t.TempDir(), "congctl")
	check(t, errors.Join(os.WriteFile(own, nil, 0o600), os.Chmod(own, 0o777)))
	if err := onlyRootWrites(system); err != nil {
		t.Error(err)
	}
	for _, path := range []string{own, own + "-not-there"} {
		if err := onlyRootWrites(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestWrongHostInvocations: each has its message, exit code 2, and leaves all as it is.
func TestWrongHostInvocations(t *testing.T) {
	dir := t.TempDir()
	for name, text := range hostFiles {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	before := below(t, dir)
	settings, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	for _, w := range wrongHost {
		cmd := exec.Command("/proc/self/exe", strings.Fields(strings.ReplaceAll(w.words, "DIR", dir))...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), asEnv+"=program")
		out, _ := cmd.CombinedOutput()
		got := strings.ReplaceAll(strings.TrimSuffix(string(out), "\n"), dir, "DIR")
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || got != "congctl: "+w.says {
			t.Errorf("congctl %s: exit %d\n%s\nwant exit %d\ncongctl: %s", w.words, code, got, exitUsage, w.says)
		}
	}
	if after := below(t, dir); after != before {
		t.Errorf("files are\n%s\nwant\n%s", after, before)
	}
	if now, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control"); string(now) != string(settings) {
		t.Errorf("the default is %s, was %s", now, settings)
	}
}

// below lists what lies in a directory, with sizes.
func below(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		b.WriteString(path + " " + string(text))
		return err
	}))
	return b.String()
}
