package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/app/lab"
	"github.com/congctl/congctl/internal/app/lab/report"
	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
	"github.com/congctl/congctl/scenarios"
)

func newLab(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "lab", Short: "Compare congestion controls on a real kernel, in virtual time"}
	cmd.AddCommand(newLabList(g), newLabRun(g), newLabReport(g), newLabCompare(g), newLabPop(g), newLabPopReport(g), newLabVerifyKernel(g))
	return cmd
}

// shipped is a line of `lab list`.
type shipped struct {
	Name  string `json:"name"`
	Cells int    `json:"cells"`
	Runs  int    `json:"runs"` // at least: cells with seeds
	About string `json:"about"`
}

func newLabList(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the scenarios that come with congctl",
		Example: "  congctl lab list\n  congctl lab list -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []shipped
			for _, name := range scenarios.Cells.Names() {
				text, _ := scenarios.Cells.Text(name)
				s, err := scenario.Parse(name+".yml", text)
				if err != nil {
					return err
				}
				list = append(list, shipped{name, len(s.Cells), leastRuns(s), s.About})
			}
			return g.print(cmd, list, func(w io.Writer) error {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintln(t, "NAME\tCELLS\tRUNS\tABOUT")
				for _, s := range list {
					fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", s.Name, s.Cells, s.Runs, s.About)
				}
				return t.Flush()
			})
		},
	}
}

func leastRuns(s *scenario.Scenario) (n int) {
	for i := range s.Cells {
		n += s.Cells[i].Seeds.Count
	}
	return n
}

// scenarioText finds a scenario: a shipped one by name, any other by its file.
func scenarioText(arg string) (report.Text, error) {
	if !strings.ContainsAny(arg, "/.") {
		text, ok := scenarios.Cells.Text(arg)
		if !ok {
			return report.Text{}, &coded{exitUsage, "congctl lab list", fmt.Errorf(
				"no scenario %q: there are %s; a file of your own needs its ending or folder", arg, strings.Join(scenarios.Cells.Names(), ", "))}
		}
		return report.NewText(arg+".yml", text), nil
	}
	text, err := os.ReadFile(arg)
	if err != nil {
		return report.Text{}, usage(fmt.Errorf("read scenario: %w", err))
	}
	return report.NewText(filepath.Base(arg), text), nil
}

func newLabReport(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "report DIR",
		Short:   "Write the reports of a results folder again and print its table",
		Example: "  congctl lab report loss-sweep.lab",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := lab.Open(args[0], time.Now)
			if err != nil {
				return usage(err)
			}
			return g.labResult(cmd, f)
		},
	}
}

// labResult writes a folder's reports and prints what came out.
func (g *global) labResult(cmd *cobra.Command, f *lab.Folder) error {
	sum, err := f.Write()
	if err != nil {
		return usage(err)
	}
	err = g.print(cmd, sum, func(w io.Writer) error { return report.Table(w, sum, width(w)) })
	if err != nil {
		return err
	}
	if bad := invalid(sum); bad > 0 {
		return failed("", fmt.Errorf("%d of %d cells are INVALID", bad, len(sum.Rows)))
	}
	return nil
}

func invalid(sum *outcome.Summary) (n int) {
	for _, r := range sum.Rows {
		if r.Invalid > 0 || r.Runs == 0 {
			n++
		}
	}
	return n
}

func newLabCompare(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "compare A B",
		Short:   "Compare two results folders cell by cell, with intervals",
		Example: "  congctl lab compare linux-6.1/ linux-6.12/",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, errA := report.Open(args[0])
			b, errB := report.Open(args[1])
			if err := errors.Join(errA, errB); err != nil {
				return usage(err)
			}
			c := report.Compare(a, b)
			return g.print(cmd, c, func(w io.Writer) error { return c.Table(w, width(w)) })
		},
	}
}

// width is that of the terminal, 0 where w is none.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
