package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/core/kconfig"
)

// kernelFragment is `host kernel fragment` with its flags.
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
		Short: "Print the kernel configuration that adds BBR, and the steps to build with it",
		Long: `fragment prints lines for merge_config.sh, with the steps as comments: for a plain
kernel source (generic), Debian's and Ubuntu's, an Amazon Linux source package, or a
Yocto layer. Look at the first step: most kernels of today need no rebuild.`,
		Example: `  congctl host kernel fragment --for generic > congctl.cfg
  congctl host kernel fragment --for debian --feature bbr,fq
  congctl host kernel fragment --for yocto --write meta-congctl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(g, cmd) },
	}
	cmd.Flags().StringVar(&k.target, "for", "", "generic, debian, amazon-linux or yocto")
	cmd.Flags().StringSliceVar(&k.features, "feature", nil, "features, or all (default bbr,fq,tbf,netem,inet-diag)")
	cmd.Flags().BoolVar(&k.builtin, "builtin", false, "built in and not as modules (yocto: the default)")
	cmd.Flags().StringVar(&k.folder, "write", "", "write the files into this folder, which must be new or empty")
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
	return g.print(cmd, d, func(w io.Writer) error {
		_, err := io.WriteString(w, d.Text())
		return err
	})
}

// writeFiles fills a folder that is new or empty, all or nothing.
func writeFiles(folder string, files []kconfig.File) error {
	if held, err := os.ReadDir(folder); err == nil && len(held) > 0 {
		return fmt.Errorf("--write %s: has %s already: name a new or empty folder", folder, held[0].Name())
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(folder)), 0o755); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(filepath.Clean(folder)), ".new-")
	if err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	defer os.RemoveAll(fresh)
	for _, f := range files {
		name := filepath.Join(fresh, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write files: %w", err)
		}
		if err := os.WriteFile(name, []byte(f.Text), 0o644); err != nil {
			return fmt.Errorf("write files: %w", err)
		}
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	// Over an empty folder a rename is allowed.
	if err := os.Rename(fresh, folder); err != nil {
		return fmt.Errorf("write files: %w", err)
	}
	return nil
}
