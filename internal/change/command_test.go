package change

import (
	"strings"
	"testing"
)

// TestCommand: a person can type each, and a shell takes it as it is meant.
func TestCommand(t *testing.T) {
	fq := Tree([]Node{{Kind: "fq", Handle: 0xcc000000, Parent: RootParent, Options: []byte{1}}})
	for _, c := range []struct {
		kind   Kind
		target string
		old    Value
		want   string
	}{
		{Sysctl, "net.ipv4.tcp_congestion_control", Text("cubic"), "sysctl -w net.ipv4.tcp_congestion_control=cubic"},
		{Sysctl, "net.ipv4.tcp_wmem", Text("4096\t16384\t4194304"), "sysctl -w 'net.ipv4.tcp_wmem=4096 16384 4194304'"},
		{File, "/etc/sysctl.d/zz.conf", Absent, "rm /etc/sysctl.d/zz.conf"},
		{File, "/etc/it's", FileText("a'b\n"), "printf %s 'a'\\''b\n' | install -m 644 -o 0 -g 0 /dev/stdin '/etc/it'\\''s'"},
		{File, "/etc/long", FileText(strings.Repeat("x", maxCommandBytes)), ""},
		{Dir, "/etc/modules-load.d", Absent, "rmdir /etc/modules-load.d"},
		{Dir, "/etc/d", Value{Present: true, Mode: 0o750}, "mkdir -m 750 /etc/d"},
		{Module, "tcp_bbr", Absent, "modprobe -r tcp_bbr"},
		{Module, "tcp_bbr", Text("loaded"), "modprobe tcp_bbr"},
		{TSO, "eth0", Text("on"), "ethtool -K eth0 tso on"},
		{Egress, "eth0", Text("fq_codel ffffffff 0 01020304"), "tc qdisc del dev eth0 root"},
		{Egress, "eth0", Text("fq ffffffff 80010000 01020304"), ""},
		{Qdisc, "eth0", Tree([]Node{{Kind: "pfifo_fast", Parent: RootParent, Options: []byte{1}}}), "tc qdisc del dev eth0 root"},
		{Qdisc, "eth0", Tree([]Node{{Kind: "pfifo_fast", Handle: 0x80010000, Parent: RootParent}}), "tc qdisc replace dev eth0 root handle 8001: pfifo_fast"},
		{Qdisc, "eth0", fq, ""},
		{Qdisc, "eth0", Absent, ""},
		{"limit", "eth0", Text("1"), ""},
	} {
		if got := (Step{Kind: c.kind, Target: c.target}).Command(c.old); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.kind, c.target, got, c.want)
		}
	}
}
