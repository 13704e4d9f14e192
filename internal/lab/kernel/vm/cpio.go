package vm

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The archive that the kernel unpacks at boot: for each file a header of ASCII
// digits, its name and its bytes, each padded to four bytes
// (Documentation/driver-api/early-userspace/buffer-format.rst, "newc").

const (
	modeFile = 0o100000
	modeDir  = 0o040000
	modeChar = 0o020000
	modeLink = 0o120000
)

// Archive is such an archive on its way out. It keeps the first fault of its writer
// for end.
type Archive struct {
	w     *bufio.Writer
	inode int
	err   error
}

// entry writes one file; major and minor are those of a device.
func (a *Archive) entry(name string, mode uint32, major, minor int, body []byte) {
	if a.err != nil {
		return
	}
	a.inode++
	head := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.inode, mode, 0, 0, 1, 0, len(body), 0, 0, major, minor, len(name)+1, 0, name)
	for _, part := range [][]byte{[]byte(head), body} {
		if _, a.err = a.w.Write(append(part, make([]byte, -len(part)&3)...)); a.err != nil {
			return
		}
	}
}

func (a *Archive) end() error {
	a.entry("TRAILER!!!", 0, 0, 0, nil)
	return a.err
}

// File writes a regular file.
func (a *Archive) File(name string, perm uint32, body []byte) {
	a.entry(name, modeFile|perm, 0, 0, body)
}

// Tree adds everything below dir: directories, files and symbolic links.
func (a *Archive) Tree(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		mode, body, err := content(path, d)
		if err != nil {
			return err
		}
		a.entry(name, mode, 0, 0, body)
		return a.err
	})
}

func content(path string, d fs.DirEntry) (mode uint32, body []byte, err error) {
	info, err := d.Info()
	if err != nil {
		return 0, nil, err
	}
	perm := uint32(info.Mode().Perm())
	switch info.Mode().Type() {
	case fs.ModeDir:
		return modeDir | perm, nil, nil
	case fs.ModeSymlink:
		to, err := os.Readlink(path)
		return modeLink | perm, []byte(to), err
	case 0:
		body, err = os.ReadFile(path)
		return modeFile | perm, body, err
	}
	return 0, nil, fmt.Errorf("pack %s: neither file, directory nor symbolic link", path)
}
