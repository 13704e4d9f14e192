package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/app/config"
)

const defaultConfig = "/etc/congctl/congctl.yml"

// global is what every verb shares.
type global struct {
	configPath string
	output     string
	cgroup     string // of the flag of up; "" leaves the configuration's
}

// config reads the file that was named, or the default one where it exists, or
// gives the defaults: congctl needs no configuration.
func (g *global) config() (config.Config, error) {
	c, err := g.readConfig()
	if g.cgroup != "" {
		c.Cgroup = g.cgroup
	}
	return c, err
}

func (g *global) readConfig() (config.Config, error) {
	path := g.configPath
	if path == "" {
		path = defaultConfig
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return withHost(config.Default())
		}
	}
	c, err := config.Read(path)
	if err != nil {
		return c, usage(err)
	}
	return withHost(c)
}

// withHost names the PoP after this host where the file does not.
func withHost(c config.Config) (config.Config, error) {
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

func (g *global) json() (bool, error) {
	switch g.output {
	case "json":
		return true, nil
	case "table":
		return false, nil
	}
	return false, usage(fmt.Errorf("--output %q: use table or json", g.output))
}

func storePath(c config.Config) string { return filepath.Join(c.StateDir, "congctl.db") }
