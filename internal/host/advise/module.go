package advise

// WantedModules are those whose state is read, with the kernel option that each is built by.
var WantedModules = map[string]string{"tcp_bbr": "TCP_CONG_BBR", "tcp_bbr2": "TCP_CONG_BBR2", "tcp_bbr3": "TCP_CONG_BBR3", "sch_fq": "NET_SCH_FQ"}

// Module finds one of the wanted modules by name.
func (f *Facts) Module(name string) Module {
	if m, ok := f.Modules[name]; ok {
		return m
	}
	return Module{State: Unknown[ModuleState]("not looked for")}
}
