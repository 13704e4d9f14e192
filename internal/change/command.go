package change

import (
	"fmt"
	"strings"
)

// maxCommandBytes: nobody types more than a screen; the journal has it.
const maxCommandBytes = 2000

// Command returns how a person sets a step's target to a value by hand, if congctl could
// not; "" if no program of a host can, and only the same verb again does.
func (s Step) Command(v Value) string {
	switch s.Kind {
	case File:
		return fileCommand(s.Target, v)
	case Dir:
		if v.Present {
			return fmt.Sprintf("mkdir -m %o %s", v.Mode, Quoted(s.Target))
		}
		return "rmdir " + Quoted(s.Target)
	case Sysctl:
		return "sysctl -w " + Quoted(s.Target+"="+strings.Join(strings.Fields(v.Text), " "))
	case Qdisc:
		return treeCommand(s.Target, v)
	case TSO, GSO:
		return "ethtool -K " + Quoted(s.Target) + " " + strings.TrimPrefix(string(s.Kind), "offload-") + " " + v.Text
	case Egress:
		if v.Present && sameTree("", v.Text, Named) {
			return "tc qdisc del dev " + Quoted(s.Target) + " root"
		}
	case Module:
		if v.Present {
			return "modprobe " + Quoted(s.Target)
		}
		return "modprobe -r " + Quoted(s.Target)
	case Program:
		if !v.Present {
			return "rm " + Quoted(s.Target)
		}
	}
	return ""
}

func fileCommand(target string, v Value) string {
	if !v.Present {
		return "rm " + Quoted(target)
	}
	c := fmt.Sprintf("printf %%s %s | install -m %o -o %d -g %d /dev/stdin %s", Quoted(v.Text), v.Mode, v.UID, v.GID, Quoted(target))
	if len(c) > maxCommandBytes || strings.Contains(v.Text, "\x00") {
		return ""
	}
	return c
}

// treeCommand knows trees of one qdisc: the kernel's own, which comes when the root goes,
// or one without options and size table.
func treeCommand(link string, v Value) string {
	nodes, err := ParseTree(v.Text)
	switch {
	case err != nil || len(nodes) == 0:
		return ""
	case nodes[0].Handle == 0 && !nodes[0].Default:
		return "tc qdisc del dev " + Quoted(link) + " root"
	case len(nodes) == 1 && len(nodes[0].Options)+len(nodes[0].Stab) == 0:
		return fmt.Sprintf("tc qdisc replace dev %s root handle %x: %s", Quoted(link), nodes[0].Handle>>16, nodes[0].Kind)
	}
	return ""
}

const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:@%+,"

// Quoted returns a word quoted for a shell.
func Quoted(s string) string {
	if s != "" && strings.Trim(s, plainLetters) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
