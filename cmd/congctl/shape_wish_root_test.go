package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
)

func (s *shaped) tc(line string) {
	s.t.Helper()
	cmd := exec.Command("tc", strings.Fields(line)...)
	cmd.Stderr = os.Stderr
	check(s.t, s.ns.Start(cmd))
	if err := cmd.Wait(); err != nil {
		s.t.Fatalf("tc %s: %v", line, err)
	}
}

// contains fails unless a text has all of the words.
func contains(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, w := range all {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

const unitOfA = "/etc/systemd/system/congctl-shape-a.service"

// A set is the whole request: without --persist an earlier limit is kept no longer, and a
// clear has all as before the first.
func TestShapePlainSetKeepsNothing(t *testing.T) {
	s := newShaped(t)
	before := s.state()
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	if out := s.must("shape", "set", "a", "8Mbit/s", "--dry-run"); !s.has(unitOfA) {
		t.Errorf("a dry run:\n%s", out)
	}
	out := s.must("shape", "set", "a", "16Mbit/s")
	contains(t, out, "kept an earlier limit after a boot; it no longer does", "wrote file "+unitOfA+": absent")
	if s.has(unitOfA) {
		t.Errorf("%s is there\n%s", unitOfA, out)
	}
	s.must("shape", "clear", "a")
	if s.state() != before {
		t.Errorf("before\n%s\nafter\n%s", before, s.state())
	}
}

// Who keeps the limit changes with the limit, and with the host.
func TestShapeAnotherKeeper(t *testing.T) {
	const dropIn = "/etc/systemd/network/a.network.d/90-congctl-shape.conf"
	s := newShaped(t)
	s.file("/usr/lib/systemd/libsystemd-shared-252.so", "")
	s.file("/etc/systemd/network/a.network", "[Match]\nName=a\n")
	before := s.state()
	check(t, s.ns.Do(func() error {
		l, err := netlink.LinkByName("a")
		if err == nil {
			s.file(fmt.Sprintf("/run/systemd/netif/links/%d", l.Attrs().Index), "NETWORK_FILE=/etc/systemd/network/a.network\n")
		}
		return err
	}))
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	if !s.has(dropIn) || s.has(unitOfA) {
		t.Errorf("by networkd:\n%s", s.state())
	}
	check(t, os.RemoveAll(filepath.Join(s.root, "/run/systemd/netif"))) // networkd was turned off
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	if s.has(dropIn) || !s.has(unitOfA) {
		t.Errorf("by a unit:\n%s", s.state())
	}
	s.must("shape", "clear", "a")
	if s.state() != before {
		t.Errorf("before\n%s\nafter\n%s", before, s.state())
	}
}

func (s *shaped) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.root, name))
	return err == nil
}

// Where the journals have gone clear takes away what it can tell for ours.
func TestShapeClearWithoutJournal(t *testing.T) {
	s := newShaped(t)
	check(t, os.MkdirAll(filepath.Join(s.root, "/etc/systemd/system"), 0o755))
	before := s.state()
	for _, also := range []string{"", "tc"} {
		s.must("shape", "set", "a", "8Mbit/s", "--persist")
		check(t, os.RemoveAll(filepath.Join(s.root, "/var")))
		if also == "tc" {
			s.tc("qdisc del dev a root") // only the files are left
		}
		if out := s.must("shape", "clear", "a"); s.state() != before {
			t.Errorf("before\n%s\nafter\n%s\n%s", before, s.state(), out)
		}
		if out, code := s.run("shape", "clear", "a"); code != exitNotFound {
			t.Errorf("cleared twice: %d\n%s", code, out)
		}
	}
}

// A clear leaves nothing to be confirmed.
func TestShapeClearEndsTheWait(t *testing.T) {
	s := newShaped(t)
	s.must("shape", "set", "a", "8Mbit/s", "--confirm", "--confirm-within", "1h")
	s.must("shape", "clear", "a")
	if out, code := s.run("shape", "confirm", "a"); code != exitNotFound {
		t.Errorf("confirmed what was cleared: %d\n%s", code, out)
	}
	s.must("shape", "set", "a", "8Mbit/s")
}

// Files of the request are written with the confirmation, those of an earlier limit go with it.
func TestShapeConfirmWritesFiles(t *testing.T) {
	s := newShaped(t)
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	s.must("shape", "set", "a", "4Mbit/s", "--confirm", "--confirm-within", "1h")
	if !s.has(unitOfA) {
		t.Error("a reboot would not bring the earlier limit back")
	}
	contains(t, s.must("shape", "confirm", "a"), "wrote file "+unitOfA+": absent")
	if s.has(unitOfA) {
		t.Error("the earlier limit is still kept")
	}
	// What changes no link waits for no confirmation.
	contains(t, s.must("shape", "set", "a", "4Mbit/s", "--persist", "--confirm"), "kept after a boot by systemd")
	if !s.has(unitOfA) {
		t.Error("not kept")
	}
}

// What clear could not bring back is not put aside, whatever is asked.
func TestShapeRefusesWhatItLoses(t *testing.T) {
	s := newShaped(t)
	s.tc("qdisc add dev a root handle 1: htb default 1")
	s.tc("class add dev a parent 1: classid 1:1 htb rate 1mbit")
	before := s.state()
	out, code := s.run("shape", "set", "a", "8Mbit/s", "--replace")
	contains(t, out, "htb 1:", "is not restorable by clear", "tc qdisc del dev a root")
	if code != exitRefused || s.state() != before {
		t.Errorf("exit %d", code)
	}
}

// show tells what somebody changed since, and what to do about it.
func TestShapeShowTellsChanges(t *testing.T) {
	s := newShaped(t)
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	if v := s.view(); len(v.Warnings) > 0 {
		t.Errorf("warns of %q", v.Warnings)
	}
	s.tc("qdisc replace dev a root handle 7: pfifo limit 9")
	s.file(unitOfA, "[Unit]\n")
	out := s.must("shape", "show", "a")
	contains(t, out, "root qdisc of a is pfifo 7:, but congctl set tbf rate 8Mbit/s", "clear a --force", "file "+unitOfA+" is")
	if out, code := s.run("shape", "clear", "a"); code != exitRefused {
		t.Errorf("exit %d\n%s", code, out)
	}
	contains(t, s.must("shape", "show", "a"), "is unfinished", "--force")
	s.must("shape", "clear", "a", "--force")
	if v := s.view(); len(v.Warnings) > 0 {
		t.Errorf("warns of %q", v.Warnings)
	}
	s.must("shape", "set", "a", "8Mbit/s")
	s.tc("qdisc del dev a root")
	contains(t, s.must("shape", "show", "a"), "root qdisc of a is noqueue", "congctl shape clear a removes")
	s.must("shape", "clear", "a")
}

// One step that cannot be taken back hides none that was.
func TestShapeClearTellsWhatItDid(t *testing.T) {
	s := newShaped(t)
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	unit := filepath.Join(s.root, unitOfA)
	s.file("/etc/other", "")
	check(t, errors.Join(os.Rename(unit, unit+".away"), os.Symlink("/etc/other", unit)))
	out, code := s.run("shape", "clear", "a")
	contains(t, out, "as before: root qdisc of a", "not restored: file "+unitOfA)
	if code != exitFailed || strings.Contains(out, "no longer limited") {
		t.Errorf("exit %d\n%s", code, out)
	}
	check(t, os.Rename(unit+".away", unit))
	contains(t, s.must("shape", "clear", "a"), "no longer limited", "as before: file "+unitOfA)
}

// With an interface goes its limit; clear takes the files back and says so.
func TestShapeClearWhereTheLinkHasGone(t *testing.T) {
	s := newShaped(t)
	s.must("shape", "set", "a", "8Mbit/s", "--persist")
	s.must("shape", "set", "a", "4Mbit/s", "--persist")
	check(t, s.ns.Do(func() error {
		l, err := netlink.LinkByName("a")
		if err != nil {
			return err
		}
		return netlink.LinkDel(l)
	}))
	contains(t, s.must("shape", "clear", "a"), "left: root qdisc of a: the interface is gone", "as before: file "+unitOfA)
	if out, code := s.run("shape", "clear", "a"); s.has(unitOfA) || code != exitNotFound {
		t.Errorf("cleared twice: %d\n%s", code, out)
	}
}
