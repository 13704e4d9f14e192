//go:build !small

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/lab/kernel/vm"
	"github.com/congctl/congctl/internal/lab/kernel/world"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/proof"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// labVerify holds the flags of `lab verify-kernel`.
type labVerify struct {
	modules string
	seed    uint64
	limit   time.Duration
}

func newLabVerifyKernel(g *global) *cobra.Command {
	l := &labVerify{}
	cmd := &cobra.Command{
		Use:   "verify-kernel BZIMAGE",
		Short: "Boot a kernel and prove that BBR can be turned on there and beats CUBIC under loss",
		Long: `verify-kernel boots a kernel in QEMU, as ` + "`lab run`" + ` does, makes BBR its default, checks the
congestion control of a new connection, and sends 5 MB with CUBIC and with BBR over
a path that loses 2 % of packets.

Exit codes: 0 proven; 1 not proven (the table says at which step) or the machine
died; 2 bad input, or no way to run it; 130 interrupted.`,
		Example: `  congctl lab verify-kernel arch/x86/boot/bzImage --modules .
  congctl lab verify-kernel /boot/vmlinuz-6.1.0 --modules /lib/modules/6.1.0`,
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(g, cmd, args[0]) },
	}
	pathVar(cmd.Flags(), &l.modules, "modules", "", "", "folder with the kernel's modules: lib/modules/RELEASE or a build tree (default: none, everything is built in)")
	cmd.Flags().Uint64Var(&l.seed, "seed", 1, "seed of the losses")
	cmd.Flags().DurationVar(&l.limit, "limit", defaultLimit, "wall time after which the machine counts as hung and is ended")
	return cmd
}

func (l *labVerify) run(g *global, cmd *cobra.Command, image string) error {
	if l.limit <= 0 || l.seed == 0 {
		return usage(fmt.Errorf("--limit %s, --seed %d: use a time, and 1 or more", l.limit, l.seed))
	}
	s, err := proof.Scenario()
	if err != nil {
		return err
	}
	m, err := l.machine(cmd.Context(), s, image)
	if err != nil {
		return usage(err)
	}
	out, err := vm.Run(cmd.Context(), m)
	switch {
	case cmd.Context().Err() != nil:
		return &coded{exitInterrupted, "", errors.New("interrupted")}
	case err != nil:
		return failed("", fmt.Errorf("linux %s: %w", m.Kernel.Release, err))
	}
	r, err := readProof(s, out.Report)
	if err != nil {
		return err
	}
	if err := g.print(cmd, &r, r.Table); err != nil {
		return err
	}
	if !r.Proven {
		return failed("congctl host kernel check --kconfig FILE", fmt.Errorf("linux %s: not proven", r.Release))
	}
	return nil
}

// machine boots the named kernel and no other.
func (l *labVerify) machine(ctx context.Context, s *scenario.Scenario, image string) (m vm.Machine, err error) {
	k, err := vm.Find(ctx, vm.Want{Image: image, Modules: l.modules, Builtin: l.modules == ""})
	if err != nil {
		return m, err
	}
	if _, _, err := vm.Emulator(ctx, vm.Machine{}); err != nil {
		return m, err
	}
	job, err := json.Marshal(world.ProofJob{Enable: proof.Cong, Job: world.Job{Cells: s.Cells, Seed: l.seed}})
	if err != nil {
		return m, fmt.Errorf("encode job: %w", err)
	}
	return vm.Machine{Kernel: k, Job: job, Load: world.Modules(), Wall: l.limit}, nil
}

func readProof(s *scenario.Scenario, report []byte) (r proof.Report, err error) {
	var e proof.Enabled
	var runs []outcome.Run
	d := json.NewDecoder(bytes.NewReader(report))
	if err := d.Decode(&e); err != nil {
		return r, fmt.Errorf("decode the guest's report: %w", err)
	}
	for d.More() {
		var run outcome.Run
		if err := d.Decode(&run); err != nil {
			return r, fmt.Errorf("decode the guest's report: %w", err)
		}
		run.World = worldVM
		runs = append(runs, run)
	}
	return proof.Judge(e, s, runs), nil
}
