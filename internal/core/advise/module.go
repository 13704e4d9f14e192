package advise

import "slices"

// WantedModules are those whose state is read, with the kernel option that each is built by.
var WantedModules = []struct{ Name, Config string }{
	{"tcp_bbr", "TCP_CONG_BBR"},
	{"sch_fq", "NET_SCH_FQ"},
	{"sch_fq_codel", "NET_SCH_FQ_CODEL"},
	{"sch_tbf", "NET_SCH_TBF"},
	{"sch_netem", "NET_SCH_NETEM"},
	{"ifb", "IFB"},
	{"inet_diag", "INET_DIAG"},
	{"tcp_diag", "INET_TCP_DIAG"},
}

// Module finds one of the wanted modules by name.
func (f *Facts) Module(name string) Module {
	i := slices.IndexFunc(f.Modules, func(m Module) bool { return m.Name == name })
	if i < 0 {
		return Module{Name: name, State: Unknown[ModuleState]("not looked for")}
	}
	return f.Modules[i]
}
