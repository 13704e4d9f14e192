package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/sockets"
	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/kernel/sample"
)

func newSockets(g *global) *cobra.Command {
	var summary bool
	var netns string
	var ports []uint
	cmd := &cobra.Command{
		Use:   "sockets",
		Short: "Dump all TCP sockets once with every field of tcp_info",
		Long: `sockets asks the kernel for every TCP socket, IPv4 and IPv6, in one dump, and
prints what "ss -tni" tells and more. With -o json one line of JSON a socket, every
field by its kernel name with its unit. It needs no root for the own namespace.`,
		Example: "  congctl sockets\n  congctl sockets --summary\n  congctl sockets -o json --port 443",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asJSON, err := g.json()
			if err != nil {
				return err
			}
			from, done, err := socketSource(netns, ports)
			if err != nil {
				return err
			}
			switch w := cmd.OutOrStdout(); {
			case summary:
				err = printSummary(g, cmd, from)
			case asJSON:
				err = sockets.WriteJSON(w, from)
			default:
				err = sockets.WriteTable(w, from)
			}
			return errors.Join(err, done())
		},
	}
	cmd.Flags().BoolVar(&summary, "summary", false, "counts only")
	cmd.Flags().StringVar(&netns, "netns", "own", "own, all, or a name or path of a network namespace")
	cmd.Flags().UintSliceVar(&ports, "port", nil, "only these local ports, filtered in the kernel")
	return cmd
}

func printSummary(g *global, cmd *cobra.Command, from sockets.Source) error {
	s, err := sockets.Summarize(from)
	if err != nil {
		return err
	}
	return g.print(cmd, s, func(w io.Writer) error { return s.WriteTable(w) })
}

// socketSource walks all sockets in all states, listeners and TIME_WAIT included.
func socketSource(netns string, ports []uint) (sockets.Source, func() error, error) {
	scope := sample.Scope{Mode: sample.Mode(netns)}
	if scope.Mode != sample.ModeOwn && scope.Mode != sample.ModeAll {
		scope = sample.Scope{Mode: sample.ModeList, List: []string{netns}}
	}
	spaces, err := sample.OpenNamespaces(scope)
	if spaces == nil {
		return nil, nil, usage(err)
	} else if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(notFound("ip netns list", err), spaces.Close())
	} else if err != nil {
		return nil, nil, errors.Join(err, spaces.Close())
	}
	req := inetdiag.Request{States: inetdiag.Everything, Ext: inetdiag.ExtAll}
	if len(ports) > 0 {
		var ranges []inetdiag.PortRange
		for _, p := range ports {
			if p > 65535 {
				return nil, nil, errors.Join(usage(fmt.Errorf("--port %d: use 0 to 65535", p)), spaces.Close())
			}
			ranges = append(ranges, inetdiag.PortRange{Lo: uint16(p), Hi: uint16(p)})
		}
		if req.Bytecode, err = inetdiag.SportFilter(ranges); err != nil {
			return nil, nil, errors.Join(usage(err), spaces.Close())
		}
	}
	return func(visit func(string, *inetdiag.Sock)) error {
		for _, n := range spaces.All() {
			st, err := n.Dump(req, func(s *inetdiag.Sock) { visit(n.Name, s) })
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
