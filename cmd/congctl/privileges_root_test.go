package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/privilege"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestPrivilegesAreDropped: once `up` runs, each of its threads has what its configuration needs
// and no more, in every set, and goes on to do all that it must: treat, reload, stop with an
// eviction, resume and end.
func TestPrivilegesAreDropped(t *testing.T) {
	for _, c := range []struct {
		name, netns string
		want        privilege.Set
	}{
		{"own", "own", privilege.Of(unix.CAP_BPF, unix.CAP_NET_ADMIN)},
		{"all", "all", privilege.Of(unix.CAP_BPF, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE)},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := quickSettings()
			cfg.Netns = c.netns
			e := newEdge(t, cfg)
			from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
			e.keepPlan(e.planFor(prefixOf(t, from)))
			e.start()
			e.wantPrivileges(c.want)
			s := newServer(t)
			v := s.dial(from)
			defer v.Close()
			check(t, v.get(large))
			if v.runs() != "bbr" {
				t.Errorf("a transfer ran %s", v.runs())
			}
			e.reload("reload: by SIGHUP; no key changed")
			e.must("stop", "--evict")
			eventually(t, "moved back", patience, func() bool { return v.runs() == "cubic" })
			if got := s.transfer(from, large); got != "cubic" {
				t.Errorf("stopped, and a transfer ran %s", got)
			}
			e.must("resume")
			if got := s.transfer(from, large); got != "bbr" {
				t.Errorf("resumed, and a transfer ran %s", got)
			}
			e.awaitStatus("a round", func(s control.Status) bool { return s.RoundUnixS > 0 && len(s.Agent.Alarms) == 0 })
			e.wantPrivileges(c.want) // those of threads that were started since
			e.stop()
			if _, err := os.Stat(e.socketPath()); err == nil {
				t.Error("the socket is left")
			}
		})
	}
}

// TestPrivilegesOfObserving: who only watches needs none.
func TestPrivilegesOfObserving(t *testing.T) {
	cfg := quickSettings()
	cfg.More = "tier: observe"
	e := newEdge(t, cfg)
	e.start()
	e.wantPrivileges(0)
	v := newServer(t).dial(client(0, 1))
	defer v.Close()
	check(t, v.get(large))
	now := time.Now().Unix()
	e.awaitStatus("its window's round", func(s control.Status) bool { return s.RoundUnixS > now && len(s.Agent.Alarms) == 0 })
	e.stop()
	if len(e.records()) == 0 {
		t.Error("no connection was recorded")
	}
}

// TestPrivilegesOfAccessLogs: a log that only the web server's user may read is followed through
// a rotation.
func TestPrivilegesOfAccessLogs(t *testing.T) {
	e := newEdge(t, quickSettings())
	const nobody = 65534
	dir := filepath.Join(e.dir, "logs")
	path := filepath.Join(dir, "access.log")
	fresh := func() {
		check(t, os.WriteFile(path, nil, 0o600))
		check(t, os.Chown(path, nobody, nobody))
	}
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.Chown(dir, nobody, nobody))
	fresh()
	e.cfg.More = "goodput: {access_logs: [" + path + "]}"
	e.writeConfig()
	e.start()
	e.wantPrivileges(privilege.Of(unix.CAP_BPF, unix.CAP_NET_ADMIN, unix.CAP_DAC_READ_SEARCH))
	check(t, os.Rename(path, path+".1"))
	fresh()
	eventually(t, "the next file is followed", patience, func() bool { return slices.Contains(e.openFiles(), path) })
	e.awaitStatus("no alarm", func(s control.Status) bool { return len(s.Agent.Alarms) == 0 })
	e.stop()
}

// TestStateOfAnotherUser: what root could write only by a privilege that is given up is refused
// at the start, not found out later.
func TestStateOfAnotherUser(t *testing.T) {
	e := newEdge(t, quickSettings())
	state := filepath.Join(e.dir, "state")
	check(t, os.Mkdir(state, 0o700))
	check(t, os.Chown(state, 65534, 65534))
	if _, errs, code := e.verb("up"); code != exitFailed || !strings.Contains(errs, "belongs to user 65534") || !strings.Contains(errs, "try: sudo chown root "+state) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func (e *edge) openFiles() (names []string) {
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", e.cmd.Process.Pid))
	check(e.t, err)
	for _, l := range links {
		name, _ := os.Readlink(l)
		names = append(names, name)
	}
	return names
}

var privilegeLine = regexp.MustCompile(`(?m)^(Cap\w+|NoNewPrivs):\t(\w+)$`)

// wantPrivileges looks at all threads.
func (e *edge) wantPrivileges(want privilege.Set) {
	e.t.Helper()
	all := fmt.Sprintf("%016x", uint64(want))
	wanted := map[string]string{"CapInh": "0000000000000000", "CapPrm": all, "CapEff": all, "CapBnd": all, "CapAmb": "0000000000000000", "NoNewPrivs": "1"}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", e.cmd.Process.Pid))
	check(e.t, err)
	looked := 0
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has ended
		}
		looked++
		got := privilegeLine.FindAllStringSubmatch(string(text), -1)
		if len(got) != len(wanted) {
			e.t.Fatalf("%s: %q", name, got)
		}
		for _, m := range got {
			if m[2] != wanted[m[1]] {
				e.t.Errorf("%s: %s is %s, want %s", name, m[1], m[2], wanted[m[1]])
			}
		}
	}
	if looked < 2 {
		e.t.Errorf("looked at %d threads", looked)
	}
}
