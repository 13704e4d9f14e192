package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kernel/bbr"
	"github.com/congctl/congctl/internal/host/kernel/paperhosttest"
)

// onHost makes the verbs of host read a described host until the test ends. Its disk has
// nothing but the directories that a change would write into.
func onHost(t *testing.T, f advise.Facts) {
	t.Helper()
	read, whole := readHost, bbrHost
	t.Cleanup(func() { readHost, bbrHost = read, whole })
	root := t.TempDir()
	check(t, errors.Join(os.MkdirAll(root+"/etc/sysctl.d", 0o755), os.Mkdir(root+"/etc/modules-load.d", 0o755)))
	places := map[change.Kind]carry.Place{}
	for _, k := range []change.Kind{change.Sysctl, change.Module, change.Qdisc} {
		places[k] = described{k, paperhosttest.Before(&f)}
	}
	readHost = func() advise.Facts { return f }
	bbrHost = func(string) (*bbr.Host, error) {
		return &bbr.Host{Facts: readHost, Engine: carry.New(carry.Options{Disk: carry.HostDisk{Root: root}, Places: places})}, nil
	}
}

// described is the place of one kind on a described host, which can only be read.
type described struct {
	kind change.Kind
	read change.Read
}

func (d described) Read(target string) (change.Value, error) { return d.read(d.kind, target) }

func (d described) Write(string, change.Value) error { return errors.ErrUnsupported }

// hostOf returns the host of testdata that a block of a page names.
func hostOf(t *testing.T, name string) advise.Facts {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(hostsDir, name+".host"))
	check(t, err)
	h, err := paperhosttest.Parse(string(text))
	check(t, err)
	return h.Read()
}

// hostsDir is named absolutely: examples run in a directory of their own.
var hostsDir, _ = filepath.Abs("testdata/hosts")
