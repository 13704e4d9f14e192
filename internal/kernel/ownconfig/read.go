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
	"path/filepath"

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

// Running looks below root, "/" for this host, for what is known of a release.
func Running(root, release string) (*kconfig.Evidence, error) {
	e := &kconfig.Evidence{Release: release}
	lib := "lib/modules/" + release
	e.Config = firstConfig(e, root, []kconfig.Source{
		{Path: "proc/config.gz", Proves: provesOwn},
		{Path: "boot/config-" + release, Proves: provesPackage},
		{Path: lib + "/config", Proves: provesPackage},
	})
	builtin := list(e, root, kconfig.Source{Path: lib + "/modules.builtin", Proves: provesBuiltin})
	dep := list(e, root, kconfig.Source{Path: lib + "/modules.dep", Proves: provesFiles})
	if builtin == nil && dep == nil {
		return e, nil
	}
	var err error
	if e.Modules, err = kconfig.ParseModules(builtin, dep); err != nil {
		return nil, fmt.Errorf("read modules of %s: %w", release, err)
	}
	return e, nil
}

// firstConfig takes the first configuration that can be read, and notes each place.
func firstConfig(e *kconfig.Evidence, root string, places []kconfig.Source) (found *kconfig.Config) {
	for _, s := range places {
		name := filepath.Join(root, s.Path)
		s.Path = "/" + s.Path
		c, err := config(name)
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

func list(e *kconfig.Evidence, root string, s kconfig.Source) []byte {
	text, err := read(filepath.Join(root, s.Path))
	s.Path = "/" + s.Path
	s.Used = err == nil
	if err != nil {
		s.Note = reason(err)
	} else if text == nil {
		text = []byte{}
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
	text, err := read(name)
	if err != nil {
		return nil, err
	}
	return kconfig.Parse(text)
}

// read gives a file's text, unpacked where it is gzip.
func read(name string) ([]byte, error) {
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
	if err != nil || !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, err
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	if text, err = limited(z); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return text, nil
}

func limited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("more than %d bytes: not a configuration", maxText)
	}
	return text, err
}
