package kconfig

import (
	"fmt"
	"slices"
	"strings"
)

// Feature is what a user asks a kernel for.
type Feature struct {
	Name    string
	About   string
	Symbols []string // its own; what they need follows
}

const defaultBBR = "bbr-default"

var features = []Feature{
	{"bbr", "the congestion control", []string{"TCP_CONG_BBR"}},
	{"fq", "pacing in the queue of the link: recommended for BBR, needed before 4.13", []string{"NET_SCH_FQ"}},
	{"tbf", "a limit of the outbound rate", []string{"NET_SCH_TBF"}},
	{"netem", "emulated paths: the lab on this host, not the product", []string{"NET_SCH_NETEM"}},
	{"inet-diag", "what each connection runs and measures", []string{"INET_DIAG", "INET_TCP_DIAG", "INET_DIAG_DESTROY"}},
	{"fq-codel", "a short queue below a rate limit", []string{"NET_SCH_FQ_CODEL"}},
	{"ingress", "limits of what arrives", []string{"NET_SCH_INGRESS", "NET_CLS_MATCHALL", "NET_ACT_POLICE", "NET_ACT_MIRRED", "IFB"}},
	{"cgroup-bpf", "moving single networks to another congestion control", []string{"BPF_SYSCALL", "CGROUPS", "CGROUP_BPF"}},
	{defaultBBR, "BBR for every connection from boot on, without a sysctl; BBR must be built in", []string{"DEFAULT_BBR"}},
	{"btf", "congctl's eBPF iterators: giving stolen callbacks back", []string{"DEBUG_INFO_BTF"}},
}

// asked are the features of a fragment where nothing else is said: BBR on, seen, and
// tried out.
var asked = []string{"bbr", "fq", "tbf", "netem", "inet-diag"}

// FeatureNames in the order of the table.
func FeatureNames() (names []string) {
	for _, f := range features {
		names = append(names, f.Name)
	}
	return names
}

// Features finds features by name, in the order of the table, each once. "all" is all of
// them; none is the fallback.
func Features(names, fallback []string) (list []Feature, err error) {
	if len(names) == 0 {
		names = fallback
	}
	for _, n := range names {
		if n != "all" && !slices.Contains(FeatureNames(), n) {
			return nil, fmt.Errorf("feature %q: use %s, or all", n, strings.Join(FeatureNames(), ", "))
		}
	}
	for _, f := range features {
		if slices.Contains(names, f.Name) || slices.Contains(names, "all") {
			list = append(list, f)
		}
	}
	return list, nil
}

// Checked are the features that a check looks at where nothing else is said: all but a
// default that `host enable` does not need.
func Checked() []string {
	return slices.DeleteFunc(FeatureNames(), func(n string) bool { return n == defaultBBR })
}

// Asked are the features of a fragment where nothing else is said.
func Asked() []string { return slices.Clone(asked) }
