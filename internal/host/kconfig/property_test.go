package kconfig

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// FuzzParse: never a panic, exactly one of value and error, and a symbol that is read has
// a value of the forms that are allowed.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "CONFIG_A=y\n", "# CONFIG_A is not set\r\n", "CONFIG_A=\"x\\\"\"", "CONFIG_=y", "# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_A=-1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if (c == nil) == (err == nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if c == nil {
			return
		}
		for _, s := range c.Symbols() {
			if !literal.MatchString(string(c.Get(s))) {
				t.Fatalf("%s=%q", s, c.Get(s))
			}
		}
		if !AllOK(Compare(c, c, "")) {
			t.Fatal("differs from itself")
		}
	})
}

// FuzzModules: never a panic, exactly one of value and error.
func FuzzModules(f *testing.F) {
	f.Add([]byte("kernel/a.ko\n"), []byte("kernel/b.ko.xz: kernel/a.ko.xz\n"))
	f.Add([]byte(".ko"), []byte("x"))
	f.Fuzz(func(t *testing.T, builtin, dep []byte) {
		m, err := ParseModules(builtin, dep)
		if (m == nil) == (err == nil) {
			t.Fatalf("%v, %v", m, err)
		}
		if m != nil {
			Check(&Evidence{Modules: m}, features)
		}
	})
}

func anyFeatures(t *rapid.T) []Feature {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(FeatureNames()), 1, -1, rapid.ID[string]).Draw(t, "features")
	list, err := Features(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFragmentIsWhatItAsksFor: a fragment is a configuration that has the features it was
// made for, each need before what needs it, and one line less of it is noticed.
func TestFragmentIsWhatItAsksFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyFeatures(t)
		builtin := rapid.Bool().Draw(t, "builtin")
		c, err := Parse([]byte(Fragment(list, builtin)))
		if err != nil {
			t.Fatal(err)
		}
		r := Check(&Evidence{Config: c}, list)
		if hard := slices.Contains(names(list), defaultBBR) && !builtin; r.Verdict() != OK && !hard {
			t.Fatalf("%+v", r)
		}
		at := c.Symbols()
		for i := range symbols {
			for _, need := range symbols[i].Needs {
				if own := slices.Index(at, symbols[i].Name); own >= 0 && slices.Index(at, need) > own {
					t.Fatalf("%s stands before %s, which it needs", symbols[i].Name, need)
				}
			}
		}
		lost := rapid.SampledFrom(at).Draw(t, "lost")
		less := &Config{values: map[string]Value{}}
		for _, s := range at {
			if s != lost {
				less.set(s, c.Get(s))
			}
		}
		if AllOK(Compare(c, less, "")) != (c.Get(lost) == No) {
			t.Fatalf("without %s: %v", lost, Compare(c, less, ""))
		}
	})
}

// TestCommentsNameNoSymbol: merge_config.sh takes a comment with a symbol's whole name for
// a setting of it.
func TestCommentsNameNoSymbol(t *testing.T) {
	list, err := Features([]string{"all"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range TargetNames() {
		on := true
		d, err := Write(target, list, &on)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(d.Files[0].Text + d.Text()) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "#") && strings.Contains(line, Prefix) && !unset.MatchString(line) {
				t.Errorf("%s: %s", target, line)
			}
		}
	}
}

// TestTableIsSound: each need and each feature's symbol is in the table, needs stand first.
func TestTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range symbols {
		for _, need := range s.Needs {
			if !seen[need] {
				t.Errorf("%s needs %s, which does not stand before it", s.Name, need)
			}
		}
		if seen[s.Name] || s.About == "" || !regexp.MustCompile(`^[A-Z0-9_]+$`).MatchString(s.Name) {
			t.Errorf("symbol %+v", s)
		}
		seen[s.Name] = true
	}
	for _, f := range features {
		for _, s := range f.Symbols {
			if !seen[s] {
				t.Errorf("feature %s: no symbol %s", f.Name, s)
			}
		}
		for s, or := range f.Or {
			if !slices.Contains(f.Symbols, s) || !seen[or] {
				t.Errorf("feature %s: %s or %s", f.Name, s, or)
			}
		}
	}
	for purpose, some := range purposes {
		if list, err := Features([]string{purpose}, nil); err != nil || len(list) != len(some) {
			t.Errorf("purpose %s: %v, %v", purpose, list, err)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for release, want := range map[string]Version{
		"6.1.0-56-cloud-amd64": {6, 1, 0}, "4.9.20-10.30.local.amzn1.x86_64": {4, 9, 20}, "6.18": {6, 18, 0},
		"6.12-rc3": {6, 12, 0}, "": {}, "next": {}, "5": {5, 0, 0},
	} {
		if v := ParseVersion(release); v != want {
			t.Errorf("%q: %v", release, v)
		}
	}
}

const layerDir = "../../../packaging/yocto"

// TestYoctoLayerIsWhatIsPrinted: the layer in the tree is what the verb writes.
func TestYoctoLayerIsWhatIsPrinted(t *testing.T) {
	list, err := Features(nil, Asked())
	if err != nil {
		t.Fatal(err)
	}
	d, err := Write("yocto", list, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Files {
		held, err := os.ReadFile(filepath.Join(layerDir, f.Path))
		if err != nil {
			t.Fatal(err)
		}
		if string(held) != f.Text {
			t.Errorf("%s is not what the verb writes: congctl host kernel fragment --for yocto --write DIR, and copy it", f.Path)
		}
	}
}
