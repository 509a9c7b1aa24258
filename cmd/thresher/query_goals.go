package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/spf13/pflag"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// goalFlags name the files and columns that say what each query asks for itself.
type goalFlags struct {
	exclude                             string
	kColumn, floorColumn, ceilingColumn string
	scoreLimits
}

func (f *goalFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.exclude, "exclude", "", "`file` of the atoms that each query may not return, a list a query: a sparse matrix of scipy (.npz), .jsonl or .ivecs; - is standard input")
	fs.StringVar(&f.kColumn, "k-column", "", "`column` of the queries with the k of each (.parquet, .arrow, .csv, .jsonl; array of .npz); null is -k")
	fs.StringVar(&f.floorColumn, "floor-column", "", "`column` of the queries with the least score of each (distances: the greatest); null is no limit")
	fs.StringVar(&f.ceilingColumn, "ceiling-column", "", "`column` of the queries with the greatest score of each (distances: the least), for hard negatives; null is no limit")
}

// ranged reports whether queries ask for atoms that reach a least score.
func (f *goalFlags) ranged() bool { return f.leastGiven || f.floorColumn != "" }

// columns returns the columns that are named, in the order k, floor, ceiling.
func (f *goalFlags) columns() []string {
	var names []string
	for _, name := range []string{f.kColumn, f.floorColumn, f.ceilingColumn} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

// queryGoals streams what each query asks for itself.
type queryGoals struct {
	goalFlags
	queries input
	numbers dataset.NumberReader // nil without columns
	exclude *exclusions          // nil without
	next    int64                // number of the next query
	// k is what all queries ask for, for those whose column is null; 0 is any number of atoms.
	k      int
	metric collection.Metric
	// mostK is the greatest k of a query, or 0 if one asks for any number. survey finds it.
	mostK int
	atoms int // after resolve: how many there are
}

// openGoals checks what each of the m queries, -1 for an unknown number, asks for itself, in
// addition to k and limits; with exclusions m is known. Without columns and exclusions it
// returns nil. The caller calls
// close.
func (a *app) openGoals(ctx context.Context, f *goalFlags, queries, exclude input, m int64, k int, metric collection.Metric) (*queryGoals, error) {
	if err := f.scoreLimits.check(metric); err != nil {
		return nil, err
	}
	if f.exclude == "" && len(f.columns()) == 0 {
		return nil, nil
	}
	g := &queryGoals{goalFlags: *f, queries: queries, k: k, metric: metric}
	if len(f.columns()) > 0 {
		if err := g.survey(ctx, m); err != nil {
			return nil, err
		}
	} else {
		g.mostK = k
	}
	if f.exclude != "" {
		if err := surveyExclusions(ctx, exclude, queries, m); err != nil {
			return nil, err
		}
	}
	if err := g.open(exclude); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *queryGoals) open(exclude input) (err error) {
	if names := g.columns(); len(names) > 0 {
		if g.numbers, err = dataset.OpenNumbers(g.queries.path, names...); err != nil {
			return g.queries.named(err)
		}
	}
	if g.goalFlags.exclude != "" {
		g.exclude, err = openExclusions(exclude)
	}
	return err
}

func (g *queryGoals) close() {
	if g.numbers != nil {
		g.numbers.Close() // read only
	}
	if g.exclude != nil {
		g.exclude.lists.Close()
	}
}

// survey checks the numbers of all m queries, -1 for an unknown number, and finds mostK.
func (g *queryGoals) survey(ctx context.Context, m int64) error {
	r, err := dataset.OpenNumbers(g.queries.path, g.columns()...)
	if err != nil {
		return g.queries.named(err)
	}
	defer r.Close()
	open := false
	for row := int64(0); ; row++ {
		numbers, err := r.Next()
		if err == io.EOF && m >= 0 && row != m {
			return fmt.Errorf("%s: the columns %q have %d rows, and there are %d queries", g.queries.name, g.columns(), row, m)
		}
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return g.queries.named(err)
		}
		goal, err := g.goal(row, numbers)
		if err != nil {
			return err
		}
		k := goal.K
		if k == 0 {
			k = g.k
		}
		open = open || k == 0
		g.mostK = max(g.mostK, k)
	}
	if open {
		g.mostK = 0
	}
	return nil
}

// greatestK limits the k of a query, of which there are no more atoms.
const greatestK = math.MaxInt32

// goal returns what a row of columns asks for, or which of its numbers is wrong.
func (g *queryGoals) goal(row int64, numbers []float64) (q batch.QueryGoal, err error) {
	at := 0
	number := func(column string) (v float64, given bool) {
		if column == "" {
			return 0, false
		}
		v = numbers[at]
		at++
		return v, !math.IsNaN(v) // null
	}
	wrong := func(column, format string, args ...any) error {
		return fmt.Errorf("%s: row %d (0-based): column %q: "+format, append([]any{g.queries.name, row, column}, args...)...)
	}
	if k, given := number(g.kColumn); given {
		if k != math.Trunc(k) || k < 1 || k > greatestK {
			return q, wrong(g.kColumn, "k is %v; an integer from 1 to %d is wanted, or null for the k of all", k, greatestK)
		}
		q.K = int(k)
	}
	if floor, given := number(g.floorColumn); given {
		q.MinScore = &floor
	}
	if ceiling, given := number(g.ceilingColumn); given {
		q.MaxScore = &ceiling
	}
	if least, most := orElse(q.MinScore, g.minScore()), orElse(q.MaxScore, g.maxScore()); least != nil && most != nil && g.metric.Ceiling(*most) < g.metric.Ceiling(*least) {
		if q.MaxScore == nil {
			return q, wrong(g.floorColumn, "%g, but --max-score is %g: no score is within both", *least, *most)
		}
		return q, wrong(g.ceilingColumn, "%g, but the least score is %g: no score is within both", *most, *least)
	}
	if q.K == 0 && g.k == 0 && q.MinScore == nil && !g.leastGiven {
		if g.kColumn != "" {
			return q, wrong(g.kColumn, "null, and no -k says how many atoms are wanted")
		}
		return q, wrong(g.floorColumn, "null, and without -k every query needs a least score")
	}
	return q, nil
}

// orElse returns the limit of a query, or else that of all.
func orElse(own, all *float64) *float64 {
	if own != nil {
		return own
	}
	return all
}

// resolve makes the following goals name atoms by row numbers; ids tells them.
func (g *queryGoals) resolve(ids *atomIDs, n int) error {
	g.atoms = n
	if g.exclude == nil {
		return nil
	}
	return g.exclude.resolve(ids, n)
}

// read returns the goals of n queries, numbered from first, after resolve. It skips those
// before, which a resumed run has answered.
func (g *queryGoals) read(first int64, n int) ([]batch.QueryGoal, error) {
	goals := make([]batch.QueryGoal, n)
	for ; g.next < first+int64(n); g.next++ {
		if g.numbers != nil {
			numbers, err := g.numbers.Next()
			if err == io.EOF {
				return nil, fmt.Errorf("%s: the columns %q have %d rows and there are more queries", g.queries.name, g.columns(), g.next)
			}
			if err != nil {
				return nil, g.queries.named(err)
			}
			if g.next >= first {
				goal, err := g.goal(g.next, numbers)
				if err != nil {
					return nil, err
				}
				goal.K = min(goal.K, g.atoms)
				goals[g.next-first] = goal
			}
		}
		if g.exclude != nil {
			rows, err := g.exclude.read(g.next >= first)
			if err != nil {
				return nil, err
			}
			if g.next >= first {
				goals[g.next-first].Exclude = rows
			}
		}
	}
	return goals, nil
}
