// Package notify tells systemd how a service does (sd_notify(3)).
//
// It is no part of a service that something else starts: without NOTIFY_SOCKET it does nothing.
//
// Its trap: with WatchdogSec= set, systemd kills a process that is silent for so long. Say that all
// is well only where it is.
package notify

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// States of sd_notify(3).
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	Watchdog = "WATCHDOG=1"
)

// Status is the state that systemctl status shows as a line of text.
func Status(text string) string { return "STATUS=" + strings.ReplaceAll(text, "\n", "; ") }

// Reloading is the state of a reload that begins now; Ready ends it.
func Reloading() string {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // never fails on a kernel that has the clock
	return fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", t.Nano()/1000)
}

// sendWait bounds a message: systemd may be busy.
const sendWait = time.Second

// Send tells the state.
func Send(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if strings.HasPrefix(name, "@") {
		name = "\x00" + name[1:] // without a file
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	defer c.Close()
	if err = c.SetWriteDeadline(time.Now().Add(sendWait)); err == nil {
		_, err = c.Write([]byte(state))
	}
	if err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	return nil
}

// Every is how often to send Watchdog: twice in the time that systemd allows; 0 is never.
func Every() time.Duration {
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || us <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(us) * time.Microsecond / 2
}
