package scenario

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// flows reads the list anew: an override replaces it as a whole.
func (r *reader) flows(d *draft, n *yaml.Node) {
	r.touch(d, "flows", n)
	d.flows = nil
	for _, item := range r.list(n, "flows") {
		f := flowDraft{Flow: Flow{Name: "flow"}, count: 1}
		// The name comes first: the fields' own names have it.
		for i := 0; i+1 < len(item.Content); i += 2 {
			if item.Content[i].Value == "name" {
				f.Name = item.Content[i+1].Value
			}
		}
		r.each(item, "flows", func(key string, k, v *yaml.Node) {
			field := "flows." + f.Name + "." + key
			if s, ok := lookup(flowKeys, key); ok {
				assign(r, d, &f, s, field, v)
			} else {
				r.unknown(k, field, names(flowKeys))
			}
		})
		d.flows = append(d.flows, f)
	}
}

// resolved gives the flows one by one: Count of a kind are numbered from 1.
func (f flowDraft) resolved(arm Arm) (out []Flow) {
	for i := range f.count {
		one := f.Flow
		if one.Cong == "" {
			one.Cong = arm.Cong
		}
		one.StartUs += uint64(i) * f.staggerUs
		if f.count > 1 {
			one.Name = fmt.Sprintf("%s%d", f.Name, i+1)
		}
		out = append(out, one)
	}
	return out
}

// ownedSysctls have a key of their own, or would undo what makes a cell valid.
var ownedSysctls = map[string]string{
	"net.ipv4.tcp_congestion_control":           "write it in arms",
	"net.core.default_qdisc":                    "write it in arms",
	"net.ipv4.tcp_rmem":                         "write sender.rcvbuf",
	"net.ipv4.tcp_wmem":                         "write sender.sndbuf",
	"net.ipv4.tcp_ecn":                          "write sender.ecn",
	"net.ipv4.tcp_no_metrics_save":              "a cell never remembers another one",
	"net.ipv4.tcp_allowed_congestion_control":   "write it in arms",
	"net.ipv4.tcp_available_congestion_control": "it cannot be set",
}

func (r *reader) sysctl(d *draft, name string, v *yaml.Node) {
	field := "sysctls." + name
	value, ok := r.scalar(v, field)
	switch {
	case !ok:
		return
	case !strings.HasPrefix(name, "net.") || !word.MatchString(strings.ReplaceAll(name, ".", "")) || strings.Contains(name, ".."):
		r.fault(v, field, "", "not a sysctl of a network namespace; write it as net.ipv4.tcp_...")
	case ownedSysctls[name] != "":
		r.fault(v, field, "", "not set here; "+ownedSysctls[name])
	case strings.ContainsAny(value, "\n\x00"):
		r.fault(v, field, "", "more than one line; write one value")
	}
	r.touch(d, field, v)
	if d.cell.Sysctls == nil {
		d.cell.Sysctls = map[string]string{}
	}
	d.cell.Sysctls[name] = value
}
