//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/lab/kernel/uml"
	"github.com/congctl/congctl/internal/lab/kernel/vm"
	"github.com/congctl/congctl/internal/lab/report"
)

// builtKernel is the answer of `lab kernel build`.
type builtKernel struct {
	Path    string `json:"path"`
	Release string `json:"release"`
	Source  string `json:"source"`
	SHA256  string `json:"sha256"`
}

func newLabKernel(g *global) *cobra.Command {
	p := &labPlace{}
	build := &cobra.Command{
		Use:   "build",
		Short: "Build the kernel of --world uml, once",
		Long: `build compiles Linux as an ordinary program (User Mode Linux), from the source
package of the distribution, for lab run and lab pop with --world uml: the same
experiments, some ten times faster than in QEMU. It takes about four minutes on two
cores and 0.8 GB of disk until it ends, needs compilers but no root, and does nothing
when the kernel is there.

Exit codes: 0 the kernel is there; 2 it could not be built.`,
		Example: "  congctl lab kernel build\n  congctl lab kernel build --cache ./kernels -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := p.buildProgram(cmd.Context(), func(step string) { fmt.Fprintln(cmd.ErrOrStderr(), step) })
			if err != nil {
				return usage(err)
			}
			return g.print(cmd, k, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\nLinux %s, %s\n", k.Path, k.Release, k.Source)
				return err
			})
		},
	}
	p.cacheFlag(build.Flags())
	cmd := &cobra.Command{Use: "kernel", Short: "The kernel of --world uml"}
	cmd.AddCommand(build)
	return cmd
}

func (p *labPlace) buildProgram(ctx context.Context, say func(string)) (b builtKernel, err error) {
	cache, err := vm.Cache(p.cache)
	if err != nil {
		return b, err
	}
	k, err := uml.Build(ctx, cache, say)
	if err != nil {
		return b, err
	}
	sum, err := report.HashFile(k.Path)
	return builtKernel{k.Path, k.Release, k.Origin, sum}, err
}

// bootLimit is real time: a boot takes 0.2 s, on a host whose CPUs are taken a hundred times
// as long, since each of its system calls waits for a CPU twice.
const bootLimit = 5 * time.Minute

var errNotBuilt = errors.New("run congctl lab kernel build")

// bootsProgram finds the kernel of --world uml, shows that it boots on this host, and notes
// it in m.
func (p *labPlace) bootsProgram(ctx context.Context, m *report.Manifest) (k vm.Kernel, err error) {
	if p.image != "" || p.modules != "" {
		return k, errors.New("--kernel, --modules: --world uml runs the kernel of `congctl lab kernel build`; leave them out, or use --world vm")
	}
	cache, err := vm.Cache(p.cache)
	if err != nil {
		return k, err
	}
	built, ok := uml.Cached(cache)
	if !ok {
		return k, fmt.Errorf("--world uml: no kernel in %s: %w", cache, errNotBuilt)
	}
	k = vm.Kernel{Image: built.Path, Program: true, Release: built.Release, Source: built.Origin}
	sum, err := report.HashFile(k.Image)
	if err != nil {
		return k, err
	}
	if _, err := vm.Run(ctx, vm.Machine{Kernel: k, Job: []byte(`{"seed":1,"boot":true}`), Wall: bootLimit}); err != nil {
		return k, fmt.Errorf("--world uml: this host does not run %s: %w", filepath.Base(k.Image), err)
	}
	m.Kernel = report.Kernel{Release: k.Release, SHA256: sum, Source: k.Source}
	if m.World != worldPop {
		m.World = worldUML
	}
	return k, nil
}

// boots finds what machines like probe boot with and notes it in m.
func (p *labPlace) boots(ctx context.Context, probe vm.Machine, m *report.Manifest) (vm.Kernel, error) {
	switch p.world {
	case worldVM:
	case worldUML:
		return p.bootsProgram(ctx, m)
	case worldAuto:
		if p.image != "" || p.modules != "" {
			break // of QEMU
		}
		k, err := p.bootsProgram(ctx, m)
		if err == nil || ctx.Err() != nil {
			return k, err
		}
		if !errors.Is(err, errNotBuilt) {
			fmt.Fprintf(os.Stderr, "%v\nThe machines run in QEMU instead.\n", err)
		}
	default:
		return vm.Kernel{}, fmt.Errorf("--world %q: use vm, uml or auto", p.world)
	}
	if m.World != worldPop {
		m.World = worldVM
	}
	return p.bootsQEMU(ctx, probe, m)
}
