package scenario

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/strict"
)

// flows reads the list from scratch: an override replaces it whole.
func (r *reader) flows(d *draft, n *strict.Node) {
	r.touch(d, "flows", n)
	d.flows = nil
	for _, item := range r.List(n, "flows") {
		f := flowDraft{Flow: Flow{Name: "flow"}, count: 1}
		// The name comes first: the fields' own names have it.
		for i := 0; i+1 < len(item.Content); i += 2 {
			if item.Content[i].Value == "name" {
				f.Name = item.Content[i+1].Value
			}
		}
		r.Each(item, "flows", func(key string, k, v *strict.Node) {
			assign(r, d, &f, flowKeys, "flows."+f.Name+"."+key, key, k, v)
		})
		d.flows = append(d.flows, f)
	}
}

// resolved returns the flows one by one: Count of a kind are numbered from 1.
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
	"net.ipv4.tcp_no_metrics_save":              "cells share no metrics",
	"net.ipv4.tcp_allowed_congestion_control":   "write it in arms",
	"net.ipv4.tcp_available_congestion_control": "it cannot be set",
}

func (r *reader) sysctl(d *draft, name string, v *strict.Node) {
	field := "sysctls." + name
	value, ok := r.Scalar(v, field)
	switch {
	case !ok:
		return
	case !strings.HasPrefix(name, "net.") || !word.MatchString(strings.ReplaceAll(name, ".", "")) || strings.Contains(name, ".."):
		r.Fault(v, field, "", "not a sysctl of a network namespace; write it as net.ipv4.tcp_...")
	case ownedSysctls[name] != "":
		r.Fault(v, field, "", "not set here; "+ownedSysctls[name])
	case strings.ContainsAny(value, "\n\x00"):
		r.Fault(v, field, "", "more than one line; write one value")
	}
	r.touch(d, field, v)
	if d.cell.Sysctls == nil {
		d.cell.Sysctls = map[string]string{}
	}
	d.cell.Sysctls[name] = value
}
