package advise

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Where inits keep the commands of an administrator that run at the end of a boot.
const (
	RCLocal    = "/etc/rc.local"
	LocalStart = "/etc/local.d/*.start" // OpenRC's service local
)

// ending is a line behind which a script does nothing more.
var ending = regexp.MustCompile(`(?m)^(exit\b|exec +[^<>&0-9])`)

// BeforeEnd cuts a script before its last line of that kind, which is where to add a
// command that has to run.
func BeforeEnd(text string) (head, tail string) {
	all := ending.FindAllStringIndex(text, -1)
	if len(all) == 0 {
		return text, ""
	}
	at := all[len(all)-1][0]
	return text[:at], text[at:]
}

// idleScript is a script that no boot runs.
type idleScript struct {
	File
	why, fix, undo string
}

// scripts are those that a boot runs, in their order, and those that it does not.
func (f *Facts) scripts() (run Files, idle []idleScript) {
	all := append(f.Files.In(path.Dir(RCLocal), "/rc.local"), f.Files.In(path.Dir(LocalStart), ".start")...)
	slices.SortStableFunc(all, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, file := range all {
		ours, _ := path.Match(f.System.Script, file.Path)
		switch {
		case !ours && f.System.Init == "openrc" && f.System.Script == "" && path.Dir(file.Path) == path.Dir(LocalStart):
			idle = append(idle, idleScript{file, "OpenRC's service local is off", "sudo rc-update add local default", "sudo rc-update del local default"})
		case !ours:
			idle = append(idle, idleScript{file, f.System.Init + " does not run it", enableBBR, disable})
		case !file.Exec && !f.System.ScriptAnyMode:
			idle = append(idle, idleScript{file, "it is not executable", "sudo chmod +x " + file.Path, "sudo chmod -x " + file.Path})
		default:
			run = append(run, file)
		}
	}
	return run, idle
}

// scriptSets finds what a script sets a key to. A line that names the key and is not
// plain is odd: only a shell can tell what it does.
func (f *Facts) scriptSets(file File, key string) (set []Setting) {
	depth := 0
	for _, c := range commands(file.Text) {
		if c.words[0] == "exit" && depth == 0 {
			break
		}
		if slices.Contains(c.words, "<") {
			depth++ // a here-document: where it ends is the shell's to tell
		}
		found := f.commandSets(c, key)
		for i := range found {
			if found[i].File == "" {
				found[i].File, found[i].Line = file.Path, c.line
			}
			if depth+c.opens() > 0 {
				found = []Setting{{File: file.Path, Line: c.line, Key: key, Value: strings.Join(c.words, " "), Odd: true}}
				break
			}
		}
		set = append(set, found...)
		depth = max(0, depth+c.opens()-c.closes())
	}
	return set
}

// opens and closes count the words of a command that begin and end a block.
func (c command) opens() int {
	return c.count("if", "for", "while", "until", "case", "select", "{", "(")
}
func (c command) closes() int { return c.count("fi", "done", "esac", "}", ")") }

func (c command) count(words ...string) (n int) {
	for _, w := range c.words {
		if slices.Contains(words, w) {
			n++
		}
	}
	return n
}

// branching are operators behind which it is open whether anything runs.
var branching = []string{"&&", "||", ";;", "<", "2>", "&>", "2>&1", "(", ")"}

// commandSets reads one command. A setting without a file is of the command's own line.
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
	if !mentions(c.words, key) {
		return nil
	}
	return []Setting{{Key: key, Value: strings.Join(c.words, " "), Odd: true}}
}

// mentions tells whether a word has the key in it, with dots or slashes, and not only as
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

// sysctlSets reads "sysctl -w key=value ...", and the files that "sysctl -p" applies.
func (f *Facts) sysctlSets(args []string, key string) (set []Setting, ok bool) {
	load, loads := false, []string{}
	for _, w := range args {
		name, value, assigns := strings.Cut(w, "=")
		switch {
		case w == "--system":
			order, _ := f.Files.DropIns(SysctlDirs, ".conf")
			return f.loaded(append(paths(order), SysctlConf), key), true
		case w == "-p" || w == "--load" || name == "--load":
			if load = true; assigns {
				loads = append(loads, value)
			}
		case strings.HasPrefix(w, "--") && slices.Contains([]string{"--write", "--quiet", "--ignore"}, w),
			len(w) > 1 && w[0] == '-' && strings.Trim(w[1:], "wqein") == "":
		case load && !assigns && w[0] == '/':
			loads = append(loads, w)
		case !assigns && dotted(w) == key && len(args) == 1: // shows it
		case !assigns || w[0] == '-' || name == "":
			return nil, false
		case dotted(name) == key:
			set = append(set, Setting{Key: key, Value: value})
		}
	}
	if load && len(loads) == 0 {
		loads = []string{SysctlConf}
	}
	return append(set, f.loaded(loads, key)...), true
}

func paths(fs Files) (list []string) {
	for _, f := range fs {
		list = append(list, f.Path)
	}
	return list
}

func (f *Facts) loaded(names []string, key string) (set []Setting) {
	for _, name := range names {
		file, ok := f.Files.Get(name)
		if !ok && name != SysctlConf {
			set = append(set, Setting{Key: key, Value: "sysctl -p " + name, Odd: true}) // nobody has read it
		}
		all, _ := ParseSysctl(file.Path, file.Text)
		for _, s := range all {
			if s.sets(key) && !s.malformed() {
				set = append(set, s)
			}
		}
	}
	return set
}

// echoSets reads "echo value > /proc/sys/..." and "echo value | tee /proc/sys/...". What
// is only said sets nothing.
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
