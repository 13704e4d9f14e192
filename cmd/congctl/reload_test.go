package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/policy"
)

// TestReloadOfLists: a reload compares the lists' files with what they held when they
// were adopted, not with what they hold by now, and says what came and went.
func TestReloadOfLists(t *testing.T) {
	dir := t.TempDir()
	conf, file := filepath.Join(dir, "c.yml"), filepath.Join(dir, "always")
	write := func(path, text string) { check(t, os.WriteFile(path, []byte(text), 0o600)) }
	treat := func(text string) { write(conf, "pop: edge1\nstate_dir: "+dir+"\ntreatment: {"+text+"}\n") }
	treat("always: [203.0.113.0/24 radio], always_file: " + file)
	write(file, "198.51.100.0/24 satellite\n")
	u := reloadable(t, conf)
	for _, step := range []struct {
		name, lists, file, want string
		always                  []string
	}{
		{"moved into the file", "always_file: " + file, "198.51.100.0/24 satellite\n203.0.113.0/24 radio\n",
			"treatment.always is [] (was [203.0.113.0/24 radio])", []string{"198.51.100.0/24", "203.0.113.0/24"}},
		{"only the file changed", "always_file: " + file, "198.51.100.0/24 ship\n192.0.2.0/24 radio\n2001:db8::/56 radio\n",
			"by SIGHUP; treatment.always with its file: 2 more, 1 fewer, 1 with another reason", []string{"198.51.100.0/24", "192.0.2.0/24", "2001:db8::/56"}},
		{"a fault", "always_file: " + file, "x\n", "", []string{"198.51.100.0/24", "192.0.2.0/24", "2001:db8::/56"}},
		{"file and key deleted", "never: [192.0.2.0/24]", "",
			"treatment.always with its file: 0 more, 3 fewer, 0 with another reason; treatment.never with its file: 1 more, 0 fewer, 0 with another reason", nil},
		{"nothing", "never: [192.0.2.0/24]", "", "by SIGHUP; no key changed", nil},
	} {
		treat(step.lists)
		write(file, step.file)
		if step.file == "" {
			check(t, os.Remove(file))
		}
		err := u.reload(t.Context())
		if (err == nil) != (step.want != "") {
			t.Errorf("%s: %v", step.name, err)
		}
		events, err2 := u.store.Events(t.Context(), 0, 0)
		check(t, err2)
		var texts []string
		for _, e := range events {
			texts = append(texts, e.Text)
		}
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, step.want) }) {
			t.Errorf("%s: no event %q in %q", step.name, step.want, texts)
		}
		var nets []netip.Prefix
		for _, s := range step.always {
			nets = append(nets, netip.MustParsePrefix(s))
		}
		if got := policy.Nets(u.rules.Always); !slices.Equal(got, nets) {
			t.Errorf("%s: always %v in force, want %v", step.name, got, nets)
		}
	}
}

// TestReloadOfTheSelection: one line turns to selection by level without a cap, and its absence back to the defaults.
func TestReloadOfTheSelection(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "c.yml")
	text := "pop: edge1\nstate_dir: " + dir + "\n"
	check(t, os.WriteFile(conf, []byte(text), 0o600))
	u := reloadable(t, conf)
	for _, step := range []struct{ line, want string }{
		{"policy: {select: slowest-fifth}\n", "by SIGHUP; experiment.control_every is 8 (was 16); policy.select is slowest-fifth (was benefit); policy.cap is false (was true)"},
		{"", "by SIGHUP; experiment.control_every is 16 (was 8); policy.select is benefit (was slowest-fifth); policy.cap is true (was false)"},
	} {
		check(t, os.WriteFile(conf, []byte(text+step.line), 0o600))
		check(t, u.reload(t.Context()))
		events, err := u.store.Events(t.Context(), 0, 1)
		check(t, err)
		if len(events) != 1 || events[0].Text != step.want {
			t.Errorf("%q: %+v, want %q", step.line, events, step.want)
		}
	}
}

// reloadable is a loop that only stores and decides, with nothing of the kernel open.
func reloadable(t *testing.T, conf string) *up {
	t.Helper()
	g := &global{configPath: conf}
	cfg, err := g.config()
	check(t, err)
	u := &up{edgeHost: edgeHost{g: g, cfg: cfg, log: slog.New(slog.DiscardHandler)}, held: cfg}
	u.owner = u
	u.rules, err = rulesOf(u.cfg)
	check(t, err)
	for _, step := range []func(context.Context) error{u.openStore, u.openController} {
		check(t, step(t.Context()))
	}
	t.Cleanup(func() { check(t, u.shut()) })
	u.agent = agent.New(agent.Options{}, agent.Deps{})
	return u
}

// TestReloadIsWholeOrNothing: what a reload cannot take changes nothing, stands as an alarm until
// a reload succeeds, and is no end of the lists.
func TestReloadIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	was := defaultConfig
	t.Cleanup(func() { defaultConfig = was })
	defaultConfig = filepath.Join(dir, "congctl.yml")
	list := filepath.Join(dir, "never")
	long := func(third, n int) (text string) {
		for i := range n {
			text += netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(third), byte(i >> 8), byte(i)}), 32).String() + "\n"
		}
		return text
	}
	good := "pop: edge1\nstate_dir: " + dir + "\ntreatment: {never_file: " + list + "}\n"
	for _, file := range []struct{ name, text string }{{defaultConfig, good}, {list, long(0, 4000)}} {
		check(t, os.WriteFile(file.name, []byte(file.text), 0o600))
	}
	u := reloadable(t, "")
	for _, step := range []struct {
		name  string
		do    func() error
		fault string
		first string // network of the list in force
	}{
		{"the default file is gone", func() error { return os.Remove(defaultConfig) }, "no such file or directory", "10.0.0.0/32"},
		{"it is a FIFO", func() error { return unix.Mkfifo(defaultConfig, 0o600) }, "not a plain file: a FIFO", "10.0.0.0/32"},
		{"it is back", func() error {
			return errors.Join(os.Remove(defaultConfig), os.WriteFile(defaultConfig, []byte(good), 0o600))
		}, "", "10.0.0.0/32"},
		{"another long list", func() error { return os.WriteFile(list, []byte(long(1, 4000)), 0o600) }, "", "10.1.0.0/32"},
		{"a list that is too long", func() error { return os.WriteFile(list, []byte(long(2, 4097)), 0o600) }, "4097 networks", "10.1.0.0/32"},
		{"no list", func() error { return os.Remove(list) }, "treatment.never_file", "10.1.0.0/32"},
		{"an endless one", func() error { return os.Symlink("/dev/zero", list) }, "not a plain file: a device", "10.1.0.0/32"},
		{"one of 64 MiB", func() error {
			return errors.Join(os.Remove(list), os.WriteFile(list, nil, 0o600), os.Truncate(list, 64<<20+1))
		}, "more than 64 MiB", "10.1.0.0/32"},
		{"a configuration of 4 MiB", func() error { return os.Truncate(defaultConfig, 4<<20+1) }, "more than 4 MiB", "10.1.0.0/32"},
	} {
		check(t, step.do())
		err := u.reload(t.Context())
		if (err == nil) != (step.fault == "") || err != nil && !strings.Contains(err.Error(), step.fault) {
			t.Errorf("%s: %v", step.name, err)
		}
		if n := u.rules.Guards.Never; len(n) != 4000 || n[0].Net.String() != step.first {
			t.Errorf("%s: %d networks in force, %v", step.name, len(n), n[:min(1, len(n))])
		}
		alarms := u.agent.Status().Alarms
		if (len(alarms) == 1) != (step.fault != "") || len(alarms) == 1 && !strings.Contains(alarms[0], step.fault) {
			t.Errorf("%s: alarms %q", step.name, alarms)
		}
	}
}
