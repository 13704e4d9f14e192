package inspect

import (
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kconfig"
)

// modules looks each module up among the loaded, the built in, and those on disk. odd is
// why the lists on disk could not be read.
func (h Host) modules(k advise.Kernel, c advise.Cong, e *kconfig.Evidence, odd error) map[string]advise.Module {
	all := map[string]advise.Module{}
	loaded := firstWords(h.text("/proc/modules"))
	disk := e.Modules
	if disk == nil {
		disk = &kconfig.Modules{}
	}
	for name, option := range advise.WantedModules {
		state := advise.Unknown[advise.ModuleState]("")
		config := k.Config.Value[option]
		switch {
		case loaded[name]:
			state = advise.Know(advise.ModuleLoaded)
		case disk.Builtin[name], config == "y", slices.Contains(c.Available.Value, strings.TrimPrefix(name, "tcp_")):
			state = advise.Know(advise.ModuleBuiltin)
		case disk.Files[name]:
			state = advise.Know(advise.ModuleLoadable)
		case k.Config.OK() && config == "", disk.Files != nil:
			state = advise.Know(advise.ModuleAbsent)
		default:
			state.Why = noList(e, odd)
		}
		all[name] = advise.Module{State: state, Version: strings.TrimSpace(h.text("/sys/module/" + name + "/version"))}
	}
	return all
}

// congs names every congestion control that the kernel has, if its configuration or its modules on
// disk are known: one that is neither registered nor there is refused.
func congs(k advise.Kernel, c advise.Cong, disk *kconfig.Modules) (names []string) {
	if !c.Available.OK() || disk == nil && !k.Config.OK() || disk != nil && disk.Files == nil {
		return nil
	}
	names = slices.Clone(c.Available.Value)
	if disk != nil {
		for _, file := range slices.Sorted(maps.Keys(disk.Files)) {
			if name, is := strings.CutPrefix(file, "tcp_"); is {
				names = append(names, name)
			}
		}
		return names
	}
	for _, option := range slices.Sorted(maps.Keys(k.Config.Value)) {
		if name, is := strings.CutPrefix(option, "TCP_CONG_"); is && name != "ADVANCED" {
			names = append(names, strings.Replace(strings.ToLower(name), "hstcp", "highspeed", 1))
		}
	}
	return names
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
