package advise

import (
	"path"
	"slices"
	"strings"
)

// sysctlCall is a command line of sysctl, as procps reads it.
type sysctlCall struct {
	system, load bool
	files        []string // that the options name
	args         []string
}

// parse reads the options. It returns false for an unknown one, which may do anything.
func (s *sysctlCall) parse(words []string) bool {
	for _, w := range words {
		name, value, assigns := strings.Cut(w, "=")
		switch {
		case w == "--system":
			s.system = true
		case name == "--load":
			if s.load = true; assigns {
				s.files = append(s.files, value)
			}
		case slices.Contains([]string{"--write", "--quiet", "--ignore", "--values", "--names"}, w):
		case strings.HasPrefix(w, "--") || w == "-":
			return false
		case w[:min(1, len(w))] == "-":
			if !s.cluster(w[1:]) {
				return false
			}
		default:
			s.args = append(s.args, w)
		}
	}
	return true
}

// cluster reads short options in one word: what follows a "p" is its file.
func (s *sysctlCall) cluster(letters string) bool {
	for i, c := range letters {
		switch {
		case c == 'f':
			s.load = true
		case c == 'p':
			s.load = true
			if file := letters[i+1:]; file != "" {
				s.files = append(s.files, file)
			}
			return true
		case !strings.ContainsRune("wqenN", c):
			return false
		}
	}
	return true
}

// sysctlSets reads "sysctl -w key=value ...", and the files that "sysctl -p" applies.
func (f *Facts) sysctlSets(words []string, key string) (set []Setting, ok bool) {
	var s sysctlCall
	if !s.parse(words) {
		return nil, false
	}
	switch {
	case (s.system || s.load) && f.System.Busybox:
		return nil, false
	case s.system:
		order, _ := f.Files.DropIns(SysctlDirs, ".conf")
		return f.loaded(append(paths(order), SysctlConf), key), true
	case s.load && len(s.files)+len(s.args) == 0:
		return f.loaded([]string{SysctlConf}, key), true
	case s.load: // every argument is a file, also one with "=" in it
		files := append(s.files, s.args...)
		return f.loaded(files, key), !slices.ContainsFunc(files, func(name string) bool { return !path.IsAbs(name) })
	}
	for _, w := range s.args { // one without "=" is shown
		name, value, assigns := strings.Cut(w, "=")
		if name == "" {
			return nil, false
		}
		if assigns && dotted(name) == key {
			set = append(set, Setting{Key: key, Value: value})
		}
	}
	return set, true
}

// anyKey reports whether a command makes sysctl set what the text does not show: what a file
// or a variable holds.
func (c command) anyKey() bool {
	in := false
	for _, w := range c.words {
		op, rest := operator(w)
		name, _, _ := strings.Cut(w, "=")
		switch {
		case op != "" && rest == "":
			in = false
		case path.Base(w) == "sysctl":
			in = true
		case in && (strings.ContainsAny(name, "$`") || strings.HasPrefix(w, "--l") || strings.HasPrefix(w, "--s")),
			in && len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsAny(w, "pf"):
			return true
		}
	}
	return false
}

func paths(fs Files) (list []string) {
	for _, f := range fs {
		list = append(list, f.Path)
	}
	return list
}

func (f *Facts) loaded(names []string, key string) (set []Setting) {
	for _, name := range names {
		file, ok := slices.Concat(f.Files, f.Writers).Get(name)
		if !ok && name != SysctlConf {
			set = append(set, Setting{Key: key, Value: "sysctl -p " + name, Odd: true}) // its text was not read
		}
		kept, _ := f.taken(grammar{}, grammarProcps.written(Files{file}, key))
		set = append(set, kept...)
	}
	return set
}
