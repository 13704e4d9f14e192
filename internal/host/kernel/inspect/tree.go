package inspect

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Tree is a tree of files below a directory; "/" is this host's.
type Tree string

// maxText bounds a file. The largest that is read, modules.dep, has about 1 MB.
const maxText = 8 << 20

// Read returns a file's text.
func (t Tree) Read(path string) (string, error) {
	f, err := plainfile.Open(t.at(path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return limited(f)
}

func limited(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(b) > maxText {
		err = fmt.Errorf("more than %d bytes", maxText)
	}
	return string(b), err
}

// List returns the names in a directory.
func (t Tree) List(dir string) ([]string, error) {
	d, err := os.Open(t.at(dir))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Look reads a symbolic link, and a mode.
func (t Tree) Look(path string) (link string, exec bool) {
	link, _ = os.Readlink(t.at(path))
	info, err := os.Stat(t.at(path))
	return link, err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func (t Tree) at(path string) string { return filepath.Join(string(t), path) }
