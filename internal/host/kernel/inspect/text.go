package inspect

import (
	"path"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
)

// Directories of NetworkManager's keyfiles, and of tuned's profiles.
var (
	connectionDirs = []string{"/etc/NetworkManager/system-connections", "/run/NetworkManager/system-connections", "/usr/lib/NetworkManager/system-connections"}
	tunedDirs      = []string{"/etc/tuned", "/etc/tuned/profiles", "/usr/lib/tuned", "/usr/lib/tuned/profiles"}
)

// texts reads every file that affects the host after a boot.
func (h Host) texts() (fs advise.Files) {
	for _, group := range []struct {
		dirs   []string
		suffix string
	}{
		{advise.SysctlDirs, ".conf"},
		{advise.ModulesLoadDirs, ".conf"},
		{advise.ModprobeDirs, ".conf"},
		{advise.NetworkdDirs, ".network"},
		{connectionDirs, ".nmconnection"},
		{[]string{path.Dir(advise.LocalStart)}, path.Ext(advise.LocalStart)},
	} {
		for _, dir := range group.dirs {
			if !h.merged(dir) {
				fs = append(fs, h.textsIn(dir, group.suffix)...)
			}
		}
	}
	for _, p := range []string{advise.SysctlConf, "/etc/modules", advise.RCLocal} {
		if f := h.file(p); f.Why != "not there" {
			fs = append(fs, f)
		}
	}
	return append(fs, h.tuned()...)
}

// merged: /lib is /usr/lib on most distributions, and its files would all be seen twice.
func (h Host) merged(dir string) bool {
	return strings.HasPrefix(dir, "/lib/") && h.link("/lib") != ""
}

func (h Host) textsIn(dir string, suffix string) (fs advise.Files) {
	names, err := h.Files.List(dir)
	if err != nil {
		if why := why(err); why != "not there" {
			return advise.Files{{Path: dir, Why: why}}
		}
		return nil
	}
	for _, n := range names {
		if path.Ext(n) == suffix {
			fs = append(fs, h.file(dir+"/"+n))
		}
	}
	return fs
}

func (h Host) file(p string) advise.File {
	text, err := h.Files.Read(p)
	f := advise.File{Path: p, Text: text}
	f.Link, f.Exec = h.Files.Look(p)
	if err != nil {
		f.Why = why(err)
	}
	return f
}

// tuned reads the profile in force and those that it includes.
func (h Host) tuned() (fs advise.Files) {
	active := h.file("/etc/tuned/active_profile")
	if active.Why == "not there" {
		return nil
	}
	fs = append(fs, active)
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
			fs = append(fs, f)
			todo = append(todo, includes(f.Text)...)
			break
		}
	}
	return fs
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
