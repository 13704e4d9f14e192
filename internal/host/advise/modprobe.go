package advise

import (
	"slices"
	"strings"
)

// Loads finds the file that loads a module at boot; "" for none.
func (f *Facts) Loads(module string) string {
	order, _ := f.Files.DropIns(ModulesLoadDirs, ".conf")
	return namedIn(order, module)
}

// misnamedFor finds a file that would load a module if its name were another one; "" for none.
func (f *Facts) misnamedFor(module string) string {
	return namedIn(f.Files.strays(ModulesLoadDirs), module)
}

// namedIn finds the first file that names a module: systemd takes a whole line for a name.
func namedIn(files Files, module string) string {
	for _, file := range files {
		for line := range strings.Lines(file.Text) {
			if underscored(strings.Trim(line, " \t\r\n")) == module {
				return file.Path
			}
		}
	}
	return ""
}

// bar is a line of modprobe.d that keeps a module out.
type bar struct {
	file string
	line string
	hard bool // "install": nothing loads it. "blacklist": only its aliases do not, and systemd-modules-load obeys too
}

// barred reads modprobe.d as kmod does: words between blanks, a "\" joins lines, and whatever
// an "install" runs in place of the module, it is loaded only if that says so.
func (f *Facts) barred(module string) (found []bar) {
	for _, word := range strings.Fields(f.Kernel.Cmdline) {
		name, list, _ := strings.Cut(word, "=")
		if hard := name == "module_blacklist"; (hard || name == "modprobe.blacklist") && slices.Contains(strings.Split(underscored(list), ","), module) {
			found = append(found, bar{cmdline, word, hard})
		}
	}
	order, _ := f.Files.DropIns(ModprobeDirs, ".conf")
	for _, file := range order {
		for line := range strings.SplitSeq(strings.ReplaceAll(file.Text, "\\\n", ""), "\n") {
			w := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
			if len(w) < 2 || underscored(w[1]) != module {
				continue
			}
			command := strings.Join(w[2:], " ")
			switch {
			case w[0] == "blacklist":
				found = append(found, bar{file.Path, strings.Join(w, " "), false})
			case w[0] == "install" && command != "" && !strings.Contains(command, "modprobe") && !strings.Contains(command, "insmod"):
				found = append(found, bar{file.Path, strings.Join(w, " "), true})
			}
		}
	}
	return found
}

// KeptOut returns the line of modprobe.d that prevents loading a module; is is false without one.
func (f *Facts) KeptOut(module string) (file, line string, is bool) {
	for _, b := range f.barred(module) {
		if b.hard {
			return b.file, b.line, true
		}
	}
	return "", "", false
}

// underscored: the kernel and modprobe take - and _ in a module's name as the same.
func underscored(name string) string { return strings.ReplaceAll(name, "-", "_") }
