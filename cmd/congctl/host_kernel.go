package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/core/kconfig"
	"github.com/congctl/congctl/internal/kernel/host"
	"github.com/congctl/congctl/internal/kernel/ownconfig"
)

func newHostKernel(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "kernel", Short: "Which parts of BBR a kernel has, and the configuration that adds the others"}
	cmd.AddCommand(newHostKernelCheck(g), newHostKernelFragment(g))
	return cmd
}

// kernelCheck is `host kernel check` with its flags.
type kernelCheck struct {
	global   *global
	config   string
	running  bool
	against  string
	features []string
}

func newHostKernelCheck(g *global) *cobra.Command {
	k := &kernelCheck{global: g}
	cmd := &cobra.Command{
		Use:   "check --running | --config FILE [--against FRAGMENT]",
		Short: "Say what a kernel has of BBR, fq and the others, or what became of a fragment",
		Long: `check reads the configuration of the running kernel (/proc/config.gz, /boot,
/lib/modules, in this order, or else the lists of modules there, which prove less),
or a .config file. With --against it compares the file with the fragment that it was
made with: a symbol whose dependency is unmet is dropped without an error.

Exit codes: 0 all is there; 1 something is missing, dropped or different; 2 that could
not be told, or wrong usage.`,
		Example: `  congctl host kernel check --running
  congctl host kernel check --config .config --for bbr,fq
  congctl host kernel check --config .config --against congctl.cfg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(cmd) },
	}
	cmd.Flags().BoolVar(&k.running, "running", false, "the running kernel")
	// Instead of the option of that name which all verbs have: this one reads no configuration
	// of congctl.
	cmd.Flags().StringVarP(&k.config, "config", "c", "", "a kernel's .config, gzip or plain")
	cmd.Flags().StringVar(&k.against, "against", "", "fragment whose lines the --config should have")
	cmd.Flags().StringSliceVar(&k.features, "for", nil, "features, or all (default all but bbr-default)")
	return cmd
}

func (k *kernelCheck) run(cmd *cobra.Command) error {
	list, err := kconfig.Features(k.features, kconfig.Checked())
	switch {
	case err != nil:
		return usage(fmt.Errorf("--for: %w", err))
	case k.running == (k.config != ""):
		return usage(errors.New("name one kernel: --running for this host's, or --config FILE"))
	case k.against != "" && (k.running || k.features != nil):
		return usage(errors.New("--against compares a --config with a fragment: leave out --running and --for"))
	case k.against != "":
		return k.compare(cmd)
	}
	e, err := k.evidence()
	if err != nil {
		return usage(err)
	}
	r := kconfig.Check(e, list)
	if err := k.global.print(cmd, &r, r.Table); err != nil {
		return err
	}
	switch r.Verdict() {
	case kconfig.Missing:
		return failed("", errors.New("the kernel lacks what is asked for"))
	case kconfig.Unknown:
		return &coded{exitUsage, "", errors.New("what was found does not tell all that is asked for")}
	}
	return nil
}

func (k *kernelCheck) evidence() (*kconfig.Evidence, error) {
	if !k.running {
		return ownconfig.File(k.config)
	}
	release, err := ownconfig.Release()
	if err != nil {
		return nil, err
	}
	return ownconfig.Running(host.Tree("/"), release)
}

func (k *kernelCheck) compare(cmd *cobra.Command) error {
	result, err := ownconfig.File(k.config)
	if err != nil {
		return usage(err)
	}
	fragment, err := ownconfig.File(k.against)
	if err != nil {
		return usage(err)
	}
	list := kconfig.Compare(fragment.Config, result.Config, result.Release)
	if err := k.global.print(cmd, list, func(w io.Writer) error { return kconfig.DifferenceTable(w, list) }); err != nil {
		return err
	}
	if !kconfig.AllOK(list) {
		return failed("", fmt.Errorf("%s is not what %s asks for", k.config, k.against))
	}
	return nil
}
