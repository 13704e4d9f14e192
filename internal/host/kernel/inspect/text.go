package inspect

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Directories of NetworkManager's keyfiles, and of tuned's profiles.
var (
	connectionDirs = []string{"/etc/NetworkManager/system-connections", "/run/NetworkManager/system-connections", "/usr/lib/NetworkManager/system-connections"}
	tunedDirs      = []string{"/etc/tuned", "/etc/tuned/profiles", "/usr/lib/tuned", "/usr/lib/tuned/profiles"}
)

// texts reads every file that affects the host after a boot.
func (h Host) texts() (list advise.Files) {
	for _, group := range []struct {
		dirs   []string
		suffix string
	}{
		{advise.SysctlDirs, ""},
		{advise.ModulesLoadDirs, ""},
		{advise.ModprobeDirs, ".conf"},
		{advise.NetworkdDirs, ".network"},
		{connectionDirs, ".nmconnection"},
	} {
		for _, dir := range group.dirs {
			if !h.merged(dir) {
				list = append(list, h.textsIn(dir, group.suffix)...)
			}
		}
	}
	for _, dir := range advise.NetworkdDirs {
		names, _ := h.Files.List(dir)
		for _, n := range names {
			if strings.HasSuffix(n, ".network.d") && !h.merged(dir) {
				list = append(list, h.textsIn(dir+"/"+n, ".conf")...)
			}
		}
	}
	rc := advise.RCLocal
	if !h.has(rc) {
		rc = advise.RCLocalRedHat
	}
	for _, p := range []string{advise.SysctlConf, rc, advise.TunedMain} {
		if f := h.file(p); f.Why != "not there" {
			list = append(list, f)
		}
	}
	return append(list, h.tuned()...)
}

// merged: /lib is /usr/lib on most distributions, and its files would all be seen twice.
func (h Host) merged(dir string) bool {
	return strings.HasPrefix(dir, "/lib/") && h.link("/lib") != ""
}

func (h Host) textsIn(dir string, suffix string) (list advise.Files) {
	names, err := h.Files.List(dir)
	if err != nil {
		if why := why(err); why != "not there" {
			return advise.Files{{Path: dir, Why: why}}
		}
		return nil
	}
	for _, n := range names {
		if suffix == "" && !putAside(n) || suffix != "" && path.Ext(n) == suffix {
			list = append(list, h.file(dir+"/"+n))
		}
	}
	return list
}

// putAside: an editor, a package manager or a person renamed the file so that nothing reads it.
func putAside(name string) bool {
	return strings.HasSuffix(name, "~") || strings.HasPrefix(name, "README") || strings.Contains(name, ".dpkg-") || strings.Contains(name, ".ucf-") ||
		slices.Contains([]string{".bak", ".old", ".orig", ".save", ".disabled", ".off", ".rpmsave", ".rpmnew", ".swp"}, path.Ext(name))
}

func (h Host) file(p string) advise.File {
	text, err := h.Files.Read(p)
	f := advise.File{Path: p, Text: text}
	f.Link, f.Exec = h.Files.Look(p)
	if errors.Is(err, plainfile.ErrKind) || f.Link != "" && errors.Is(err, fs.ErrNotExist) {
		err = nil // a mask, a directory, a link to nowhere: they hide another file, and have no text
	}
	if err != nil {
		f.Why = why(err)
	}
	return f
}

// tuned reads the profile in force and those that it includes.
func (h Host) tuned() (list advise.Files) {
	active := h.file("/etc/tuned/active_profile")
	if active.Why == "not there" {
		return nil
	}
	list = append(list, active)
	todo, seen := strings.Fields(active.Text), map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if seen[name] || name == "" {
			continue
		}
		seen[name] = true
		for _, dir := range tunedDirs {
			f := h.file(dir + "/" + name + "/tuned.conf")
			if f.Why == "not there" {
				continue
			}
			list = append(list, f)
			todo = append(todo, includes(f.Text)...)
			break
		}
	}
	return list
}

func includes(profile string) (names []string) {
	for line := range strings.Lines(profile) {
		key, value, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(key) == "include" {
			names = append(names, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\n' })...)
		}
	}
	return names
}
