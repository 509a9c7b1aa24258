// Command slab counts what a GPU's first look reads of the slab, with the codes of an atom in a row and in parts of 32
// codes, each with those of other atoms, for the plans that the costs of a GPU choose. docs/gpu.md says what came of it.
//
//	go run -C bench ./slab -atoms FILE [-n 60000] [-metric ip] [-k 1,10,100] [-delta .01]
//
// Nothing is timed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"thresher/backend"
	"thresher/batch/plan"
	"thresher/collection"
	"thresher/dataset"
	"thresher/gpu"
)

// options are what the flags say.
type options struct {
	atoms, metric, ks string
	n                 int
	delta             float64
}

func main() {
	var o options
	flag.StringVar(&o.atoms, "atoms", "", "`file` of atoms")
	flag.IntVar(&o.n, "n", 0, "atoms, the first of the file; 0: all")
	flag.StringVar(&o.metric, "metric", "ip", "`metric` of the search: "+strings.Join(collection.Metrics(), ", "))
	flag.StringVar(&o.ks, "k", "1,10,100", "atoms of an answer, several `numbers`")
	flag.Float64Var(&o.delta, "delta", .01, "failure probability of an answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "slab:", err)
		os.Exit(1)
	}
}

// run builds a collection of the atoms and writes a table of its first looks to out.
func run(ctx context.Context, out io.Writer, o options) (err error) {
	metric, err := collection.ParseMetric(o.metric)
	if err != nil {
		return fmt.Errorf("-metric: %w", err)
	}
	var ks []int
	for word := range strings.SplitSeq(o.ks, ",") {
		k, err := strconv.Atoi(word)
		if err != nil || k < 1 {
			return fmt.Errorf("-k %s: %q is not a number of atoms, at least 1", o.ks, word)
		}
		ks = append(ks, k)
	}
	atoms, err := dataset.ReadAll(ctx, o.atoms, nil)
	if err != nil {
		return err
	}
	n := atoms.Rows
	if o.n > 0 {
		n = min(n, o.n)
	}
	c, err := collection.Build(ctx, atoms.Data[:n*atoms.Dim], atoms.Dim, &collection.Options{Metric: metric, Seed: 1})
	if err != nil {
		return fmt.Errorf("%s: %w", o.atoms, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if !c.Coded() {
		return fmt.Errorf("%s: %d coordinates are not coded, at least %d are", o.atoms, c.Dim, collection.MinRotated)
	}
	fmt.Fprintf(out, "%d x %d, %v: %d codes of the head, %d of the rest in the slab\n", c.N, c.Dim, metric, c.R, c.PanelWidth)
	costs := gpu.EstimatedCosts()
	costs.Mixed = 0 // of plans that read the slab
	planner := plan.New(c, costs, backend.PortableCapacity())
	for _, method := range []plan.Method{plan.Auto, plan.Adaptive} {
		for _, m := range []int{1, 1024} {
			for _, k := range ks {
				q := plan.Question{Method: method, K: k, Arms: c.N, Panels: c.PanelCount(), Delta: o.delta, Together: plan.Together(m)}
				p, err := planner.Choose(q)
				if err != nil {
					return err
				}
				fmt.Fprintf(out, "%s, m = %d, k = %d: %s\n", method, m, k, p.Name)
				if !p.Dense() {
					describe(out, c, p)
				}
			}
		}
	}
	return ctx.Err()
}

// sectorBytes, burstBytes and lineBytes are what a GPU reads at least: into its second-level cache, from its memory, and
// as one line of a cache.
const sectorBytes, burstBytes, lineBytes = 32, 64, 128

// describe writes what the first look of p reads of an atom, and what the later looks and the scores of a query read.
func describe(out io.Writer, c *collection.Collection, p *plan.Plan) {
	terms := 12
	if c.Offset != nil {
		terms = 16
	}
	first := p.Looks[0]
	if first.Rep != backend.Panels || first.To > c.PanelWidth {
		fmt.Fprintln(out, "  the first look is not at the slab")
		return
	}
	width, stride := c.R+first.To, (c.R+c.PanelWidth+sectorBytes-1)/sectorBytes*sectorBytes
	fmt.Fprintf(out, "  first look: %d codes of %d and %d bytes of terms an atom\n", width, stride, terms)
	for _, unit := range []int{sectorBytes, burstBytes, lineBytes} {
		rows, parts := inRows(width, stride, unit), inParts(width)
		fmt.Fprintf(out, "    units of %3d bytes: in rows %5.1f, in parts %5.1f bytes an atom, %4.1f%% of what the scan reads saved\n",
			unit, rows, parts, 100*(rows-parts)/(rows+float64(terms)))
	}
	n, left := float64(c.N), p.SurvivorShares
	for i, l := range p.Looks[1:] {
		_, bytes := l.Rep.Codes(c)
		if l.Rep == backend.RowCodes {
			bytes = c.R + l.To
		}
		fmt.Fprintf(out, "  %v: %.0f rows of %d codes a query, of other arrays than the slab\n", l.Rep, left[i]*n, bytes)
	}
	fmt.Fprintf(out, "  scores: %.0f rows of %d bytes a query\n", left[len(left)-1]*n, 4*c.Dim)
}

// inRows returns the bytes an atom of the units that hold any of the first width bytes of rows stride bytes apart, for as many
// atoms as it takes until the pattern repeats.
func inRows(width, stride, unit int) float64 {
	units, last := 0, -1
	for atom := range unit {
		for at := atom * stride; at < atom*stride+width; at++ {
			if at/unit != last {
				units, last = units+1, at/unit
			}
		}
	}
	return float64(units*unit) / float64(unit)
}

// inParts returns the same for parts of sectorBytes, each with those of many other atoms: units are filled.
func inParts(width int) float64 {
	return float64((width + sectorBytes - 1) / sectorBytes * sectorBytes)
}
