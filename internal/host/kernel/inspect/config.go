package inspect

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/congctl/congctl/internal/host/kconfig"
)

// What each kind of place proves. A configuration proves what was built, not what was
// installed; the lists of modules prove what is installed, and nothing about options that
// are never modules.
const (
	provesOwn     = "every symbol of the running kernel"
	provesPackage = "every symbol of the running kernel, if the kernel comes from that package"
	provesBuiltin = "which modules are built in; says nothing of symbols that are only y or n"
	provesFiles   = "which modules are installed; says nothing of symbols that are only y or n"
	provesFile    = "every symbol of a kernel built with this file"
	provesPart    = "the symbols that it names: a fragment, or a configuration without its defaults"
)

// Config collects what this host knows of the configuration of the running kernel: at each
// place where distributions leave it.
func (h Host) Config() (*kconfig.Evidence, error) {
	release, err := h.Files.Read("/proc/sys/kernel/osrelease")
	if err != nil {
		return &kconfig.Evidence{}, fmt.Errorf("read kernel release: %w", err)
	}
	return configOf(h.Files.Read, strings.TrimSpace(release))
}

func configOf(read func(path string) (string, error), release string) (*kconfig.Evidence, error) {
	e := &kconfig.Evidence{Release: release}
	lib := "/lib/modules/" + release
	for _, s := range []kconfig.Source{
		{Path: "/proc/config.gz", Proves: provesOwn},
		{Path: "/boot/config-" + release, Proves: provesPackage},
		{Path: lib + "/config", Proves: provesPackage},
		{Path: lib + "/build/.config", Proves: provesPackage},
	} {
		text, err := read(s.Path)
		var c *kconfig.Config
		if err == nil {
			c, err = parse(text)
		}
		switch {
		case err != nil:
			s.Note = reason(err)
		case e.Config != nil:
			s.Note = "a better one was found"
		default:
			e.Config, s.Used = c, true
		}
		e.Sources = append(e.Sources, s)
	}
	list := func(s kconfig.Source) (text []byte) {
		got, err := read(s.Path)
		if s.Used = err == nil; s.Used {
			text = append([]byte{}, got...)
		} else {
			s.Note = reason(err)
		}
		e.Sources = append(e.Sources, s)
		return text
	}
	builtin := list(kconfig.Source{Path: lib + "/modules.builtin", Proves: provesBuiltin})
	dep := list(kconfig.Source{Path: lib + "/modules.dep", Proves: provesFiles})
	if builtin == nil && dep == nil {
		return e, nil
	}
	var err error
	if e.Modules, err = kconfig.ParseModules(builtin, dep); err != nil {
		return e, fmt.Errorf("read modules of %s: %w", release, err)
	}
	return e, nil
}

func reason(err error) string {
	for _, plain := range []error{fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, plain) {
			return plain.Error()
		}
	}
	return err.Error()
}

// ConfigFile reads a .config, packed or not.
func ConfigFile(name string) (*kconfig.Evidence, error) {
	text, err := Tree("").Read(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err // the name follows
	}
	var c *kconfig.Config
	if err == nil {
		c, err = parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", name, err)
	}
	proves := provesFile
	if c.Partial = !c.Whole; c.Partial {
		proves = provesPart
	}
	return &kconfig.Evidence{Release: c.Release, Config: c, Sources: []kconfig.Source{{Path: name, Used: true, Proves: proves}}}, nil
}

// parse reads a configuration, unpacked where it is gzip.
func parse(text string) (*kconfig.Config, error) {
	if strings.HasPrefix(text, "\x1f\x8b") {
		z, err := gzip.NewReader(strings.NewReader(text))
		if err == nil {
			text, err = limited(z)
		}
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
	}
	return kconfig.Parse([]byte(text))
}
