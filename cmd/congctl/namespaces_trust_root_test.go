package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// nobodysNamespace is a network namespace that an ordinary user made with a user namespace of its own.
type nobodysNamespace struct {
	path string
	file *os.File
}

func makeNobodysNamespace(t testing.TB) *nobodysNamespace {
	t.Helper()
	cmd := exec.Command("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--",
		"unshare", "-Urn", "sh", "-c", "echo; exec sleep 1000")
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if n, err := out.Read(make([]byte, 1)); n != 1 {
		t.Skipf("an ordinary user may make no user namespace here: %v; minimum kernel 4.9", err)
	}
	n := &nobodysNamespace{path: fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)}
	n.file, err = os.Open(n.path)
	check(t, err)
	t.Cleanup(func() { n.file.Close() })
	return n
}

func (n *nobodysNamespace) Do(fn func() error) error { return nsthread.Run(int(n.file.Fd()), fn) }

// TestNobodysNamespace serves a planned client, which its maker invented, in a namespace of an ordinary user. Only
// where the configuration trusts all is it measured and treated, however the namespace is named.
func TestNobodysNamespace(t *testing.T) {
	needRoot(t)
	n := makeNobodysNamespace(t)
	check(t, n.Do(layLoopback))
	mounted := t.TempDir() + "/ns"
	check(t, os.WriteFile(mounted, nil, 0o600))
	check(t, unix.Mount(n.path, mounted, "none", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(mounted, unix.MNT_DETACH) })
	for _, c := range []struct {
		netns, trust string
		treated      bool
		alarm        string
	}{
		{"all", "host", false, ""},
		{"[own, " + n.path + "]", "host", false, "netns: network namespace " + n.path + ": not polled"},
		{"[own, " + mounted + "]", "host", false, "netns: network namespace " + mounted + ": not polled"},
		{"[own, " + n.path + "]", "all", true, ""},
	} {
		t.Run(c.netns+" trusts "+c.trust, func(t *testing.T) {
			cfg := quickSettings()
			cfg.Netns, cfg.More = c.netns, "netns_trust: "+c.trust
			e := newEdge(t, cfg)
			from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
			e.keepPlan(e.planFor(prefixOf(t, from)))
			e.start()
			far := newServerInside(t, n.Do)
			cong, records := "cubic", 0
			if c.treated {
				cong, records = "bbr", 20
			}
			if ran := far.transfers(from, 20); ran[cong] != 20 {
				t.Errorf("an invented client's transfers ran %v", ran)
			}
			var s control.Status
			e.awaitStatus("all connections seen", func(now control.Status) bool {
				s = now
				return c.treated && s.Agent.Ledger.Emitted[1] >= 20 || !c.treated && s.Agent.Unpolled >= 20
			})
			e.awaitStatus("two more polls", func(now control.Status) bool { return now.Agent.Polls >= s.Agent.Polls+2 })
			if (s.Agent.NotTrusted > 0) == c.treated || strings.Contains(strings.Join(s.Agent.Namespaces, " "), n.path) != c.treated {
				t.Errorf("%d namespaces left out, polled %q", s.Agent.NotTrusted, s.Agent.Namespaces)
			}
			if got := strings.Join(s.Agent.Alarms, "\n"); !strings.HasPrefix(got, c.alarm) || c.alarm == "" && got != "" {
				t.Errorf("alarms %q, want %q", got, c.alarm)
			}
			e.stop()
			e.judgeInvented(prefixOf(t, from), records)
		})
	}
}

// judgeInvented counts the accepted connections of a client that have records.
func (e *edge) judgeInvented(from record.Prefix, want int) {
	e.t.Helper()
	accepted := map[record.Cookie]bool{}
	for _, c := range e.records() {
		if c.Passive && c.Prefix == from {
			accepted[c.Cookie] = true
		}
	}
	if len(accepted) != want {
		e.t.Errorf("records of %d accepted connections, want %d", len(accepted), want)
	}
}

// TestOnlyNobodysNamespace: with nothing else to poll, the start fails and says why.
func TestOnlyNobodysNamespace(t *testing.T) {
	needRoot(t)
	n := makeNobodysNamespace(t)
	cfg := quickSettings()
	cfg.Netns = n.path
	e := newEdge(t, cfg)
	e.launch()
	if code := e.ended(); code != 1 || !strings.Contains(e.log.String(), n.path+": not polled") {
		t.Errorf("exit code %d:\n%s", code, e.log.String())
	}
}
