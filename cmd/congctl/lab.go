//go:build !small

package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/lab"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/scenarios"
)

func newLab(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "lab", Short: "Compare congestion controls on a real kernel, in virtual time"}
	cmd.AddCommand(newLabList(g), newLabRun(g), newLabReport(g), newLabCompare(g), newLabPop(g), newLabPopReport(g), newLabVerifyKernel(g), newLabKernel(g))
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []shipped
			var rows [][]string
			for _, name := range scenarios.Cells.Names() {
				text, _ := scenarios.Cells.Text(name)
				s, err := scenario.Parse(name+".yml", text)
				if err != nil {
					return err
				}
				l := shipped{name, len(s.Cells), s.Runs(), s.About}
				list, rows = append(list, l), append(rows, []string{l.Name, strconv.Itoa(l.Cells), strconv.Itoa(l.Runs), l.About})
			}
			return g.printTable(cmd, list, func(w io.Writer) error { return answer.Table(w, "NAME CELLS RUNS ABOUT", rows) })
		},
	}
}

func newLabReport(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "report DIR",
		Short:   "Rewrite the reports of a results folder and print its table",
		Example: "  congctl lab report loss-sweep.lab",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := lab.Open(args[0], time.Now)
			if err != nil {
				return usage(err)
			}
			return g.labResult(cmd, f)
		},
	}
}

// labResult writes a folder's reports and prints the results.
func (g *global) labResult(cmd *cobra.Command, f *lab.Folder) error {
	sum, err := f.Write()
	if err != nil {
		return usage(err)
	}
	err = g.print(cmd, sum, func(w io.Writer) error { return report.Table(w, sum, width(w)) })
	if err != nil {
		return err
	}
	if bad := sum.Invalid(); bad > 0 {
		return failed("", fmt.Errorf("%d of %d cells are INVALID", bad, len(sum.Rows)))
	}
	return nil
}

// shippedOr completes an argument with what comes with congctl, or with a file.
func shippedOr(files scenarios.Shelf) cobra.CompletionFunc {
	return cobra.FixedCompletions(files.Names(), cobra.ShellCompDirectiveDefault)
}
