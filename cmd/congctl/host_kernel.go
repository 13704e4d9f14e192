package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/host/kconfig"
	"github.com/congctl/congctl/internal/host/kernel/inspect"
)

func newHostKernel(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "kernel", Short: "Check what a kernel has of BBR, and print the configuration that adds the rest"}
	cmd.AddCommand(newHostKernelCheck(g))
	for _, add := range kernelVerbs {
		cmd.AddCommand(add(g))
	}
	return cmd
}

// kernelCheck holds the flags of `host kernel check`.
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
		Use:   "check --running | --kconfig FILE [--against FRAGMENT]",
		Short: "Say whether a kernel has what BBR or congctl needs, or what became of a fragment",
		Long: `check reads the configuration of the running kernel (/proc/config.gz, /boot,
/lib/modules, in this order; failing that, the lists of modules there, which prove
less), or a .config file. With --against it compares the file with the fragment that it was
made with: a symbol whose dependency is unmet is dropped without an error.

--for names features, or a purpose: loop (the default) is what congctl up needs, lab
what congctl lab needs to run on this kernel, all every feature. Only these decide the
exit code.

Exit codes: 0 the kernel has them all; 1 something is missing, dropped or different;
2 unknown, or wrong usage.`,
		Example: `  congctl host kernel check --running
  congctl host kernel check --running --for bbr,fq
  congctl host kernel check --kconfig .config --against congctl.cfg`,
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(cmd) },
	}
	cmd.Flags().BoolVar(&k.running, "running", false, "the running kernel")
	pathVar(cmd.Flags(), &k.config, "kconfig", "", "", "a kernel's .config, gzip or plain")
	pathVar(cmd.Flags(), &k.against, "against", "", "", "fragment whose lines the --kconfig should have")
	cmd.Flags().StringSliceVar(&k.features, "for", nil, "features, or loop, lab, all (default loop)")
	complete(cmd, "for", append(kconfig.FeatureNames(), "loop", "lab", "all"))
	return cmd
}

func (k *kernelCheck) run(cmd *cobra.Command) error {
	list, err := kconfig.Features(k.asked(), nil)
	switch {
	case err != nil:
		return usage(fmt.Errorf("--for: %w", err))
	case k.running == (k.config != ""):
		return usage(errors.New("name one kernel: --running for this host's, or --kconfig FILE"))
	case k.against != "" && (k.running || k.features != nil):
		return usage(errors.New("--against compares a --kconfig with a fragment: leave out --running and --for"))
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
		return failed("", fmt.Errorf("the kernel lacks what %s needs", strings.Join(k.asked(), ", ")))
	case kconfig.Unknown:
		return &coded{exitUsage, "", fmt.Errorf("check kernel: unknown whether it has all that %s needs", strings.Join(k.asked(), ", "))}
	}
	return nil
}

// asked returns the features or purposes that the check is for.
func (k *kernelCheck) asked() []string {
	if len(k.features) == 0 {
		return kconfig.Checked()
	}
	return k.features
}

func (k *kernelCheck) evidence() (*kconfig.Evidence, error) {
	if !k.running {
		return inspect.ConfigFile(k.config)
	}
	return inspect.Local().Config()
}

func (k *kernelCheck) compare(cmd *cobra.Command) error {
	result, err := inspect.ConfigFile(k.config)
	if err != nil {
		return usage(err)
	}
	fragment, err := inspect.ConfigFile(k.against)
	if err != nil {
		return usage(err)
	}
	list := kconfig.Compare(fragment.Config, result.Config, result.Release)
	if err := k.global.print(cmd, list, func(w io.Writer) error { return kconfig.DifferenceTable(w, list) }); err != nil {
		return err
	}
	if !kconfig.AllOK(list) && slices.IndexFunc(list, func(d kconfig.Difference) bool { return d.Verdict != kconfig.OK && d.Verdict != kconfig.Unknown }) < 0 {
		return &coded{exitUsage, "", fmt.Errorf("%s leaves out symbols that %s asks for: use the whole .config of the build", k.config, k.against)}
	}
	if !kconfig.AllOK(list) {
		return failed("", fmt.Errorf("%s differs from what %s asks for", k.config, k.against))
	}
	return nil
}
