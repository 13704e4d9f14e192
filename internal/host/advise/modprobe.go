package advise

import "strings"

// Loads finds the file that loads a module at boot; "" for none.
func (f *Facts) Loads(module string) string {
	order, _ := f.Files.DropIns(ModulesLoadDirs, ".conf")
	if etc, ok := f.Files.Get("/etc/modules"); ok {
		order = append(order, etc)
	}
	for _, file := range order {
		for line := range strings.Lines(file.Text) {
			if w := strings.Fields(line); len(w) > 0 && underscored(w[0]) == module {
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

func (f *Facts) barred(module string) (found []bar) {
	order, _ := f.Files.DropIns(ModprobeDirs, ".conf")
	for _, file := range order {
		for line := range strings.Lines(file.Text) {
			w := strings.Fields(line)
			if len(w) < 2 || underscored(w[1]) != module {
				continue
			}
			command := strings.Join(w[2:], " ")
			switch {
			case w[0] == "blacklist":
				found = append(found, bar{file.Path, strings.Join(w, " "), false})
			case w[0] == "install" && (strings.HasSuffix(command, "/true") || strings.HasSuffix(command, "/false")):
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
