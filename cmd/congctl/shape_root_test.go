package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/shape"
	"github.com/congctl/congctl/internal/shape/kernel/limit"
)

// shaped is a network namespace with a link "a", and a root directory for files.
type shaped struct {
	t    *testing.T
	ns   *netns.NS
	root string
	env  []string
}

func newShaped(t *testing.T) *shaped {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a network namespace; minimum kernel 5.3")
	}
	ns, err := netns.Anonymous()
	check(t, err)
	t.Cleanup(func() { ns.Close() })
	check(t, netns.Veth(ns, "a", ns, "b"))
	check(t, errors.Join(ns.Up("a"), ns.Up("b"), ns.Up("lo")))
	s := &shaped{t: t, ns: ns, root: t.TempDir()}
	s.file("/congctl.yml", "pop: ams1\nstate_dir: /var/lib/congctl\n")
	s.file("/run/systemd/system/.keep", "")
	return s
}

func (s *shaped) file(name, text string) {
	s.t.Helper()
	p := filepath.Join(s.root, name)
	check(s.t, os.MkdirAll(filepath.Dir(p), 0o755))
	check(s.t, os.WriteFile(p, []byte(text), 0o644))
}

// run runs the program in the namespace and returns its output and exit code.
func (s *shaped) run(args ...string) (out string, code int) {
	s.t.Helper()
	if len(args) > 1 && args[0] == "shape" && args[1] != "nosuch" {
		args = append(args, "--root", s.root)
	}
	cmd := exec.Command("/proc/self/exe", append(args, "-c", filepath.Join(s.root, "congctl.yml"))...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	cmd.Env = append(append(os.Environ(), asEnv+"=program", "SSH_CONNECTION="), s.env...)
	check(s.t, s.ns.Start(cmd))
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return b.String(), cmd.ProcessState.ExitCode()
}

func (s *shaped) must(args ...string) string {
	s.t.Helper()
	out, code := s.run(args...)
	if code != exitOK {
		s.t.Fatalf("congctl %s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// state is all that a limit may touch: qdiscs, offloads, and every file but journals.
func (s *shaped) state() string {
	s.t.Helper()
	var b strings.Builder
	check(s.t, s.ns.Do(func() error {
		names, err := limit.Names()
		for _, name := range names {
			for _, kind := range []change.Kind{change.Egress, change.Ingress, change.TSO, change.GSO} {
				v, e := limit.Places[kind].Read(name)
				err = errors.Join(err, e)
				fmt.Fprintf(&b, "%s %s %s\n", name, kind, v.Text)
			}
		}
		return err
	}))
	check(s.t, filepath.WalkDir(s.root, func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(p, s.root)
		if name == "/var" {
			return filepath.SkipDir
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v\n", name, info.Mode())
		if !d.IsDir() {
			text, err := os.ReadFile(p)
			fmt.Fprintf(&b, "%s", text)
			return err
		}
		return nil
	}))
	return b.String()
}

func (s *shaped) view() (v shape.View) {
	s.t.Helper()
	check(s.t, s.ns.Do(func() error {
		h, err := limit.NewHost(s.root, "/var/lib/congctl/changes")
		if err == nil {
			v, err = h.View("a")
		}
		return err
	}))
	return v
}

// Set, changed, shown and cleared: everything is as before, to the byte.
func TestShapeThereAndBack(t *testing.T) {
	s := newShaped(t)
	before := s.state()
	if out := s.must("shape", "set", "a", "1MB/s", "--burst", "200KiB", "--queue", "1MiB", "--persist", "--dry-run"); s.state() != before || !strings.Contains(out, "843.8 ms") {
		t.Errorf("a dry run:\n%s", out)
	}
	const reload = "sudo systemctl daemon-reload"
	if out := s.must("shape", "set", "a", "1MB/s", "--burst", "200KiB", "--queue", "1MiB", "--persist"); !strings.Contains(out, reload) {
		t.Errorf("no %q in\n%s", reload, out)
	}
	if v := s.view(); !v.Ours || v.Egress.RateBitPerS != 8e6 || v.Egress.BurstBytes != 200<<10 || v.Egress.WaitMs != 843.776 {
		t.Errorf("got %+v, %+v", v, v.Egress)
	}
	show := s.must("shape", "show", "a")
	for _, want := range []string{"8 Mbit/s = 1 MB/s", "843.8 ms", "BBR can take the line's rate"} {
		if !strings.Contains(show, want) {
			t.Errorf("no %q in\n%s", want, show)
		}
	}
	once := s.state()
	if out := s.must("shape", "set", "a", "1MB/s", "--burst", "200KiB", "--queue", "1MiB", "--persist"); s.state() != once || !strings.Contains(out, "nothing to write") {
		t.Errorf("again:\n%s", out)
	}
	s.must("shape", "set", "a", "16Mbit/s", "--persist")
	if v := s.view(); v.Egress.RateBitPerS != 16e6 {
		t.Errorf("got %+v", v.Egress)
	}
	out := s.must("shape", "clear", "a")
	if after := s.state(); after != before || !strings.Contains(out, reload) {
		t.Errorf("before\n%s\nafter\n%s\n%s", before, after, out)
	}
	if out, code := s.run("shape", "clear", "a"); code != exitNotFound {
		t.Errorf("cleared twice: %d\n%s", code, out)
	}
}

// What runs at boot sets the limit without a journal; clear takes the files away all the
// same, and the limit that the boot set.
func TestShapeAfterABoot(t *testing.T) {
	s := newShaped(t)
	before := s.state()
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	unit, err := os.ReadFile(filepath.Join(s.root, "/etc/systemd/system/congctl-shape-a.service"))
	check(t, err)
	_, line, _ := strings.Cut(string(unit), "ExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	limited := s.state()
	check(t, s.ns.Do(func() error { return limit.Places[change.Egress].Write("a", change.Text("")) })) // as the boot does
	s.must(strings.Fields(line)[1:]...)
	if s.state() != limited {
		t.Errorf("set\n%s\nat boot\n%s", limited, s.state())
	}
	s.must("shape", "clear", "a")
	if after := s.state(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// Over the caller's own connection a limit goes away by itself, unless it is confirmed;
// what keeps it after a boot is written only then.
func TestShapeOverOwnSession(t *testing.T) {
	s := newShaped(t)
	check(t, s.ns.AddAddr("a", netipPrefix(t, "192.0.2.1/24")))
	before := s.state()
	s.env = []string{"SSH_CONNECTION=192.0.2.2 51000 192.0.2.1 22"}
	out := s.must("shape", "set", "a", "8Mbit/s", "--persist", "--confirm-within", "1s")
	if !strings.Contains(out, "carries your SSH session") || !s.view().Ours {
		t.Errorf("got\n%s", out)
	}
	if out, code := s.run("shape", "set", "a", "4Mbit/s"); code != exitRefused || !strings.Contains(out, "is not confirmed") {
		t.Errorf("a second one: %d\n%s", code, out)
	}
	s.awaitState(before)
	eventually(t, "a limit once more, when what took the first away lets go of the journal", patience, func() bool {
		_, code := s.run("shape", "set", "a", "8Mbit/s", "--persist", "--confirm-within", "1h")
		return code == 0
	})
	s.must("shape", "confirm", "a")
	if _, err := os.Stat(filepath.Join(s.root, "/etc/systemd/system/congctl-shape-a.service")); err != nil || !s.view().Ours {
		t.Errorf("confirmed: %v, %+v", err, s.view())
	}
	if out, code := s.run("shape", "confirm", "a"); code != exitNotFound {
		t.Errorf("confirmed twice: %d\n%s", code, out)
	}
	s.must("shape", "clear", "a")
	if s.state() != before {
		t.Errorf("before\n%s\nafter\n%s", before, s.state())
	}
}

// An altname is its link: the session on that asks, and files and answers have its own name.
func TestShapeByAltname(t *testing.T) {
	const altname = "enx0123456789abcdefgh0"
	s := newShaped(t)
	check(t, s.ns.AddAddr("a", netipPrefix(t, "192.0.2.1/24")))
	check(t, s.ns.Do(func() error {
		return exec.Command("ip", "link", "property", "add", "dev", "a", "altname", altname).Run()
	}))
	before := s.state()
	s.env = []string{"SSH_CONNECTION=192.0.2.2 51000 192.0.2.1 22"}
	out := s.must("shape", "set", altname, "8Mbit/s", "--persist", "--confirm-within", "1h")
	if !strings.Contains(out, "carries your SSH session") || !strings.Contains(out, "congctl shape confirm a\n") {
		t.Errorf("got\n%s", out)
	}
	s.must("shape", "confirm", altname)
	unit, err := os.ReadFile(filepath.Join(s.root, "/etc/systemd/system/congctl-shape-a.service"))
	if err != nil || !strings.Contains(string(unit), "BindsTo=sys-subsystem-net-devices-a.device\n") || !strings.Contains(string(unit), " shape set a ") {
		t.Errorf("%v\n%s", err, unit)
	}
	s.must("shape", "set", "a", "16Mbit/s", "--no-confirm")
	if out := s.must("shape", "show", altname); !strings.Contains(out, "a        limited by congctl") || strings.Contains(out, "warning") {
		t.Errorf("got\n%s", out)
	}
	s.must("shape", "clear", altname)
	if s.state() != before {
		t.Errorf("before\n%s\nafter\n%s", before, s.state())
	}
}

// Where another init than systemd boots the host no limit is kept, also none that has to be
// confirmed first: not when it is too late to ask for another. One until the next boot is set.
func TestShapeAnotherInit(t *testing.T) {
	s := newShaped(t)
	check(t, os.RemoveAll(filepath.Join(s.root, "/run/systemd")))
	s.file("/run/openrc/softlevel", "default\n")
	s.file("/etc/runlevels/default/local", "")
	before := s.state()
	for _, more := range []string{"--no-confirm", "--confirm", "--dry-run"} {
		out, code := s.run("shape", "set", "a", "8Mbit/s", "--persist", more)
		contains(t, out, "this host's init is openrc", "boot files of systemd only", " shape set a 8Mbit/s ", " --at-boot")
		if code != exitFailed || s.state() != before {
			t.Errorf("%s: %d\n%s", more, code, out)
		}
	}
	contains(t, s.must("shape", "set", "a", "8Mbit/s"), "lasts until the next boot")
	s.must("shape", "clear", "a")
	if s.state() != before {
		t.Errorf("before\n%s\nafter\n%s", before, s.state())
	}
}

// While another congctl changes this host nothing is changed, and the message says so.
func TestShapeWhileAnotherChanges(t *testing.T) {
	s := newShaped(t)
	s.must("shape", "set", "a", "8mbit", "--persist", "--confirm", "--confirm-within", "1h")
	lock, err := instance.Acquire(filepath.Join(s.root, "/var/lib/congctl/changes"))
	check(t, err)
	defer lock.Release()
	before := s.state()
	for _, verb := range []string{"set b 8Mbit/s", "clear a", "confirm a"} {
		out, code := s.run(append([]string{"shape"}, strings.Fields(verb)...)...)
		if code != exitFailed || !strings.Contains(out, fmt.Sprintf("another congctl is using this state directory (pid %d)", os.Getpid())) ||
			!strings.Contains(out, "try: again in a moment") {
			t.Errorf("%s: %d\n%s", verb, code, out)
		}
	}
	if s.state() != before {
		t.Errorf("changed:\n%s\nbefore:\n%s", s.state(), before)
	}
}

// A confirmed limit stays though its files cannot be written, and the message says which
// set writes them.
func TestShapeConfirmWithoutFiles(t *testing.T) {
	s := newShaped(t)
	s.must("shape", "set", "a", "8mbit", "--persist", "--confirm", "--confirm-within", "1h")
	s.file("/etc/systemd/system", "not a directory\n")
	before := s.state()
	out, code := s.run("shape", "confirm", "a")
	if code != exitFailed || !strings.Contains(out, "try: congctl shape set a 8Mbit/s ... --persist, as before, with --no-confirm") {
		t.Errorf("confirm: %d\n%s", code, out)
	}
	if s.state() != before {
		t.Errorf("changed:\n%s\nbefore:\n%s", s.state(), before)
	}
}

// A limit on another link than the session's needs no confirmation.
func TestShapeOtherLink(t *testing.T) {
	s := newShaped(t)
	check(t, s.ns.AddAddr("b", netipPrefix(t, "192.0.2.1/24")))
	s.env = []string{"SSH_CONNECTION=192.0.2.2 51000 192.0.2.1 22"}
	var answer ShapeSet
	check(t, json.Unmarshal([]byte(s.must("shape", "set", "a", "8Mbit/s", "-o", "json")), &answer))
	if answer.ConfirmWithinS != 0 || !answer.Done || answer.RateBytesPerS != 1e6 {
		t.Errorf("got %+v", answer)
	}
}

// Somebody else's qdisc goes only with --replace, and comes back with its options.
func TestShapeForeign(t *testing.T) {
	s := newShaped(t)
	check(t, s.ns.Do(func() error {
		return exec.Command("tc", "qdisc", "add", "dev", "a", "root", "tbf", "rate", "4mbit", "burst", "5kb", "latency", "50ms").Run()
	}))
	before := s.state()
	if out, code := s.run("shape", "set", "a", "8Mbit/s"); code != exitRefused || !strings.Contains(out, "--replace") || s.state() != before {
		t.Errorf("%d\n%s", code, out)
	}
	s.must("shape", "set", "a", "8Mbit/s", "--replace")
	s.must("shape", "clear", "a")
	if s.state() != before {
		t.Errorf("before\n%s\nafter\n%s", before, s.state())
	}
}

// What somebody changed since is not overwritten, but by force.
func TestShapeChangedSince(t *testing.T) {
	s := newShaped(t)
	before := s.state()
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	check(t, s.ns.Do(func() error { return limit.Places[change.Egress].Write("a", change.Text("shaped 77777 3028 103028 -")) }))
	if out, code := s.run("shape", "clear", "a"); code != exitRefused || !strings.Contains(out, "--force") || s.view().Egress.RateBytesPerS != 77777 {
		t.Errorf("%d\n%s", code, out)
	}
	s.must("shape", "clear", "a", "--force")
	if s.state() != before {
		t.Errorf("before\n%s\nafter\n%s", before, s.state())
	}
}
