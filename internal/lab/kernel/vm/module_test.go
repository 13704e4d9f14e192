package vm

import (
	"slices"
	"testing"
)

func TestModulesLoadAfterWhatTheyNeed(t *testing.T) {
	all := kernelModules{}
	for _, name := range []string{"tcp_diag", "mptcp_diag", "inet_diag", "veth", "broken"} {
		all[name] = name + ".ko"
	}
	direct := map[string][]string{"tcp_diag": {"inet_diag"}, "mptcp_diag": {"inet_diag", "tcp_diag"}, "broken": {"absent"}}
	needs := func(name string) ([]string, error) { return direct[name], nil }
	order, missing, err := all.order([]string{"mptcp_diag", "tcp_cubic", "inet_diag", "veth"}, needs)
	if err != nil || !slices.Equal(order, []string{"inet_diag", "tcp_diag", "mptcp_diag", "veth"}) || !slices.Equal(missing, []string{"tcp_cubic"}) {
		t.Errorf("order %v, missing %v, %v", order, missing, err)
	}
	if _, _, err := all.order([]string{"broken"}, needs); err == nil {
		t.Error("a module without what it needs was accepted")
	}
}

func TestModuleNamesAndNeeds(t *testing.T) {
	for path, want := range map[string]string{"a/sch_fq.ko": "sch_fq", "a/nf-tables.ko.xz": "nf_tables"} {
		if name, ok := moduleName(path); name != want || !ok {
			t.Errorf("%s: %q, %v", path, name, ok)
		}
	}
	if _, ok := moduleName("a/modules.order"); ok {
		t.Error("a list was taken for a module")
	}
	info := "license=GPL\x00depends=inet-diag,tcp_diag\x00name=x\x00"
	if got := dependsOf([]byte(info)); !slices.Equal(got, []string{"inet_diag", "tcp_diag"}) {
		t.Errorf("needs %q", got)
	}
	if got := dependsOf([]byte("depends=\x00name=x\x00")); len(got) != 0 {
		t.Errorf("needs %q of nothing", got)
	}
}

func TestSignatureIsTakenOff(t *testing.T) {
	signature := "PKCS#7 of 9"
	info := make([]byte, 12)
	info[11] = byte(len(signature))
	for _, c := range []struct{ module, want string }{
		{"ELF" + signature + string(info) + signed, "ELF"},
		{"ELF", "ELF"},
		{signed, signed},
		{string(info[1:]) + signed, string(info[1:]) + signed},
		{"E" + string(info) + signed, "E" + string(info) + signed}, // longer than the module
	} {
		if got := unsigned([]byte(c.module)); string(got) != c.want {
			t.Errorf("%q became %q", c.module, got)
		}
	}
}
