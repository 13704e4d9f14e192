package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	defaultCong = "cubic"
	treatment   = "bbr"
)

// haveCongs makes sure that the kernel has both congestion controls. Where one is a
// module, asking for it on a socket makes the kernel load it; a module stays, so
// the names of those that came are given back, to be told.
func haveCongs() (loaded []string, err error) {
	for _, name := range []string{defaultCong, treatment} {
		if available(name) {
			continue
		}
		if err := ask(name); err != nil || !available(name) {
			return loaded, fmt.Errorf("find congestion control %s: this kernel has none (CONFIG_TCP_CONG_%s); try: modprobe tcp_%s",
				name, strings.ToUpper(name), name)
		}
		loaded = append(loaded, name)
	}
	return loaded, nil
}

func available(name string) bool {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	return err == nil && slices.Contains(strings.Fields(string(b)), name)
}

func ask(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}
