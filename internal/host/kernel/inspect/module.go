package host

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/core/kconfig"
)

// modules looks each module up in what is loaded, built in, and on disk. odd is why the
// lists on disk could not be read.
func (h Host) modules(k advise.Kernel, c advise.Cong, e *kconfig.Evidence, odd error) (all []advise.Module) {
	loaded := firstWords(h.text("/proc/modules"))
	disk := e.Modules
	if disk == nil {
		disk = &kconfig.Modules{}
	}
	for _, m := range advise.WantedModules {
		state := advise.Unknown[advise.ModuleState]("")
		config := k.Config.Value[m.Config]
		switch {
		case loaded[m.Name]:
			state = advise.Know(advise.ModuleLoaded)
		case disk.Builtin[m.Name], config == "y", slices.Contains(c.Available.Value, strings.TrimPrefix(m.Name, "tcp_")):
			state = advise.Know(advise.ModuleBuiltin)
		case disk.Files[m.Name]:
			state = advise.Know(advise.ModuleLoadable)
		case k.Config.OK() && config == "", disk.Files != nil:
			state = advise.Know(advise.ModuleAbsent)
		default:
			state.Why = noList(e, odd)
		}
		all = append(all, advise.Module{Name: m.Name, State: state, Params: h.params(m.Name),
			Version: strings.TrimSpace(h.text("/sys/module/" + m.Name + "/version"))})
	}
	return all
}

// noList says why there is no list of the modules on disk.
func noList(e *kconfig.Evidence, odd error) string {
	if odd != nil {
		return odd.Error()
	}
	dir := "/lib/modules/" + e.Release + "/"
	for _, s := range e.Sources {
		if s.Path == dir+"modules.dep" && s.Note != fs.ErrNotExist.Error() {
			return s.Path + ": " + s.Note
		}
	}
	return dir + " is not there"
}

func firstWords(text string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(text) {
		if w := strings.Fields(line); len(w) > 0 {
			set[w[0]] = true
		}
	}
	return set
}

func (h Host) params(module string) map[string]string {
	dir := "/sys/module/" + module + "/parameters"
	names, err := h.Files.List(dir)
	if err != nil {
		return nil
	}
	params := map[string]string{}
	for _, n := range names {
		if v, err := h.Files.Read(dir + "/" + n); err == nil {
			params[n] = strings.TrimSpace(v)
		}
	}
	return params
}
