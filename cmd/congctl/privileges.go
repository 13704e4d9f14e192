package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/privilege"
	"github.com/congctl/congctl/internal/linux/sample"
	"github.com/congctl/congctl/internal/loop/config"
)

// uses are the capabilities that a loop uses after its start, when its programs are loaded and
// attached and its socket has its group. No reload needs more: each key here needs a restart.
func uses(c config.Config, treats bool) (s privilege.Set) {
	if treats {
		s |= privilege.Of(unix.CAP_BPF)       // maps, iterators, the marks of a dump
		s |= privilege.Of(unix.CAP_NET_ADMIN) // the congestion control of another's socket
	}
	if !slices.Equal(c.Netns, []string{sample.Own}) {
		s |= privilege.Of(unix.CAP_SYS_ADMIN) // enters them, and again those that come later
	}
	if slices.ContainsFunc(c.Netns, func(n string) bool { return n == sample.All || strings.HasPrefix(n, "/proc/") }) {
		s |= privilege.Of(unix.CAP_SYS_PTRACE) // looks at the namespace of each process
	}
	if len(c.Goodput.AccessLogs) > 0 {
		s |= privilege.Of(unix.CAP_DAC_READ_SEARCH) // opens the web server's next file after each rotation
	}
	return s
}

// drop gives up all other privileges. From here on root is only the owner of its files.
func (u *edgeHost) drop(context.Context) error {
	left, err := privilege.Keep(uses(u.cfg, u.follower != nil))
	if err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	if err := unix.Access(u.cfg.StateDir, unix.W_OK); err != nil {
		return failed("sudo chown -R root "+u.cfg.StateDir, fmt.Errorf("write to state_dir %s without CAP_DAC_OVERRIDE, which congctl gives up: %w", u.cfg.StateDir, err))
	}
	u.log.Info("privileges left: " + left.String())
	return nil
}
