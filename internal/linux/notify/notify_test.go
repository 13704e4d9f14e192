package notify

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSend(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "s"), fmt.Sprintf("@congctl-notify-%d", os.Getpid())} {
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		for _, state := range []string{Ready, Reloading(), Watchdog, Stopping} {
			if err := Send(state); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 256)
			_ = l.SetReadDeadline(time.Now().Add(30 * time.Second))
			if n, err := l.Read(b); err != nil || string(b[:n]) != state {
				t.Errorf("%s: got %q, %v; want %q", name, b[:n], err, state)
			}
		}
		l.Close()
		if err := Send(Ready); err == nil || !strings.HasPrefix(err.Error(), "tell systemd READY=1: ") {
			t.Errorf("to no socket: %v", err)
		}
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Send(Ready); err != nil {
		t.Errorf("without systemd: %v", err)
	}
}

func TestEvery(t *testing.T) {
	own := fmt.Sprint(os.Getpid())
	for _, c := range []struct {
		usec, pid string
		want      time.Duration
	}{{"", "", 0}, {"3000000", "", 1500 * time.Millisecond}, {"3000000", own, 1500 * time.Millisecond}, {"3000000", "1", 0}, {"-5", own, 0}, {"x", "", 0}} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		t.Setenv("WATCHDOG_PID", c.pid)
		if got := Every(); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
