package kconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Feature is what a user needs from a kernel.
type Feature struct {
	Name    string
	About   string
	Symbols []string          // its own; their dependencies follow
	Or      map[string]string // maps a symbol to another one that serves as well
}

const defaultBBR = "bbr-default"

var features = []Feature{
	{Name: "bbr", About: "the congestion control", Symbols: []string{"TCP_CONG_BBR"}},
	{Name: "fq", About: "pacing in the queue of the link: recommended for BBR, needed before 4.13", Symbols: []string{"NET_SCH_FQ"}},
	{Name: "tbf", About: "a limit of the outbound rate", Symbols: []string{"NET_SCH_TBF"}},
	{Name: "netem", About: "emulated paths, for the lab on this host", Symbols: []string{"NET_SCH_NETEM"}},
	{Name: "inet-diag", About: "the state of each TCP connection", Symbols: []string{"INET_DIAG", "INET_TCP_DIAG"}},
	{Name: "fq-codel", About: "a short queue below a rate limit", Symbols: []string{"NET_SCH_FQ_CODEL"}},
	{Name: "ingress", About: "a limit of the inbound rate: congctl shape --ingress", Symbols: []string{"NET_SCH_INGRESS", "NET_CLS_MATCHALL", "NET_ACT_MIRRED", "IFB"}, Or: map[string]string{"NET_CLS_MATCHALL": "NET_CLS_U32"}},
	{Name: "policer", About: "an emulated policer, for the lab on this host", Symbols: []string{"NET_SCH_INGRESS", "NET_CLS_MATCHALL", "NET_ACT_POLICE"}},
	{Name: "cgroup-bpf", About: "eBPF on cgroups: treats single networks", Symbols: []string{"BPF_SYSCALL", "CGROUPS", "CGROUP_BPF"}},
	{Name: defaultBBR, About: "BBR for every connection from boot on, without a sysctl; BBR must be built in", Symbols: []string{"DEFAULT_BBR"}},
	{Name: "btf", About: "congctl's eBPF program: types of the running kernel", Symbols: []string{"DEBUG_INFO_BTF"}},
}

// A purpose stands for several features.
const purposeAll, purposeLoop, purposeLab = "all", "loop", "lab"

// purposes, with the features of each.
var purposes = map[string][]string{
	purposeAll:  FeatureNames(),
	purposeLoop: {"bbr", "inet-diag", "cgroup-bpf", "btf"},                         // what congctl up needs to treat by eBPF
	purposeLab:  {"bbr", "fq", "tbf", "netem", "inet-diag", "fq-codel", "policer"}, // congctl lab on this host's own kernel
}

// FeatureNames returns the names in the order of the table.
func FeatureNames() (names []string) {
	for _, f := range features {
		names = append(names, f.Name)
	}
	return names
}

// Features finds features by their own names or by a purpose, in the order of the table,
// each once. Without names it takes the fallback.
func Features(names, fallback []string) (list []Feature, err error) {
	if len(names) == 0 {
		names = fallback
	}
	var wanted []string
	for _, n := range names {
		some, known := purposes[n]
		if !known && !slices.Contains(FeatureNames(), n) {
			return nil, fmt.Errorf("feature %q: use %s, or %s, %s or %s for several", n, strings.Join(FeatureNames(), ", "), purposeLoop, purposeLab, purposeAll)
		}
		wanted = append(append(wanted, some...), n)
	}
	for _, f := range features {
		if slices.Contains(wanted, f.Name) {
			list = append(list, f)
		}
	}
	return list, nil
}

// Checked returns what a check looks at by default: what congctl up needs.
func Checked() []string { return []string{purposeLoop} }

// Asked returns the features of a fragment by default: BBR on, seen, and tried out.
func Asked() []string { return []string{"bbr", "fq", "tbf", "netem", "inet-diag"} }
