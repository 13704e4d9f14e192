package world

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// Namespace is a network namespace of a world with its netlink sockets. Close it.
type Namespace struct {
	Name  string
	NS    *netns.NS
	Route *netlink.Handle
	TC    *qdisc.Conn
}

// Setting is a sysctl with its value.
type Setting struct{ Key, Value string }

// Open makes a namespace with sysctls, which hold before it has links.
func Open(name string, settings ...Setting) (n *Namespace, err error) {
	n = &Namespace{Name: name}
	if n.NS, err = netns.Anonymous(); err != nil {
		return nil, err
	}
	err = n.NS.Do(func() (err error) {
		if n.Route, err = netlink.NewHandle(unix.NETLINK_ROUTE); err == nil {
			n.TC, err = qdisc.Open()
		}
		return errors.Join(err, apply(settings))
	})
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// Close ends the namespace and all in it.
func (n *Namespace) Close() error {
	if n.TC != nil {
		n.TC.Close()
	}
	if n.Route != nil {
		n.Route.Close()
	}
	return n.NS.Close()
}

// apply writes sysctls of the calling thread's namespace. IPv6 may be compiled out.
func apply(settings []Setting) error {
	for _, s := range settings {
		err := os.WriteFile(procSys(s.Key), []byte(s.Value), 0)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(s.Key, "net.ipv6.")) {
			return fmt.Errorf("set sysctl %s=%s: %w", s.Key, s.Value, err)
		}
	}
	return nil
}

func readSysctl(key string) (string, error) {
	b, err := os.ReadFile(procSys(key))
	if err != nil {
		return "", fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return strings.TrimSpace(string(b)), nil
}

func procSys(key string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
}
