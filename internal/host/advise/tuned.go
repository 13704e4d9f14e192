package advise

import (
	"path"
	"slices"
	"strings"
)

// tunedFiles returns the profile in force and those that it includes, the included ones
// first, in the order in which they are applied.
func (f *Facts) tunedFiles() (profiles Files) {
	for _, file := range f.Files {
		if path.Base(file.Path) == "tuned.conf" {
			profiles = append(Files{file}, profiles...)
		}
	}
	return profiles
}

// tunedProfile is the active profile's name, "" for none.
func (f *Facts) tunedProfile() string {
	active, _ := f.Files.Get("/etc/tuned/active_profile")
	return strings.Join(strings.Fields(active.Text), " ")
}

// tunedReapplies reports whether tuned applies the files of /etc after its profile.
func (f *Facts) tunedReapplies() bool {
	main, _ := f.Files.Get(TunedMain)
	on := true
	for _, e := range parseINI(main.Text) {
		if e.key == "reapply_sysctl" {
			on = !slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(e.value))
		}
	}
	return on
}

// TunedMain is tuned's own configuration.
const TunedMain = "/etc/tuned/tuned-main.conf"

// tunedSets finds a key in the section [sysctl], or one of that type, of the profile in force. A variable is no value.
func (f *Facts) tunedSets(key string) (s Setting, ok bool) {
	for _, file := range f.tunedFiles() {
		list := parseINI(file.Text)
		kind := map[string]string{"sysctl": "sysctl"}
		for _, e := range list {
			if e.key == "type" {
				kind[e.section] = e.value
			}
		}
		for _, e := range list {
			if kind[e.section] == "sysctl" && dotted(e.key) == key {
				s, ok = Setting{File: file.Path, Line: e.line, Key: key, Value: strings.Trim(e.value, `"'`)}, true
				s.Odd = strings.Contains(s.Value, "$")
			}
		}
	}
	return s, ok
}

// entry is one line of an INI file, of networkd's, NetworkManager's and tuned's kind.
type entry struct {
	section, key, value string
	line                int
}

// parseINI is forgiving: it skips a line that it does not know, since reporting it is
// another program's task. A section without lines is an entry without a key.
func parseINI(text string) (list []entry) {
	section, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		switch key, value, ok := strings.Cut(line, "="); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
			list = append(list, entry{section: section, line: n})
		case ok:
			list = append(list, entry{section, strings.TrimSpace(key), strings.TrimSpace(value), n})
		}
	}
	return list
}
