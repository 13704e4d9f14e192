package host

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/advise"
)

// modules looks each module up in what is loaded, built in, and on disk.
func (h Host) modules(k advise.Kernel, c advise.Cong) (all []advise.Module) {
	dir := "/lib/modules/" + k.Release + "/"
	loaded := firstWords(h.text("/proc/modules"))
	builtin := moduleNames(h.text(dir + "modules.builtin"))
	dep, depErr := h.Files.Read(dir + "modules.dep")
	onDisk := moduleNames(dep)
	for _, m := range advise.WantedModules {
		state := advise.Unknown[advise.ModuleState]("")
		config := k.Config.Value[m.Config]
		switch {
		case loaded[m.Name]:
			state = advise.Know(advise.ModuleLoaded)
		case builtin[m.Name], config == "y", slices.Contains(c.Available.Value, strings.TrimPrefix(m.Name, "tcp_")):
			state = advise.Know(advise.ModuleBuiltin)
		case onDisk[m.Name]:
			state = advise.Know(advise.ModuleLoadable)
		case k.Config.OK() && config == "", depErr == nil:
			state = advise.Know(advise.ModuleAbsent)
		default:
			state.Why = dir + " is not there"
			if !errors.Is(depErr, fs.ErrNotExist) {
				state.Why = dir + "modules.dep: " + Why(depErr)
			}
		}
		all = append(all, advise.Module{Name: m.Name, State: state, Params: h.params(m.Name),
			Version: strings.TrimSpace(h.text("/sys/module/" + m.Name + "/version"))})
	}
	return all
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

// moduleNames reads the names out of lines like "kernel/net/sched/sch-fq.ko.zst: ...":
// the kernel takes - and _ in a name as the same.
func moduleNames(text string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(text) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		name, _, _ := strings.Cut(path.Base(file), ".ko")
		set[strings.ReplaceAll(name, "-", "_")] = true
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
