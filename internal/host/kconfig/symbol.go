package kconfig

import "slices"

// Symbol is one that a feature needs.
type Symbol struct {
	Name   string   // without the prefix
	Module string   // the module's name, for a tristate; "": y or n only
	Needs  []string // symbols without which this one is dropped
	Since  Version  // the first Linux that has it; zero: before 2.6.12, where history begins
	About  string
	Hard   bool // its dependencies must be y, m is not enough
	// Besides are lines that a fragment needs to get the symbol and that nothing else
	// requires: a choice's members, and whatever blocks it.
	Besides []string
}

// symbols in the order of a fragment: dependencies come first. They are those of Linux 6.1's
// Kconfig files that a person can set, without those that it selects by itself.
var symbols = []Symbol{
	{Name: "MODULES", About: "loadable modules: without them m is no value"},
	{Name: "NET", About: "networking"},
	{Name: "INET", Needs: []string{"NET"}, About: "TCP/IP"},
	{Name: "TCP_CONG_ADVANCED", Needs: []string{"INET"}, About: "the menu of congestion controls: without it there is only CUBIC"},
	{Name: "TCP_CONG_BBR", Module: "tcp_bbr", Needs: []string{"TCP_CONG_ADVANCED"}, Since: Version{4, 9}, About: "BBR; TCP paces by itself since 4.13"},
	{Name: "DEFAULT_BBR", Needs: []string{"TCP_CONG_BBR"}, Since: Version{4, 9}, Hard: true, About: "BBR for every connection from boot on, without a sysctl",
		Besides: []string{unsetLine("DEFAULT_CUBIC"), unsetLine("DEFAULT_RENO")}},
	{Name: "NET_SCHED", Needs: []string{"NET"}, About: "queueing disciplines"},
	{Name: "NET_SCH_FQ", Module: "sch_fq", Needs: []string{"NET_SCHED"}, Since: Version{3, 12}, About: "fq: paces each connection; before 4.13 BBR needs it"},
	{Name: "NET_SCH_FQ_CODEL", Module: "sch_fq_codel", Needs: []string{"NET_SCHED"}, Since: Version{3, 5}, About: "fq_codel: a short queue below a rate limit"},
	{Name: "NET_SCH_TBF", Module: "sch_tbf", Needs: []string{"NET_SCHED"}, About: "tbf: a limit of the outbound rate"},
	{Name: "NET_SCH_NETEM", Module: "sch_netem", Needs: []string{"NET_SCHED"}, About: "netem: loss and delay for tests"},
	{Name: "NET_CLS_ACT", Needs: []string{"NET_SCHED"}, About: "actions of filters"},
	{Name: "NET_SCH_INGRESS", Module: "sch_ingress", Needs: []string{"NET_CLS_ACT"}, About: "the hook for inbound packets"},
	{Name: "NET_CLS_U32", Module: "cls_u32", Needs: []string{"NET_SCHED"}, About: "a filter that can match every packet"},
	{Name: "NET_CLS_MATCHALL", Module: "cls_matchall", Needs: []string{"NET_SCHED"}, Since: Version{4, 8}, About: "a filter that matches every packet"},
	{Name: "NET_ACT_POLICE", Module: "act_police", Needs: []string{"NET_CLS_ACT"}, About: "drops packets above a rate"},
	{Name: "NET_ACT_MIRRED", Module: "act_mirred", Needs: []string{"NET_CLS_ACT"}, About: "redirects packets to another link"},
	{Name: "NETDEVICES", Needs: []string{"NET"}, About: "network links"},
	{Name: "NET_CORE", Needs: []string{"NETDEVICES"}, About: "links without hardware"},
	{Name: "IFB", Module: "ifb", Needs: []string{"NET_CORE", "NET_ACT_MIRRED"}, About: "a link with a queue for inbound packets"},
	{Name: "INET_DIAG", Module: "inet_diag", Needs: []string{"INET"}, Since: Version{2, 6, 14}, About: "dumps of sockets"},
	{Name: "INET_TCP_DIAG", Module: "tcp_diag", Needs: []string{"INET_DIAG"}, Since: Version{2, 6, 14}, About: "dumps of TCP sockets with their congestion control"},
	{Name: "BPF_SYSCALL", Since: Version{3, 18}, About: "eBPF"},
	{Name: "CGROUPS", About: "control groups"},
	{Name: "CGROUP_BPF", Needs: []string{"CGROUPS", "BPF_SYSCALL", "INET"}, Since: Version{4, 10}, About: "eBPF on cgroups; sock_ops since 4.13"},
	{Name: "DEBUG_KERNEL", About: "the menu of debugging"},
	{Name: "DEBUG_INFO", Needs: []string{"DEBUG_KERNEL"}, About: "debugging information, from which BTF is made",
		Besides: []string{unsetLine("DEBUG_INFO_NONE"), setLine("DEBUG_INFO_DWARF4", Yes), unsetLine("DEBUG_INFO_REDUCED"), unsetLine("DEBUG_INFO_SPLIT")}},
	{Name: "DEBUG_INFO_BTF", Needs: []string{"BPF_SYSCALL", "DEBUG_INFO"}, Since: Version{5, 2}, About: "types of the running kernel; the build needs pahole (package dwarves)"},
}

func setLine(symbol string, v Value) string { return Prefix + symbol + "=" + string(v) }

func unsetLine(symbol string) string { return "# " + Prefix + symbol + " is not set" }

// find returns a symbol of the table, nil if no feature needs it.
func find(name string) *Symbol {
	if i := slices.IndexFunc(symbols, func(s Symbol) bool { return s.Name == name }); i >= 0 {
		return &symbols[i]
	}
	return nil
}

// closure returns names with all that they need, in the order of the table.
func closure(names []string) (all []*Symbol) {
	in := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if in[name] {
			return
		}
		in[name] = true
		for _, need := range find(name).Needs {
			visit(need)
		}
	}
	for _, name := range names {
		visit(name)
	}
	for i := range symbols {
		if in[symbols[i].Name] {
			all = append(all, &symbols[i])
		}
	}
	return all
}
