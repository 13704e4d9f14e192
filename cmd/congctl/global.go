package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/loop/address"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/strict"
)

// defaultConfig is a variable for tests.
var defaultConfig = "/etc/congctl/congctl.yml"

// global is what every verb shares.
type global struct {
	configPath string
	output     string
	timeout    time.Duration // for a running congctl to answer
	cgroup     string        // of the flag of up; "" leaves the configuration's
	controller string        // of a fleet, its URL; "" is the configuration's
	pop        string        // of a fleet that verbs ask its controller about; "" is this host's own loop
	banner     string        // to be told with the answer
	found      bool          // the default file was there: it may not go while a process runs by it
	// hasCubicLT answers whether this kernel can have cubic_lt, and why not, for treatment.cong auto; nil is [cubiclt.Fits].
	hasCubicLT func() (ok bool, why string)
}

// willTreat makes auto ask the kernel's verifier, too, once: what a process treats with stays while it runs, and it gives
// up the privileges to ask again.
func (g *global) willTreat() { g.hasCubicLT = sync.OnceValues(cubiclt.Loads) }

// config reads the named file, or the default one if it exists, or returns the
// defaults: congctl needs no configuration.
func (g *global) config() (config.Config, error) {
	c, err := g.readConfig(config.Read)
	if g.cgroup != "" {
		c.Cgroup = g.cgroup
	}
	if err == nil {
		err = g.reaches(&c)
	}
	return c, err
}

// reaches sets the controllers that --pop asks.
func (g *global) reaches(c *config.Config) error {
	if g.controller != "" {
		c.Fleet.Controller = []string{g.controller}
	}
	if g.pop != "" && len(c.Fleet.Controller) == 0 {
		return usage(errors.New("--pop asks a controller: name it with --controller, or as fleet.controller in the configuration"))
	}
	return nil
}

// partConfig is config for stop, which a fault in the file must not prevent: the fault
// is a warning, and what the file sets without one holds.
func (g *global) partConfig(stderr io.Writer) (c config.Config, whole bool, err error) {
	c, err = g.readConfig(config.ReadPartly)
	if _, ok := errors.AsType[strict.Faults](err); ok {
		fmt.Fprintf(stderr, "congctl: %v\ncongctl: warning: the configuration is wrong; stop uses socket %s and state_dir %s\n", err, c.Socket, c.StateDir)
		return c, false, g.reaches(&c)
	}
	if err == nil {
		err = g.reaches(&c)
	}
	return c, true, err
}

func (g *global) readConfig(read func(string) (config.Config, error)) (config.Config, error) {
	path := g.configPath
	if path == "" {
		path = defaultConfig
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !g.found {
			return g.withHost(config.Default())
		}
		g.found = true
	}
	c, err := read(path)
	if err != nil {
		return c, usage(err)
	}
	return g.withHost(c)
}

// withHost names the PoP after this host if the file does not name it, and settles which treatment its kernel can have.
func (g *global) withHost(c config.Config) (config.Config, error) {
	if t := &c.Treatment; t.Cong == config.CongAuto {
		has := g.hasCubicLT
		if has == nil {
			has = cubiclt.Fits
		}
		t.Cong, t.AutoWhy = cubiclt.Name, "this kernel can have it"
		if ok, why := has(); !ok {
			t.Cong, t.AutoWhy = "bbr", why
		}
	}
	if c.Treatment.Cong == "bbr" && len(c.Fleet.PoPs) == 0 { // a fleet's controller has another kernel than its hosts
		c.Treatment.Version = bbrVersion()
	}
	if c.PoP != "" {
		return c, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return c, fmt.Errorf("name the pop: %w", err)
	}
	c.PoP = name
	return c, nil
}

// bbrVersion is 0 as long as the kernel has no BBR: a module that is not loaded does not say.
func bbrVersion() int {
	names, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if !slices.Contains(strings.Fields(string(names)), "bbr") {
		return 0
	}
	text, _ := os.ReadFile("/sys/module/tcp_bbr/version") // mainline's has none
	major, _, _ := strings.Cut(strings.TrimSpace(string(text)), ".")
	n, _ := strconv.Atoi(major)
	return max(n, 1)
}

// valid refuses what no verb can use, before one asks anything.
func (g *global) valid() error {
	switch {
	case g.timeout <= 0:
		return usage(fmt.Errorf("--timeout %s: use a time above zero, such as %s", g.timeout, control.DefaultTimeout))
	case g.controller != "" && address.CheckController(g.controller) != nil:
		return usage(fmt.Errorf("--controller %q: %w", address.Word(g.controller), address.CheckController(g.controller)))
	case g.controller != "" && g.pop == "":
		return usage(errors.New("--controller needs --pop: name the PoP to ask about"))
	case strings.Contains(g.pop, "/"):
		return usage(fmt.Errorf("--pop %q: use the name of a PoP", g.pop))
	}
	return g.checkOutput()
}

// client asks this host's congctl, or with --pop a fleet's controller.
func (g *global) client(cfg config.Config) *control.Client {
	c := control.NewClient(cfg.Socket)
	if g.pop != "" {
		var urls []string
		for _, base := range cfg.Fleet.Controller {
			urls = append(urls, strings.TrimSuffix(base, "/")+popPath(g.pop))
		}
		c = control.NewRemote(urls, dialLate(cfg.Fleet))
		if cfg.Fleet.TokenFile != "" {
			c.Bearer = func() (string, error) { return secretOf(cfg.Fleet) }
		}
	}
	c.Timeout = g.timeout
	return c
}

func storePath(c config.Config) string { return filepath.Join(c.StateDir, "congctl.db") }
