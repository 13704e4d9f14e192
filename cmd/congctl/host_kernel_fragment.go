//go:build !small

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/host/kconfig"
)

// kernelFragment holds the flags of `host kernel fragment`.
type kernelFragment struct {
	target   string
	features []string
	builtin  bool
	folder   string
}

func newHostKernelFragment(g *global) *cobra.Command {
	k := &kernelFragment{}
	cmd := &cobra.Command{
		Use:   "fragment --for TARGET",
		Short: "Print the kernel configuration that adds BBR, with the build steps",
		Long: `fragment prints lines for merge_config.sh, with the steps as comments: for a plain
kernel source (generic), Debian and Ubuntu, an Amazon Linux source package, or a
Yocto layer. Begin with the first step: most kernels need no rebuild today.`,
		Example: `  congctl host kernel fragment --for generic > congctl.cfg
  congctl host kernel fragment --for debian --feature bbr,fq
  congctl host kernel fragment --for yocto --write meta-congctl`,
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(g, cmd) },
	}
	cmd.Flags().StringVar(&k.target, "for", "", "generic, debian, amazon-linux or yocto")
	cmd.Flags().StringSliceVar(&k.features, "feature", nil, "features, or loop, lab, all (default bbr,fq,tbf,netem,inet-diag)")
	complete(cmd, "for", kconfig.TargetNames())
	complete(cmd, "feature", append(kconfig.FeatureNames(), "loop", "lab", "all"))
	cmd.Flags().BoolVar(&k.builtin, "builtin", false, "build in, not as modules (default for yocto)")
	pathVar(cmd.Flags(), &k.folder, "write", "", "", "write the files into this folder, which must be new or empty")
	return cmd
}

func (k *kernelFragment) run(g *global, cmd *cobra.Command) error {
	list, err := kconfig.Features(k.features, kconfig.Asked())
	if err != nil {
		return usage(fmt.Errorf("--feature: %w", err))
	}
	var builtin *bool
	if cmd.Flags().Changed("builtin") {
		builtin = &k.builtin
	}
	d, err := kconfig.Write(k.target, list, builtin)
	if err != nil {
		return &coded{exitUsage, cmd.CommandPath() + " --help", fmt.Errorf("--for: %w", err)}
	}
	if k.folder != "" {
		if err := writeFiles(k.folder, d.Files); err != nil {
			return usage(err)
		}
	}
	return g.printText(cmd, d, d.Text())
}

// writeFiles fills a new or empty folder, all or nothing.
func writeFiles(folder string, files []kconfig.File) error {
	if held, err := os.ReadDir(folder); err == nil && len(held) > 0 {
		return fmt.Errorf("--write %s: has %s already: name a new or empty folder", folder, held[0].Name())
	}
	parent, fresh := filepath.Dir(filepath.Clean(folder)), ""
	err := os.MkdirAll(parent, 0o755)
	if err == nil {
		fresh, err = os.MkdirTemp(parent, ".new-")
		defer func() { _ = os.RemoveAll(fresh) }() // gone already, or an error says why
	}
	for _, f := range files {
		name := filepath.Join(fresh, filepath.FromSlash(f.Path))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = os.WriteFile(name, []byte(f.Text), 0o644)
		}
	}
	if err == nil {
		err = os.Chmod(fresh, 0o755)
	}
	if err == nil {
		err = os.Rename(fresh, folder) // which may replace an empty folder
	}
	if err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	return nil
}
