package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/lab"
	"github.com/congctl/congctl/internal/core/stat"
	kernelpop "github.com/congctl/congctl/internal/kernel/pop"
)

// popRow is what `lab pop` prints of a single run.
type popRow struct {
	Policy    string  `json:"policy"`
	Seed      uint64  `json:"seed"`
	Responses int     `json:"responses"`
	Large     int     `json:"large"` // of 100,000 bytes and more: the percentiles are of these
	P5        float64 `json:"p5_bytes_per_s"`
	P10       float64 `json:"p10_bytes_per_s"`
	P50       float64 `json:"p50_bytes_per_s"`
	Resent    float64 `json:"resent_share"` // of the bytes that the edge sent
}

const largeBytes = 100_000 // where the policy's threshold is

// result prints what came out: of several runs their comparison, of one its figures.
func (p *popRun) result(cmd *cobra.Command, f *lab.DayFolder, runs []lab.DayRun) error {
	if len(runs) > 1 {
		r, err := reportDay(cmd.Context(), p.out)
		if err != nil {
			return err
		}
		return p.global.print(cmd, r, func(w io.Writer) error { return sayDay(w, p.out, r) })
	}
	row := popRow{Policy: runs[0].Policy, Seed: runs[0].Seed}
	if err := row.read(f.Path(runs[0])); err != nil {
		return err
	}
	return p.global.print(cmd, row, row.text)
}

func (r *popRow) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\tSEED\tRESPONSES\tLARGE\tP5-MBIT/S\tP10-MBIT/S\tP50-MBIT/S\tRESENT-%")
	fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\n", r.Policy, r.Seed, r.Responses, r.Large,
		r.P5*8/1e6, r.P10*8/1e6, r.P50*8/1e6, 100*r.Resent)
	return t.Flush()
}

// read adds a run's folder up.
func (r *popRow) read(dir string) error {
	var rates []float64
	var sent, again uint64
	err := eachResponse(dir, func(x *kernelpop.Response) {
		r.Responses++
		sent, again = sent+x.SentBytes, again+x.RetransBytes
		if x.Asked >= largeBytes && x.Trouble == "" {
			rates = append(rates, float64(x.Got)/(float64(x.EndUs-x.StartUs)/1e6))
		}
	})
	if err != nil {
		return err
	}
	r.Large = len(rates)
	if r.Large > 0 {
		slices.Sort(rates)
		r.P5, r.P10, r.P50 = stat.Sorted(rates, 0.05), stat.Sorted(rates, 0.1), stat.Sorted(rates, 0.5)
	}
	if sent > 0 {
		r.Resent = float64(again) / float64(sent)
	}
	return nil
}

// eachResponse reads a run's responses in their order.
func eachResponse(dir string, fn func(*kernelpop.Response)) error {
	f, err := os.Open(filepath.Join(dir, responsesFile))
	if err != nil {
		return fmt.Errorf("read responses: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	for d := json.NewDecoder(z); ; {
		var r kernelpop.Response
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
		fn(&r)
	}
}
