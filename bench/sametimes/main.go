// Command sametimes lets two builds of racer take turns at the same searches and prints how much longer
// the second takes, cell by cell. It checks changes that must not cost time:
//
//	go build -C bench -o ../build/racer-before ./racer   # at the one commit
//	go build -C bench -o ../build/racer-after ./racer    # at the other
//	go run -C bench ./sametimes ../build/racer-before ../build/racer-after
//
// Both search with method auto on one thread, by costs that each of them measures. Vectors and queries are clusters
// whose coordinates decay by a power law, as those of `thresher bench`; the first run writes them into -data. The
// table has, in microseconds a query, the least turn and the median one, and the ratio of the least and the median of
// the ratios of turns. The exit status is 1 if both are above -worst in any cell.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"thresher/dataset"
	"thresher/internal/vectors"
)

// A shape is a set of vectors: their number and dimension.
type shape struct{ n, dim int }

func (s shape) String() string { return fmt.Sprintf("%dx%d", s.n, s.dim) }

var (
	shapes = []shape{{1000, 64}, {10_000, 128}, {30_000, 384}, {60_000, 768}, {100_000, 768}}
	ms     = []int{1, 256}
	ks     = []int{10, 100}
)

const queries = 512

type options struct {
	before, after string // racers
	data, only    string
	starts, turns int
	seconds       float64 // least length of a turn
	worst         float64
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "../build/sametimes", "`folder` of the sets, which are made where they are missing")
	flag.StringVar(&o.only, "only", "", "take only the cells whose name contains this `text`, such as 60000x768 or m=1 k=10")
	flag.IntVar(&o.starts, "starts", 3, "start each build so often: where its memory happens to lie decides some percent")
	flag.IntVar(&o.turns, "turns", 3, "turns of each build after a start")
	flag.Float64Var(&o.seconds, "seconds", .1, "least length of a turn: a search that takes less is repeated")
	flag.Float64Var(&o.worst, "worst", 1.05, "fail from this `ratio` on")
	flag.Parse()
	if flag.NArg() != 2 || o.starts < 1 || o.turns < 1 || !(o.seconds > 0) {
		fmt.Fprintln(os.Stderr, "usage: sametimes [-only TEXT] [-starts N] [-turns N] [-seconds S] [-worst RATIO] [-data FOLDER] BEFORE AFTER")
		os.Exit(2)
	}
	o.before, o.after = flag.Arg(0), flag.Arg(1)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	slower, err := run(ctx, os.Stdout, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sametimes:", err)
		os.Exit(2)
	}
	if slower > 0 {
		os.Exit(1)
	}
}

// run prints the table and returns in how many cells the second build takes longer than it may.
func run(ctx context.Context, out io.Writer, o options) (slower int, err error) {
	if _, err := fmt.Fprintf(out, "| vectors | cell | before, us: least, median | after, us: least, median | after / before: least, median |\n|---|---|---|---|---|\n"); err != nil {
		return 0, err
	}
	taken := 0
	for i, s := range shapes {
		cells := slices.DeleteFunc(cellsOf(s), func(c cell) bool { return !strings.Contains(c.String(), o.only) })
		if len(cells) == 0 {
			continue
		}
		more, err := race(ctx, out, o, s, uint64(i), cells)
		if err != nil {
			return 0, err
		}
		slower, taken = slower+more, taken+len(cells)
	}
	if taken == 0 {
		return 0, fmt.Errorf("-only %q: the name of no cell contains it", o.only)
	}
	_, err = fmt.Fprintf(out, "\n%d cells, %d beyond %.4g\n", taken, slower, o.worst)
	return slower, err
}

// A cell is a search of m queries for the k best of a shape's vectors.
type cell struct {
	shape
	m, k int
}

func (c cell) String() string { return fmt.Sprintf("%s m=%d k=%d", c.shape, c.m, c.k) }

func cellsOf(s shape) (cells []cell) {
	for _, m := range ms {
		for _, k := range ks {
			cells = append(cells, cell{s, m, k})
		}
	}
	return cells
}

// race lets both builds search one set.
func race(ctx context.Context, out io.Writer, o options, s shape, seed uint64, cells []cell) (slower int, err error) {
	atoms, asked, err := makeSet(o.data, s, seed)
	if err != nil {
		return 0, err
	}
	times := make([][2][]float64, len(cells))
	for range o.starts {
		if err := raceOnce(ctx, o, atoms, asked, cells, times); err != nil {
			return 0, err
		}
	}
	for i, c := range cells {
		before, after := times[i][0], times[i][1]
		least, middle := compare(before, after)
		if min(least, middle) > o.worst {
			slower++
		}
		_, err = fmt.Fprintf(out, "| %s | m = %d, k = %d | %.4g, %.4g | %.4g, %.4g | %.3f, %.3f |\n", s, c.m, c.k,
			slices.Min(before), median(before), slices.Min(after), median(after), least, middle)
		if err != nil {
			return 0, err
		}
	}
	return slower, nil
}

// raceOnce starts both builds and appends what their turns take to the times of each cell.
func raceOnce(ctx context.Context, o options, atoms, asked string, cells []cell, times [][2][]float64) (err error) {
	var racers [2]*racer
	for i, program := range []string{o.before, o.after} {
		if racers[i], err = start(ctx, program, atoms, asked); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, racers[i].close()) }()
	}
	for i, c := range cells {
		if err := takeTurns(racers, c, o, &times[i]); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return nil
}

// takeTurns appends the microseconds a query of each turn of each racer. Who goes first alternates.
func takeTurns(racers [2]*racer, c cell, o options, times *[2][]float64) error {
	count := 1
	for _, r := range racers {
		if _, err := r.search(c, 0, 1); err != nil { // touches memory
			return err
		}
		once, err := r.search(c, 0, 1)
		if err != nil {
			return err
		}
		count = max(count, int(math.Ceil(o.seconds/once)))
	}
	for turn := range o.turns {
		for i := range racers {
			i = (i + turn) % 2
			took, err := racers[i].search(c, turn*count, count)
			if err != nil {
				return err
			}
			times[i] = append(times[i], 1e6*took/float64(count*c.m))
		}
	}
	return nil
}

// compare returns the least time after over the least before, and the median of the ratios of turns.
func compare(before, after []float64) (least, middle float64) {
	ratios := make([]float64, len(before))
	for i := range ratios {
		ratios[i] = after[i] / before[i]
	}
	return slices.Min(after) / slices.Min(before), median(ratios)
}

// median returns the middle of x, of an even number the mean of the middle two. x may be in any order and stays so.
func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// makeSet returns the files of a set's vectors and queries, which it writes unless they are there.
func makeSet(folder string, s shape, seed uint64) (atoms, asked string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", "", err
	}
	atoms, asked = filepath.Join(folder, s.String()+".npy"), filepath.Join(folder, s.String()+"-queries.npy")
	if _, err := os.Stat(asked); err == nil { // written last
		return atoms, asked, nil
	}
	rows := vectors.PowerLaw(vectors.Rand(seed+1), s.n+queries, s.dim)
	if err := write(atoms, s.n, s.dim, rows[:s.n*s.dim]); err != nil {
		return "", "", err
	}
	return atoms, asked, write(asked, queries, s.dim, rows[s.n*s.dim:])
}

// write writes rows to a file that is whole or not there.
func write(path string, n, dim int, rows []float32) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	if err := errors.Join(dataset.WriteNPY(f, n, dim, rows), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
