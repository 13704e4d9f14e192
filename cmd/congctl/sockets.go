package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/linux/sample"
	"github.com/congctl/congctl/internal/loop/sockets"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

func newSockets(g *global) *cobra.Command {
	var summary bool
	var netns string
	var ports portTexts
	cmd := &cobra.Command{
		Use:   "sockets",
		Short: "Dump all TCP sockets once with every field of tcp_info",
		Long: `sockets asks the kernel for every TCP socket, IPv4 and IPv6, in one dump, and
prints what "ss -tni" shows and more. With -o json or -o jsonl it prints every field
by its kernel name, with its unit. Reading its own network
namespace needs no root.`,
		Example: "  congctl sockets\n  congctl sockets --summary\n  congctl sockets -o jsonl --port 443",
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked, err := portsOf(ports)
			if err != nil {
				return usage(err)
			}
			from, done, err := socketSource(netns, asked, inetdiag.ExtAll)
			if err != nil {
				return err
			}
			switch {
			case summary:
				err = printSummary(g, cmd, from)
			case g.isTable():
				w := cmd.OutOrStdout()
				err = sockets.WriteTable(answer.Fit(w, width(w)), from)
			default:
				l := g.list(cmd)
				err = l.Close(sockets.EachJSON(from, l.AddJSON))
			}
			return errors.Join(err, done())
		},
	}
	cmd.Flags().BoolVar(&summary, "summary", false, "counts only")
	cmd.Flags().StringVar(&netns, "netns", "own", "own, all, or a name or path of a network namespace")
	cmd.Flags().Var(&ports, "port", "only these local ports and ranges, as in 80,8080-8090, filtered in the kernel")
	return cmd
}

func printSummary(g *global, cmd *cobra.Command, from sockets.Source) error {
	s, err := sockets.Summarize(from)
	if err != nil {
		return err
	}
	return g.print(cmd, s, func(w io.Writer) error { return s.WriteTable(w) })
}

// portTexts is what --port was given: ports and ranges.
type portTexts []string

func (p *portTexts) Set(text string) error {
	*p = append(*p, strings.Split(text, ",")...)
	return nil
}

func (p *portTexts) String() string { return "" }
func (p *portTexts) Type() string   { return "uintSlice" } // the library's word for a list of numbers

// portsOf lists the ports of --port.
func portsOf(texts []string) (ports []uint, err error) {
	for _, text := range texts {
		r, err := inetdiag.ParsePortRange(text)
		switch _, number := strconv.Atoi(text); {
		case err != nil && number == nil:
			return nil, fmt.Errorf("--port %s: use 0 to 65535", text)
		case err != nil:
			return nil, fmt.Errorf("--port %q: %w", text, err)
		}
		for p := uint(r.Lo); p <= uint(r.Hi); p++ {
			ports = append(ports, p)
		}
	}
	return ports, nil
}

// socketSource walks all sockets in all states, listeners and TIME_WAIT included, with these attributes.
func socketSource(netns string, ports []uint, ext inetdiag.Ext) (sockets.Source, func() error, error) {
	spaces, err := sample.OpenNamespaces(netns)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(notFound("ip netns list", err), spaces.Close())
	} else if errors.Is(err, unix.EINVAL) {
		return nil, nil, errors.Join(&coded{exitUsage, "ip netns list", fmt.Errorf("--netns %q: not a network namespace", netns)}, spaces.Close())
	} else if err != nil {
		return nil, nil, errors.Join(err, spaces.Close())
	}
	req := inetdiag.Request{States: inetdiag.Everything, Ext: ext}
	if len(ports) > 0 {
		var ranges []inetdiag.PortRange
		for _, p := range ports {
			ranges = append(ranges, inetdiag.PortRange{Lo: uint16(p), Hi: uint16(p)})
		}
		if req.Bytecode, err = inetdiag.SportFilter(ranges); err != nil {
			return nil, nil, errors.Join(usage(err), spaces.Close())
		}
	}
	return func(visit func(string, *inetdiag.Sock)) error {
		for _, n := range spaces.All() {
			st, err := n.Dump(req, func(s *inetdiag.Sock) {
				s.Link = n.Link(s.Interface)
				visit(n.Name, s)
			})
			if err != nil {
				return err
			}
			if st.Malformed > 0 {
				return fmt.Errorf("dump sockets of %s: %d messages could not be decoded", n.Name, st.Malformed)
			}
		}
		return nil
	}, spaces.Close, nil
}
