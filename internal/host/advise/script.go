package advise

import (
	"path"
	"slices"
	"strings"
)

// Where an administrator's commands are that systemd runs at the end of a boot.
const (
	RCLocal       = "/etc/rc.local"
	RCLocalRedHat = "/etc/rc.d/rc.local" // to which /etc/rc.local is a link, if it is there
)

// idleScript is a script that no boot runs.
type idleScript struct {
	File
	why, fix, undo string
}

// scripts returns those that a boot runs, in their order, and those that it does not.
func (f *Facts) scripts() (run Files, idle []idleScript) {
	for _, name := range []string{RCLocalRedHat, RCLocal} {
		file, ok := f.Files.Get(name)
		switch {
		case !ok:
		case name != f.System.Script:
			idle = append(idle, idleScript{file, f.System.Init + " does not run it", enableBBR, disable})
		case !file.Exec:
			idle = append(idle, idleScript{file, "it is not executable", "sudo chmod +x " + file.Path, "sudo chmod -x " + file.Path})
		default:
			if why, fix := unstarted(file.Text); why != "" && file.Why == "" {
				idle = append(idle, idleScript{file, why, fix + " " + file.Path, "restore the old first line"})
				continue
			}
			run = append(run, file)
		}
	}
	return run, idle
}

// unstarted says why execve(2) refuses a script, and what mends it: systemd starts programs without a shell.
func unstarted(text string) (why, fix string) {
	first, _, _ := strings.Cut(text, "\n")
	interpreter, marked := strings.CutPrefix(first, "#!")
	interpreter = strings.Trim(interpreter, " \t")
	switch {
	case !marked || interpreter == "":
		return `it does not begin with "#!", so systemd cannot start it`, "sudo sed -i '1i #!/bin/sh'"
	case strings.HasSuffix(first, "\r"):
		return "its lines end in a carriage return, which becomes part of the interpreter's name", `sudo sed -i 's/\r$//'`
	case !path.IsAbs(interpreter):
		return "its first line has no path of an interpreter", "sudo sed -i '1s,.*,#!/bin/sh,'"
	}
	return "", ""
}

// scriptSets finds what a script sets a key to. A line that names the key and is not plain
// is odd: only a shell knows what it does.
func (f *Facts) scriptSets(file File, key string) (set []Setting) {
	var b block
	for _, c := range commands(file.Text) {
		if b.ends(c) {
			break
		}
		found := f.commandSets(c, key)
		for i := range found {
			if found[i].File == "" {
				found[i].File, found[i].Line = file.Path, c.line
			}
		}
		if why, is := b.open(c); is && len(found) > 0 {
			found = []Setting{uncertain(found, c, why)}
			found[0].File, found[0].Line, found[0].Key = file.Path, c.line, key
		}
		set = append(set, found...)
		b.pass(c)
	}
	return set
}

// uncertain is a setting that may or may not be reached.
func uncertain(found []Setting, c command, why string) Setting {
	s := Setting{Odd: true, Value: strings.Join(c.words, " ") + why}
	if last := found[len(found)-1]; !last.Odd {
		s.If = last.Value
	}
	return s
}

// commandSets reads one command. A setting without a file is from the command's own line.
func (f *Facts) commandSets(c command, key string) []Setting {
	words := c.quiet()
	if len(words) == 0 {
		return nil
	}
	plain := !c.odd && !slices.ContainsFunc(words, func(w string) bool {
		o, rest := operator(w)
		return o != "" && rest == "" && w != ">" && w != ">>" && w != "|"
	})
	if plain && path.Base(words[0]) == "sysctl" {
		if set, ok := f.sysctlSets(words[1:], key); ok {
			return set
		}
	}
	if plain && words[0] == "echo" {
		if value, ok := echoSets(words[1:], key); ok {
			return value
		}
	}
	if !mentions(c.words, key) && !c.anyKey() {
		return nil
	}
	return []Setting{{Key: key, Value: strings.Join(c.words, " "), Odd: true}}
}

// mentions reports whether a word has the key in it, with dots or slashes, and not only as
// the beginning of another.
func mentions(words []string, key string) bool {
	for _, name := range []string{key, strings.ReplaceAll(key, ".", "/")} {
		if slices.ContainsFunc(words, func(w string) bool {
			_, rest, ok := strings.Cut(w, name)
			return ok && (rest == "" || strings.IndexByte("_0123456789abcdefghijklmnopqrstuvwxyz", rest[0]) < 0)
		}) {
			return true
		}
	}
	return false
}

// echoSets reads "echo value > /proc/sys/..." and "echo value | tee /proc/sys/...". An echo to the
// terminal sets nothing.
func echoSets(words []string, key string) (set []Setting, ok bool) {
	at := slices.IndexFunc(words, func(w string) bool { return w == ">" || w == ">>" || w == "|" })
	if at < 0 {
		return nil, true
	}
	value, to := words[:at], words[at+1:]
	if len(value) > 0 && value[0] == "-n" {
		value = value[1:]
	}
	if words[at] == "|" {
		if len(to) == 0 || path.Base(to[0]) != "tee" {
			return nil, false
		}
		to = to[1:]
	}
	if len(to) != 1 || to[0] != "/proc/sys/"+strings.ReplaceAll(key, ".", "/") || len(value) == 0 {
		return nil, false
	}
	return []Setting{{Key: key, Value: strings.Join(value, " ")}}, true
}
