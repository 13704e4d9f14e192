package kconfig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// These tests merge fragments onto the configurations of a real kernel source, as a
// person would, and look at what came out. tools/check.sh kconfig makes the folder:
//
//	CONGCTL_KERNEL_SOURCE   a kernel's source, or the part of it that `make olddefconfig` needs
//	CONGCTL_KERNEL_CONFIG   a distribution's .config for it; "": those tests are left out
const sourceEnv, configEnv = "CONGCTL_KERNEL_SOURCE", "CONGCTL_KERNEL_CONFIG"

// tree is a kernel's source with a folder for what is made. A test has one: its Kconfig program, and each base, are made once.
type tree struct {
	t           *testing.T
	source, out string
	bases       map[string]string
}

func needSource(t *testing.T) *tree {
	t.Helper()
	source := os.Getenv(sourceEnv)
	if source == "" {
		t.Skip("needs " + sourceEnv + ", a kernel's source, and a minute (tools/check.sh kconfig); minimum kernel of the source 5.18")
	}
	return &tree{t, source, t.TempDir(), map[string]string{}}
}

// in returns the tree for a subtest.
func (r *tree) in(t *testing.T) *tree { return &tree{t, r.source, r.out, r.bases} }

func (r *tree) run(name string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = r.out
	cmd.Env = append(os.Environ(), "KCONFIG_CONFIG="+filepath.Join(r.out, ".config"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (r *tree) make(target string) {
	r.t.Helper()
	r.run("make", "-s", "-C", r.source, "O="+r.out, target)
}

// start leaves nothing but a base configuration, with BBR and the others unset.
func (r *tree) start(base string) {
	r.t.Helper()
	if text, made := r.bases[base]; made {
		r.write(".config", text)
		return
	}
	r.makeBase(base)
	text, err := os.ReadFile(filepath.Join(r.out, ".config"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.bases[base] = string(text)
}

func (r *tree) makeBase(base string) {
	r.t.Helper()
	if base != "distribution" {
		r.make(base)
		return
	}
	text, err := os.ReadFile(os.Getenv(configEnv))
	if err != nil {
		r.t.Skipf("needs %s, a distribution's .config: %v; minimum kernel of the source 5.18", configEnv, err)
	}
	r.write(".config", string(text)+"\n# CONFIG_TCP_CONG_ADVANCED is not set\n# CONFIG_NET_SCHED is not set\n# CONFIG_INET_DIAG is not set\n# CONFIG_CGROUP_BPF is not set\n# CONFIG_IFB is not set\n")
	r.make("olddefconfig")
	if c := r.config(); c.Get("TCP_CONG_BBR").On() || c.Get("NET_SCH_FQ").On() || !c.Get("VETH").On() {
		r.t.Fatal("the base still has BBR or fq, or is no distribution's")
	}
}

func (r *tree) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.out, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *tree) config() *Config {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, ".config"))
	if err != nil {
		r.t.Fatal(err)
	}
	return mustParse(r.t, string(text))
}

// merge adds a fragment as the steps of `generic` say, and returns what came out.
func (r *tree) merge(fragment string) *Config {
	r.t.Helper()
	r.write(fragmentFile, fragment)
	r.run(filepath.Join(r.source, "scripts/kconfig/merge_config.sh"), "-y", "-m", ".config", fragmentFile)
	r.make("olddefconfig")
	return r.config()
}

// TestFragmentsOnRealSource: from a small, an ordinary and a distribution's configuration,
// as modules and built in, everything that was asked for is in the result.
func TestFragmentsOnRealSource(t *testing.T) {
	r := needSource(t)
	for _, base := range []string{"tinyconfig", "defconfig", "distribution"} {
		for _, builtin := range []bool{false, true} {
			for _, names := range [][]string{Asked(), {"all"}} {
				t.Run(fmt.Sprintf("%s/builtin=%t/%s", base, builtin, names[0]), func(t *testing.T) {
					if !builtin && names[0] == "all" {
						names = Checked() // a module cannot be the default
					}
					r := r.in(t)
					r.start(base)
					r.mergeAndCheck(names, builtin)
				})
			}
		}
	}
}

func (r *tree) mergeAndCheck(names []string, builtin bool) {
	r.t.Helper()
	list, err := Features(names, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	before := Check(&Evidence{Config: r.config()}, list)
	if before.Verdict() == OK {
		r.t.Fatal("all was there before: the test proves nothing")
	}
	fragment := Fragment(list, builtin)
	result := r.merge(fragment)
	diff := Compare(mustParse(r.t, fragment), result, result.Release)
	after := Check(&Evidence{Config: result, Release: result.Release}, list)
	if !AllOK(diff) || after.Verdict() != OK {
		r.t.Errorf("%+v\n%+v", diff, after)
	}
	for _, d := range diff {
		if builtin && d.Got == Module {
			r.t.Errorf("%s is a module", d.Symbol)
		}
	}
}

// TestDroppedOnRealSource: a symbol without what it needs is dropped by a real Kconfig
// without an error, and we notice and name the need.
func TestDroppedOnRealSource(t *testing.T) {
	r := needSource(t)
	for symbol, need := range map[string]string{
		"TCP_CONG_BBR": "CONFIG_NET", "NET_SCH_FQ": "CONFIG_NET", "CGROUP_BPF": "CONFIG_NET", "DEBUG_INFO_BTF": "CONFIG_BPF_SYSCALL",
	} {
		t.Run(symbol, func(t *testing.T) {
			r := r.in(t)
			r.start("tinyconfig")
			fragment := setLine(symbol, Yes) + "\n"
			result := r.merge(fragment)
			diff := Compare(mustParse(t, fragment), result, result.Release)
			if diff[0].Verdict != Dropped || !strings.HasSuffix(diff[0].Why, " needs "+need) {
				t.Errorf("%+v", diff)
			}
		})
	}
}

// TestYoctoLayerOnRealSource: what the layer's .scc names is merged in its order, as the
// kernel tools of Yocto do it with the same script. Those tools themselves are not run.
func TestYoctoLayerOnRealSource(t *testing.T) {
	r := needSource(t)
	files := filepath.Join(layerDir, "recipes-kernel/linux/files")
	scc, err := os.ReadFile(filepath.Join(files, "congctl.scc"))
	if err != nil {
		t.Fatal(err)
	}
	r.start("tinyconfig")
	merged := 0
	for line := range strings.Lines(string(scc)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "kconf" {
			continue
		}
		fragment, err := os.ReadFile(filepath.Join(files, words[2]))
		if err != nil {
			t.Fatal(err)
		}
		merged++
		result := r.merge(string(fragment))
		if diff := Compare(mustParse(t, string(fragment)), result, result.Release); !AllOK(diff) {
			t.Errorf("%s: %+v", words[2], diff)
		}
	}
	if merged != 1 {
		t.Errorf("%d fragments", merged)
	}
}
