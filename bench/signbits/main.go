// Command signbits counts what passes first looks of a GPU: at panels, and by sign bits, in two forms: at mixed
// codes, and by thresholds of tiles, which is not built (tiles.go). docs/gpu.md says what came of it. With -agreements it
// counts what passes first looks by equal signs, which are not built either (agreements.go, docs/planning.md).
//
//	go run -C bench ./signbits -atoms FILE -queries FILE [-n 60000] [-metric ip] [-k 10,100] [-agreements]
//
// It builds a collection, chooses plans by the costs of a GPU, and takes the first look of the plan of
// method adaptive as gpu/takelook.go does: in chunks, after each of which the arms of greatest bound
// are scored and thresholds rise. Nothing is timed.
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
	"thresher/backend/looks"
	"thresher/batch/plan"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/gpu"
)

// options are what the flags say.
type options struct {
	atoms, queries, metric, ks, costs string
	n, width                          int
	delta                             float64
	agreements                        bool
}

// queryCount is the number of queries of a simulation, the width of a panel of simd.Gemm.
const queryCount = 64

func main() {
	var o options
	flag.StringVar(&o.atoms, "atoms", "", "`file` of atoms")
	flag.StringVar(&o.queries, "queries", "", "`file` of queries, of which the first 64 are taken")
	flag.IntVar(&o.n, "n", 0, "atoms, the first of the file; 0: all")
	flag.StringVar(&o.metric, "metric", "ip", "`metric` of the search: "+strings.Join(collection.Metrics(), ", "))
	flag.StringVar(&o.ks, "k", "10,100", "atoms of an answer, several `numbers`")
	flag.StringVar(&o.costs, "costs", "gpu", "built-in `costs` that choose plans: gpu, cpu")
	flag.IntVar(&o.width, "width", 0, "rest coordinates of the first look, in place of the plan's")
	flag.BoolVar(&o.agreements, "agreements", false, "compare looks at more and fewer codes with counts of equal signs, which are not built")
	flag.Float64Var(&o.delta, "delta", .01, "failure probability of an answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "signbits:", err)
		os.Exit(1)
	}
}

// run builds a collection of the atoms and writes a table of its first looks to out.
func run(ctx context.Context, out io.Writer, o options) (err error) {
	metric, err := collection.ParseMetric(o.metric)
	if err != nil {
		return fmt.Errorf("-metric: %w", err)
	}
	costs := gpu.EstimatedCosts()
	switch o.costs {
	case "gpu":
	case "cpu":
		b := cpu.New(cpu.Options{Threads: 1})
		costs = b.Describe().Costs
		if err := b.Close(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("-costs %q is none of gpu, cpu", o.costs)
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
	queries, err := dataset.ReadAll(ctx, o.queries, nil)
	if err != nil {
		return err
	}
	if queries.Rows < queryCount || queries.Dim != atoms.Dim {
		return fmt.Errorf("%s has %d queries of %d coordinates; wanted are %d of %d", o.queries, queries.Rows, queries.Dim, queryCount, atoms.Dim)
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
	fmt.Fprintf(out, "%d x %d, %v\n", c.N, c.Dim, metric)
	costs.Mixed = 0 // plans that begin at panels, which are to be compared
	planner := plan.New(c, costs, backend.PortableCapacity())
	w := newWorkload(c, queries.Data)
	for _, k := range ks {
		l, err := firstLook(ctx, out, c, planner, k, o)
		if err != nil {
			return err
		}
		if l != nil {
			forms := compare
			if o.agreements {
				forms = compareAgreements
			}
			if err := forms(ctx, out, w, l, k); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// firstLook writes the plans for the k best and returns the first look of adaptive's; nil if it is no
// look that sign bits could decide.
func firstLook(ctx context.Context, out io.Writer, c *collection.Collection, planner *plan.Planner, k int, o options) (*looks.Compiled, error) {
	q := plan.Question{Method: plan.Auto, K: k, Arms: c.N, Panels: c.PanelCount(), Delta: o.delta}
	auto, err := planner.Choose(q)
	if err != nil {
		return nil, err
	}
	q.Method = plan.Adaptive
	p, err := planner.Choose(q)
	if err != nil {
		return nil, err
	}
	if o.width > 0 && !p.Dense() { // the later looks and the alpha of the plan
		_, later, _ := strings.Cut(p.Name, ",")
		q.Name = fmt.Sprintf("%d,%s", o.width, later)
		if p, err = planner.Choose(q); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(out, "k = %d: auto %s, adaptive %s", k, auto.Name, p.Name)
	if p.Dense() || p.Looks[0].Rep != backend.Panels || p.Looks[0].Alpha == 0 {
		fmt.Fprintln(out, ": no first look that can fail")
		return nil, nil
	}
	l, err := looks.NewSet(c).Compile(ctx, p.Looks[0])
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, ", alpha %.2g\n", p.Looks[0].Alpha)
	return l, nil
}

// table writes the head of a table to out and returns what writes a line of it.
func table(out io.Writer) func(name string, f tally) {
	fmt.Fprintf(out, "  %-46s %9s %9s %7s %7s %8s %7s\n", "", "listed %", "left %", "median", "most", "turns %", "rounds")
	return func(name string, f tally) {
		fmt.Fprintf(out, "  %-46s %9.4f %9.4f %7d %7d %8.2f %7.3f\n", name, f.listed, f.left, f.median, f.most, f.turns, f.rounds)
	}
}

// lineTouch is the cosine at which lines touch the bounds by agreements.
const lineTouch = .5

// compareAgreements takes a first look at the codes of every stage but the last, and by agreements of more and fewer
// signs (agreements.go), and writes a line for each.
func compareAgreements(ctx context.Context, out io.Writer, w *workload, l *looks.Compiled, k int) error {
	line, inOrder := table(out), storedOrder(w.c.N)
	for _, stage := range w.c.Stages[:len(w.c.Stages)-1] {
		look := l.Look
		look.To = stage.Width
		at, err := looks.NewSet(w.c).Compile(ctx, look)
		if err != nil {
			return err
		}
		line(fmt.Sprintf("codes, %d", at.To), w.search(newAtomwise(w, at), inOrder, k))
	}
	for _, width := range []int{128, 192, 256, 384, 512, 768} {
		if width > w.c.D || ctx.Err() != nil {
			break
		}
		bounds := agreementBounds(width, l.Alpha)
		line(fmt.Sprintf("agreements, %d", width), w.search(newAgreements(w, l, bounds), inOrder, k))
		line(fmt.Sprintf("agreements, %d, by a line", width), w.search(newAgreements(w, l, lineAbove(bounds, lineTouch)), inOrder, k))
	}
	return ctx.Err()
}

// compare takes a first look in every form and writes a line for each. Sign bits take so few
// instructions that they are also compared at 32 more coordinates.
func compare(ctx context.Context, out io.Writer, w *workload, l *looks.Compiled, k int) error {
	line := table(out)
	inOrder := storedOrder(w.c.N)
	line(fmt.Sprintf("as it is, %d", l.To), w.search(newAtomwise(w, l), inOrder, k))
	forms := []offsetForm{noOffset}
	if w.c.Offset != nil {
		forms = []offsetForm{offsetMost, offsetCoordinate}
	}
	for _, form := range forms {
		line(fmt.Sprintf("sign bits, %d, as stored%v", l.To, form), w.search(newTiled(w, l, inOrder, form), inOrder, k))
	}
	for _, more := range []int{0, 32} {
		wide := l.Look
		wide.To += more
		if stage := w.c.Stage(wide.To); stage < 0 || wide.To == w.c.D {
			continue
		}
		l, err := looks.NewSet(w.c).Compile(ctx, wide)
		if err != nil {
			return err
		}
		if m, err := newMixed(ctx, w, l); err != nil {
			return err
		} else if m != nil {
			line(fmt.Sprintf("mixed codes, %d", l.To), w.search(m, inOrder, k))
		}
		byRadius := orderByRadius(w.c.N, l.Radius, l.FirstChunk)
		for _, form := range forms {
			line(fmt.Sprintf("sign bits, %d, by radius%v", l.To, form), w.search(newTiled(w, l, byRadius, form), byRadius, k))
		}
	}
	return nil
}
