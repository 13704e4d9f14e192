package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const fakePackage = "linux-image-6.1.0-9-cloud-amd64"

// TestFetchIntoRelativeCache has apt replaced by scripts that hand out a small package;
// dpkg-deb is the real one. `make demo` names its cache relative to the checkout.
func TestFetchIntoRelativeCache(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("needs dpkg-deb of Debian (any kernel): ", err)
	}
	t.Chdir(t.TempDir())
	deb := smallPackage(t)
	tools := t.TempDir()
	script(t, filepath.Join(tools, "apt-cache"), "printf '%s\\n  Depends: %s\\n' "+metaPackage+" "+fakePackage)
	script(t, filepath.Join(tools, "apt-get"), "cp "+deb+" .")
	t.Setenv("PATH", tools+":"+os.Getenv("PATH"))

	k, err := fetch(t.Context(), filepath.Join("some", "cache"))
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join("some/cache", strings.TrimSuffix(filepath.Base(deb), ".deb"), "boot/vmlinuz-6.1.9")
	if k.Image != want || k.Release != "6.1.9" || k.Source != "fetched" {
		t.Errorf("fetched %+v, want image %s", k, want)
	}
	if again, ok := cached(filepath.Join("some", "cache")); !ok || again.Image != want {
		t.Errorf("then the cache has %+v, %v", again, ok)
	}
}

// smallPackage builds a package with what fetch looks for in a kernel's.
func smallPackage(t *testing.T) string {
	t.Helper()
	root, deb := t.TempDir(), filepath.Join(t.TempDir(), fakePackage+"_6.1.9-1_amd64.deb")
	plantKernel(t, root, "6.1.9", wanted...)
	write(t, filepath.Join(root, "DEBIAN/control"),
		"Package: "+fakePackage+"\nVersion: 6.1.9-1\nArchitecture: amd64\nMaintainer: test\nDescription: test\n")
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "-b", root, deb).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return deb
}

func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
