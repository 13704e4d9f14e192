package advise

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Boot is what a setting will be after the next boot, and what sets it.
type Boot struct {
	Value string
	From  string // "/etc/sysctl.d/10-bbr.conf:2", "the kernel's own default"
	// Lost are the settings that a later one overrides with another value.
	Lost    []Setting
	Refused []Setting // by the kernel
}

// SysctlOrder returns the files that set sysctls at boot in the order in which they are
// applied, and those that exist but are not read: masked ones, and a sysctl.conf to which no
// directory has a link.
func (f *Facts) SysctlOrder() (applied, unread Files) {
	applied, unread = f.Files.DropIns(SysctlDirs, ".conf")
	conf, ok := f.Files.Get(SysctlConf)
	if ok && !slices.ContainsFunc(applied, func(d File) bool { return d.links(SysctlConf) }) {
		unread = append(unread, conf)
	}
	if !f.System.Applies.Value {
		return nil, append(applied, unread...)
	}
	return applied, unread
}

func (f File) links(to string) bool {
	if f.Link == "" {
		return false
	}
	if path.IsAbs(f.Link) {
		return f.Link == to
	}
	return path.Join(path.Dir(f.Path), f.Link) == to
}

// AfterBoot predicts a setting. A file that may not be read leaves it unknown: it could be
// the one that counts.
func (f *Facts) AfterBoot(key string) Known[Boot] {
	if why := f.System.Applies.Why; why != "" {
		return Unknown[Boot](why)
	}
	applied, _ := f.SysctlOrder()
	for _, file := range append(f.Files.hidden(SysctlDirs), applied...) {
		if file.Why != "" {
			return Unknown[Boot](file.Path + ": " + file.Why)
		}
	}
	order, refused := f.taken(grammarSystemd, grammarSystemd.written(applied, key))
	later, more := f.taken(grammar{}, f.later(key))
	early, _ := f.taken(grammar{}, f.cmdlineSets(key))
	order = settled(slices.Concat(early, order, later))
	if len(order) == 0 {
		b := f.builtinDefault(key)
		b.Value.Refused = append(refused, more...)
		return b
	}
	last := order[len(order)-1]
	switch {
	case last.Odd && last.Line == 0:
		return Unknown[Boot](last.File + ": " + last.Value)
	case last.Odd && last.Value == "":
		return Unknown[Boot](fmt.Sprintf("%s sets %s, too, and when is unknown", last.at(), key))
	case last.Odd:
		return Unknown[Boot](fmt.Sprintf("%s may set %s, but only running it would tell: %s", last.at(), key, last.Value))
	}
	b := Boot{Value: last.Value, From: last.at(), Refused: append(refused, more...)}
	for _, s := range order[:len(order)-1] {
		if s.Value != b.Value && !s.Odd {
			b.Lost = append(b.Lost, s)
		}
	}
	return Know(b)
}

// taken drops what the kernel refuses. systemd-sysctl writes a setting once, with its
// last value: if that is refused, the kernel's own default stays.
func (f *Facts) taken(g grammar, order []Setting) (kept, refused []Setting) {
	for _, s := range order {
		if !s.Odd && f.refuses(s) {
			refused = append(refused, s)
		} else {
			kept = append(kept, s)
		}
	}
	if n := len(order); g.once && n > 0 && f.refuses(order[n-1]) {
		return nil, refused
	}
	return kept, refused
}

// refuses reports whether the kernel is known to refuse a value.
func (f *Facts) refuses(s Setting) bool {
	names := f.Kernel.Congs
	return s.malformed() || s.sets(KeyCong) && len(names) > 0 && !slices.Contains(names, s.Value)
}

// malformed values of these keys are no name of anything: the kernel reads 15 characters and
// takes away none.
func (s Setting) malformed() bool {
	return s.Value == "" || len(s.Value) > 15 || strings.ContainsFunc(s.Value, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	})
}

func (s Setting) at() string {
	if s.Line == 0 {
		return s.File
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// later returns settings that are made after sysctls were applied, those of unknown time last. tuned's count
// only if /etc has none: unless told otherwise, it applies the files of /etc again after its own.
func (f *Facts) later(key string) (set []Setting) {
	if s, ok := f.tunedSets(key); ok && !(f.tunedReapplies() && f.setInEtc(key)) {
		set = append(set, s)
	}
	run, _ := f.scripts()
	for _, script := range run {
		if script.Why != "" {
			set = append(set, Setting{File: script.Path, Key: key, Value: script.Why, Odd: true})
		}
		set = append(set, f.scriptSets(script, key)...)
	}
	return append(set, f.writerSets(key)...)
}

// settled drops what changes nothing, whether it is reached or not.
func settled(order []Setting) (kept []Setting) {
	for _, s := range order {
		if n := len(kept); s.If == "" || n == 0 || kept[n-1].Odd || kept[n-1].Value != s.If {
			kept = append(kept, s)
		}
	}
	return kept
}

func (f *Facts) setInEtc(key string) bool {
	applied, _ := f.SysctlOrder()
	set, _ := grammarSystemd.settings(applied)
	return slices.ContainsFunc(set, func(s Setting) bool { return strings.HasPrefix(s.File, "/etc/") && s.sets(key) })
}

// builtinDefault is the value with which the kernel starts.
func (f *Facts) builtinDefault(key string) Known[Boot] {
	if !f.Kernel.Config.OK() {
		return Unknown[Boot]("nothing sets it at boot, and the kernel's configuration, which has the default, cannot be read: " + f.Kernel.Config.Why)
	}
	value := ""
	switch key {
	case KeyCong:
		value = f.Kernel.Config.Value["DEFAULT_TCP_CONG"]
	case KeyQdisc:
		value = f.Kernel.Config.Value["DEFAULT_NET_SCH"]
		if value == "" {
			value = "pfifo_fast"
		}
	}
	if value == "" {
		return Unknown[Boot]("nothing sets it at boot, and the kernel's configuration does not name the default")
	}
	return Know(Boot{Value: value, From: "the kernel's own default"})
}
