package advise

import (
	"regexp"
	"strings"
)

// cmdline is the File of settings on the kernel's command line.
const cmdline = "the kernel's command line"

// cmdlineSets finds a key among the settings of the kernel's command line, "sysctl.net.core.x=y",
// which the kernel makes before the first process starts: whatever a boot sets later counts.
func (f *Facts) cmdlineSets(key string) (set []Setting) {
	if f.older(kernelCmdline) || No(f.System.InitNetNS) {
		return nil
	}
	for _, word := range strings.Fields(f.Kernel.Cmdline) {
		name, value, _ := strings.Cut(strings.ReplaceAll(word, `"`, ""), "=")
		name, is := strings.CutPrefix(name, "sysctl.")
		if !is || strings.ReplaceAll(name, "/", ".") != key {
			continue
		}
		s := Setting{File: cmdline, Key: key, Value: value}
		if m := f.Module("tcp_" + value).State.Value; key == KeyCong && (m == ModuleLoaded || m == ModuleLoadable || f.Kernel.Config.Value["TCP_CONG_"+strings.ToUpper(value)] == "m") {
			s = Setting{File: cmdline, Key: key, Odd: true, If: value, Value: "sets " + value + " before a boot can surely load its module"}
		}
		set = append(set, s)
	}
	return set
}

// writerSets finds what the other writers set a key to. Their order is not known, so that each
// counts only as uncertain: it changes nothing where the key has its value anyway.
func (f *Facts) writerSets(key string) (set []Setting) {
	forms := plainForms(key)
	for _, file := range f.Writers {
		if file.Why != "" {
			set = append(set, Setting{File: file.Path, Key: key, Value: file.Why, Odd: true})
			continue
		}
		n := 0
		for text := range strings.Lines(file.Text) {
			n++
			if s, is := f.lineSets(strings.TrimSpace(text), key, forms); is {
				s.File, s.Line, s.Key, s.Odd = file.Path, n, key, true
				set = append(set, s)
			}
		}
	}
	return set
}

// lineSets reads a line of any program's: of a unit, a crontab, tmpfiles.d. The value is read only
// where it is plain.
func (f *Facts) lineSets(line, key string, forms []*regexp.Regexp) (s Setting, is bool) {
	if line == "" || line[0] == '#' || line[0] == ';' {
		return s, false
	}
	if mentions([]string{line}, key) {
		s.If = plainValue(line, key, forms)
		return s, true
	}
	at := strings.Index(line, "sysctl ")
	if at < 0 {
		return s, false
	}
	for _, c := range commands(line[at:]) {
		for _, found := range f.commandSets(c, key) {
			s.If, is = found.Value, true
			if found.Odd {
				s.If = ""
			}
		}
	}
	return s, is
}

// plainForms are the ways in which a line gives a key a value that can be read without running it.
func plainForms(key string) (forms []*regexp.Regexp) {
	name := `(?:` + regexp.QuoteMeta(key) + `|` + regexp.QuoteMeta(strings.ReplaceAll(key, ".", "/")) + `)`
	const value = `["']?([A-Za-z0-9_-]+)["']?`
	for _, form := range []string{
		name + `["'}]*\s*=\s*` + value + `["']*(?:\s|;|,|$)`,
		`echo\s+(?:-n\s+)?` + value + `\s*(?:>+|\|\s*tee)\s*["']?/proc/sys/` + name,
		`^w\S*\s+/proc/sys/` + name + `(?:\s+\S+){4}\s+` + value + `$`, // of tmpfiles.d
	} {
		forms = append(forms, regexp.MustCompile(form))
	}
	return forms
}

// plainValue is the one value that a line gives to a key, "" if that is not plain.
func plainValue(line, key string, forms []*regexp.Regexp) string {
	var found []string
	for _, form := range forms {
		for _, m := range form.FindAllStringSubmatch(line, -1) {
			found = append(found, m[1])
		}
	}
	if len(found) != 1 || strings.Count(line, short(key)) != 1 {
		return ""
	}
	return found[0]
}
