package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/answer"
)

// checkOutput refuses a format that no verb has, before a verb asks for anything.
func (g *global) checkOutput() error {
	if slices.Contains(answer.Formats, g.output) {
		return nil
	}
	return usage(fmt.Errorf("--output %q: use %s", g.output, strings.Join(answer.Formats, ", ")))
}

// isTable reports whether the answer is for people.
func (g *global) isTable() bool { return g.output == answer.FormatTable }

// print writes an answer as JSON or by fn, for a person below the banner, which is on standard error.
func (g *global) print(cmd *cobra.Command, v any, fn func(io.Writer) error) error {
	if g.isTable() {
		if g.banner != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "congctl: %s; undo: congctl resume\n", g.banner)
		}
		return fn(cmd.OutOrStdout())
	}
	return answer.JSON(cmd.OutOrStdout(), g.output, v)
}

// printTable is print for a table, which is cut to the width of a terminal.
func (g *global) printTable(cmd *cobra.Command, v any, fn func(io.Writer) error) error {
	return g.print(cmd, v, func(w io.Writer) error { return fn(answer.Fit(w, width(w))) })
}

// printText writes an answer as JSON or as text.
func (g *global) printText(cmd *cobra.Command, v any, text string) error {
	return g.print(cmd, v, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// list starts a long answer in JSON.
func (g *global) list(cmd *cobra.Command) *answer.List {
	return answer.NewList(cmd.OutOrStdout(), g.output)
}

// width is that of the terminal in columns, 0 where w is none.
func width(w io.Writer) int { return int(sizeOf(w).Col) }

// height is the same in lines.
func height(w io.Writer) int { return int(sizeOf(w).Row) }

func isTerminal(w io.Writer) bool { return sizeOf(w) != nowhere }

// raw is what a verb writes to for a terminal to act on.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*answer.Printable); ok {
		return p.Raw()
	}
	return w
}

// nowhere is the size of what is no terminal. A terminal's may have the size 0.
var nowhere = new(unix.Winsize)

func sizeOf(w io.Writer) *unix.Winsize {
	if f, ok := raw(w).(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			return size
		}
	}
	return nowhere
}
