// Package ownconfig finds what is known of a kernel's configuration: that of the running
// one, at each place where distributions leave it, or that of a file.
//
// It judges nothing: core/kconfig does.
//
// Its trap: the places prove different things. A configuration proves what was built, not
// what was installed; the lists of modules prove what is installed, and of what can be no
// module they say nothing.
package ownconfig

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/kconfig"
)

// What each kind of place proves.
const (
	provesOwn     = "the running kernel's own: each symbol of it"
	provesPackage = "what the kernel's package was built with: each symbol of it, if it is of this very kernel"
	provesBuiltin = "what could be a module and is built in; no symbol that is only y or n"
	provesFiles   = "modules that are installed; no symbol that is only y or n"
	provesFile    = "each symbol of the kernel that is built with it, or of the fragment that it is"
)

// maxText of an unpacked configuration or list: the largest have under 1 MB.
const maxText = 8 << 20

// Release is `uname -r`.
func Release() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", fmt.Errorf("read kernel release: %w", err)
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}

// Files are those of a host, paths absolute.
type Files interface {
	Read(path string) (string, error)
}

// Running looks on a host for what is known of a release.
func Running(files Files, release string) (*kconfig.Evidence, error) {
	e := &kconfig.Evidence{Release: release}
	lib := "/lib/modules/" + release
	e.Config = firstConfig(e, files, []kconfig.Source{
		{Path: "/proc/config.gz", Proves: provesOwn},
		{Path: "/boot/config-" + release, Proves: provesPackage},
		{Path: lib + "/config", Proves: provesPackage},
		{Path: lib + "/build/.config", Proves: provesPackage},
	})
	builtin := list(e, files, kconfig.Source{Path: lib + "/modules.builtin", Proves: provesBuiltin})
	dep := list(e, files, kconfig.Source{Path: lib + "/modules.dep", Proves: provesFiles})
	if builtin == nil && dep == nil {
		return e, nil
	}
	var err error
	if e.Modules, err = kconfig.ParseModules(builtin, dep); err != nil {
		return e, fmt.Errorf("read modules of %s: %w", release, err)
	}
	return e, nil
}

// firstConfig takes the first configuration that can be read, and notes each place.
func firstConfig(e *kconfig.Evidence, files Files, places []kconfig.Source) (found *kconfig.Config) {
	for _, s := range places {
		text, err := files.Read(s.Path)
		var c *kconfig.Config
		if err == nil {
			c, err = parse([]byte(text))
		}
		switch {
		case err != nil:
			s.Note = reason(err)
		case found != nil:
			s.Note = "a better one was found"
		default:
			found, s.Used = c, true
		}
		e.Sources = append(e.Sources, s)
	}
	return found
}

func list(e *kconfig.Evidence, files Files, s kconfig.Source) (text []byte) {
	got, err := files.Read(s.Path)
	if s.Used = err == nil; s.Used {
		text = append([]byte{}, got...)
	} else {
		s.Note = reason(err)
	}
	e.Sources = append(e.Sources, s)
	return text
}

func reason(err error) string {
	for _, plain := range []error{fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, plain) {
			return plain.Error()
		}
	}
	return err.Error()
}

// File reads a .config, packed or not.
func File(name string) (*kconfig.Evidence, error) {
	c, err := config(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration %s: %w", name, err)
	}
	return &kconfig.Evidence{Release: c.Release, Config: c, Sources: []kconfig.Source{{Path: name, Used: true, Proves: provesFile}}}, nil
}

func config(name string) (*kconfig.Config, error) {
	f, err := os.Open(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the caller names the file
		}
		return nil, err
	}
	defer f.Close()
	text, err := limited(f)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse reads a configuration, unpacked where it is gzip.
func parse(text []byte) (*kconfig.Config, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return kconfig.Parse(text)
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		text, err = limited(z)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return kconfig.Parse(text)
}

func limited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("more than %d bytes: not a configuration", maxText)
	}
	return text, err
}
