package vm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plantKernel makes what an installed or unpacked kernel package leaves below root.
func plantKernel(t *testing.T, root, release string, modules ...string) {
	t.Helper()
	write(t, filepath.Join(root, "boot", "vmlinuz-"+release), string(bzImage(release, nil)))
	for _, name := range modules {
		write(t, filepath.Join(root, "lib/modules", release, "kernel/net", name+".ko"), "")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFindTakesGivenHostCacheInThisOrder(t *testing.T) {
	host, cache := t.TempDir(), t.TempDir()
	look := func(want Want) (Kernel, error) {
		want.Cache = cache
		return find(context.Background(), want, host)
	}
	expect := func(want Want, release, source string) {
		t.Helper()
		if k, err := look(want); err != nil || k.Release != release || k.Source != source {
			t.Errorf("found %+v, %v; want %s of %s", k, err, release, source)
		}
	}
	_, err := look(Want{})
	if err == nil || !strings.Contains(err.Error(), "apt-get install -y linux-image-cloud-amd64") || !strings.Contains(err.Error(), cache) {
		t.Errorf("without any kernel: %v", err)
	}
	plantKernel(t, filepath.Join(cache, "linux-image-9"), "6.1.9-cloud", wanted...)
	plantKernel(t, filepath.Join(cache, "linux-image-10"), "6.1.10-cloud", wanted...)
	plantKernel(t, filepath.Join(cache, "linux-image-11"), "6.1.11-cloud", "veth") // of no use: no netem
	plantKernel(t, filepath.Join(cache, ".new-1"), "6.9.0-cloud", wanted...)       // somebody unpacks it just now
	expect(Want{}, "6.1.10-cloud", "cache")
	plantKernel(t, host, "5.10.0", "veth", "tcp_bbr")
	expect(Want{}, "6.1.10-cloud", "cache")
	write(t, filepath.Join(host, "lib/modules/5.10.0/modules.builtin"), "kernel/net/sched/sch_netem.ko\n")
	expect(Want{}, "5.10.0", "host")
	expect(Want{Image: filepath.Join(cache, "linux-image-9/boot/vmlinuz-6.1.9-cloud"),
		Modules: filepath.Join(cache, "linux-image-9/lib/modules/6.1.9-cloud")}, "6.1.9-cloud", "given")
}

func TestGivenKernelMustFit(t *testing.T) {
	root := t.TempDir()
	plantKernel(t, root, "6.1.9", "veth")
	plantKernel(t, root, "6.2.0", "veth")
	image, modules := filepath.Join(root, "boot/vmlinuz-6.1.9"), filepath.Join(root, "lib/modules/6.1.9")
	write(t, filepath.Join(root, "text"), "no kernel")
	for _, c := range []struct {
		want Want
		text string
	}{
		{Want{Image: image}, "name both"},
		{Want{Modules: modules}, "name both"},
		{Want{Image: image, Modules: filepath.Join(root, "lib/modules/6.2.0")}, "is release 6.1.9"},
		{Want{Image: image + "x", Modules: modules}, "no such file"},
		{Want{Image: filepath.Join(root, "text"), Modules: modules}, "not a bzImage"},
		{Want{Image: image, Modules: filepath.Join(root, "boot")}, "no modules"},
	} {
		if _, err := Find(context.Background(), c.want); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c.want, err, c.text)
		}
	}
}

func TestReleasesAreOrderedByNumbers(t *testing.T) {
	want := []string{"5.10.0", "6.1.0-9-cloud-amd64", "6.1.0-10-amd64", "6.1.0-10-cloud-amd64", "6.1.1", "6.12.95+deb12-cloud-amd64"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareReleases)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestFirstDepends(t *testing.T) {
	text := "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n  Depends: other\n"
	if got := firstDepends(text); got != "linux-image-6.1.0-56-cloud-amd64" {
		t.Errorf("%q", got)
	}
	if got := firstDepends("N: Unable to locate package\n"); got != "" {
		t.Errorf("%q", got)
	}
}

// TestFetchIsAtomic runs the real steps with stand-ins for the package tools: the
// second process finds the folder of the first one, and neither leaves anything.
func TestFetchIsAtomic(t *testing.T) {
	tools, source, cache := t.TempDir(), t.TempDir(), t.TempDir()
	plantKernel(t, source, "6.1.0-1-cloud", wanted...)
	for name, script := range map[string]string{
		"apt-cache": "echo '  Depends: linux-image-6.1.0-1-cloud'",
		"apt-get":   "for last; do :; done; : >${last}_6.1_amd64.deb",
		"dpkg-deb":  "cp -r " + source + ` "$3"`,
	} {
		write(t, filepath.Join(tools, name), "#!/bin/sh\nset -e\n"+script+"\n")
		if err := os.Chmod(filepath.Join(tools, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", tools+":/usr/bin:/bin")
	for range 2 {
		k, err := fetch(context.Background(), cache)
		if err != nil || k.Source != "fetched" || k.Release != "6.1.0-1-cloud" || !strings.HasPrefix(k.Image, cache) {
			t.Fatalf("%+v, %v", k, err)
		}
	}
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 1 || left[0].Name() != "linux-image-6.1.0-1-cloud_6.1_amd64" {
		t.Errorf("left in the cache: %v, %v", left, err)
	}
}
