package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/congctl/congctl/internal/loop/control"
)

// tmux is a real terminal: a server of its own with one window, in the namespaces of the tests.
type tmux struct {
	t      *testing.T
	socket string
}

func newTmux(t *testing.T, width, height int) tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux, a terminal to look at: apt-get install tmux; no minimum kernel")
	}
	m := tmux{t, filepath.Join(t.TempDir(), "t")}
	m.run("-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "env", "PS1=$ ", "TERM=screen-256color", asEnv+"=program", "sh")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last screen:\n%s", m.screen())
		}
		m.run("kill-server")
	})
	return m
}

func (m tmux) run(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (m tmux) keys(keys ...string) {
	m.t.Helper()
	m.run(append([]string{"send-keys"}, keys...)...)
}

func (m tmux) line(text string) {
	m.t.Helper()
	m.run("send-keys", "-l", text)
	m.keys("Enter")
}

func (m tmux) screen() string { m.t.Helper(); return m.run("capture-pane", "-p") }

// shows waits until each of these texts is on the screen.
func (m tmux) shows(texts ...string) (screen string) {
	m.t.Helper()
	eventually(m.t, fmt.Sprintf("screen with %q", texts), patience, func() bool {
		screen = m.screen()
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
	return screen
}

// restored waits for the end with an exit code, and looks at what is left of the terminal.
func (m tmux) restored(code int) {
	m.t.Helper()
	m.shows(fmt.Sprintf("ended %d", code))
	if got := strings.TrimSpace(m.run("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}")); got != "0 1 0" {
		m.t.Errorf("alternate screen, cursor, mouse: %s", got)
	}
	m.line("clear; stty -g > modes.after; cmp modes.before modes.after; echo same $?")
	m.shows("same 0")
	m.line("clear")
}

// topLine runs top, and says how it ended.
func (e *edge) topLine(env string) string {
	exe, err := os.Executable()
	check(e.t, err)
	return fmt.Sprintf("%s sh -c 'echo $$ > pid; exec %s top --every 1s --timeout 1s -c %s'; echo ended $?", env, exe, e.configPath())
}

// TestTopInATerminal: 10,000 connections, most of them at rest and some coming and going, in
// a narrow and in a wide terminal.
func TestTopInATerminal(t *testing.T) {
	e := newEdge(t, quickSettings())
	m := newTmux(t, 80, 24)
	m.line("cd " + e.dir + "; stty -g > modes.before; clear")
	m.line(e.topLine(""))
	m.shows("No congctl is running here", "sudo congctl up")
	e.start()
	startCrowd(t, 20_000)
	churn(t)

	m.shows("NETWORK", "MBIT/S", "OPEN", "cubic")
	eventually(t, "10,000 connections on the screen", patience, func() bool { return connectionsOf(m.screen(), "cubic") >= 10_000 })
	lookAt(t, "networks", m)
	topKeys(t, m)

	m.run("resize-window", "-x", "200", "-y", "60")
	m.shows("SIGNATURE", "GUARD")
	lookAt(t, "wide", m)
	m.keys("Tab")
	m.shows("NETNS", "SEND-Q")
	lookAt(t, "wide-connections", m)
	m.run("resize-window", "-x", "40", "-y", "10")
	m.shows("REMOTE")
	m.run("resize-window", "-x", "80", "-y", "24")
	m.shows("RETRANS")

	e.pause()
	m.shows("did not answer within 1s", "s old: ")
	m.keys("Tab")
	m.shows("NETWORK")
	lookAt(t, "silent", m)
	e.signal(syscall.SIGCONT)
	m.keys("q")
	m.restored(0)
}

func topKeys(t *testing.T, m tmux) {
	m.keys("?")
	m.shows("any key: back")
	m.keys("x", "Tab")
	m.shows("REMOTE", "NOW▼")
	lookAt(t, "connections", m)
	m.keys(">")
	m.shows("RATE▼")
	m.keys("r")
	m.shows("RATE▲")
	m.keys("1")
	m.shows("NETWORK")
	m.keys("/")
	m.run("send-keys", "-l", "198.18.1.")
	m.shows("filter: 198.18.1._", "198.18.1.0/24")
	m.keys("Enter", "Enter")
	m.shows("198.18.1.0/24: ", "Esc back")
	m.shows("known windows")
	lookAt(t, "detail", m)
	m.keys("Escape")
	m.shows("NETWORK", "Esc clears")
	m.keys("Escape") // right before another key it would be a part of that
	eventually(t, "no filter", patience, func() bool { return !strings.Contains(m.screen(), "Esc clears") })
}

// connectionsOf reads the totals.
func connectionsOf(screen, cong string) (n int) {
	for line := range strings.Lines(screen) {
		if f := strings.Fields(line); len(f) == 5 && f[0] == cong {
			n, _ = strconv.Atoi(f[2])
		}
	}
	return n
}

// lookAt keeps a screen for a person, in the directory that CONGCTL_SCREENS names.
func lookAt(t *testing.T, name string, m tmux) {
	t.Helper()
	if dir := os.Getenv("CONGCTL_SCREENS"); dir != "" {
		check(t, os.WriteFile(filepath.Join(dir, name+".txt"), []byte(m.screen()), 0o600))
	}
}

// churn opens and closes connections until the test ends.
func churn(t testing.TB) {
	t.Helper()
	s := newServer(t)
	done, ended := make(chan struct{}), make(chan struct{})
	var failed atomic.Int64
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			size := 2_000
			if i%10 == 0 {
				size = large
			}
			if err := visit(s.at[true], client(1+i%4, 1+i%100), size); err != nil {
				failed.Add(1)
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		<-ended
		if n := failed.Load(); n > 100 {
			t.Errorf("%d visits failed", n)
		}
	})
}

// visit is one short connection.
func visit(at netip.AddrPort, from netip.Addr, size int) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: patience}
	c, err := d.Dial("tcp", at.String())
	if err != nil {
		return err
	}
	defer c.Close()
	return (&visitor{TCPConn: c.(*net.TCPConn)}).get(size)
}

// TestTopRestoresTheTerminal after a signal and after a panic, and has no colour where none is wanted.
func TestTopRestoresTheTerminal(t *testing.T) {
	e := newEdge(t, quickSettings())
	m := newTmux(t, 80, 24)
	m.line("cd " + e.dir + "; stty -g > modes.before; clear")
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		m.line(e.topLine("NO_COLOR=1"))
		m.shows("No congctl is running here")
		if text := m.run("capture-pane", "-e", "-p"); strings.Contains(text, "[33m") || strings.Contains(text, "[34m") || strings.Contains(text, ";34") {
			t.Errorf("colour in spite of NO_COLOR: %q", text)
		}
		text, err := os.ReadFile(filepath.Join(e.dir, "pid"))
		check(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		check(t, err)
		check(t, syscall.Kill(pid, s))
		m.restored(0)
	}
	m.line(e.topLine(""))
	m.shows("No congctl is running here")
	m.keys("C-c")
	m.restored(0)
	exe, err := os.Executable()
	check(t, err)
	m.line(fmt.Sprintf("%s=panic %s 2>/dev/null; echo ended $?", asEnv, exe))
	m.shows("ended 1")
	m.line("clear; echo ended 1")
	m.restored(1)
}

// panicking is a screen with a fault.
type panicking struct{}

func (panicking) Init() tea.Cmd { return func() tea.Msg { return 0 } }
func (panicking) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if msg == 0 {
		panic("planted")
	}
	return panicking{}, nil
}
func (panicking) View() tea.View { return tea.View{AltScreen: true} }

func panicOnScreen() error { return runScreen(context.Background(), panicking{}, os.Stdout) }

// TestTopOnce: a script gets networks, totals and the state in one answer.
func TestTopOnce(t *testing.T) {
	e := newEdge(t, quickSettings())
	e.start()
	startCrowd(t, 200)
	var a struct {
		Running bool `json:"running"`
		Totals  []struct {
			Cong        string `json:"cong"`
			Connections int    `json:"connections"`
		} `json:"totals"`
		Networks []control.PrefixRow `json:"networks"`
	}
	e.ask(&a, "top", "--once")
	cubic := 0
	for _, total := range a.Totals {
		if total.Cong == "cubic" {
			cubic = total.Connections
		}
	}
	if !a.Running || cubic < 100 {
		t.Errorf("%+v", a)
	}
}
