package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/tasks"
)

// goalFlags name the files and columns that say what each query asks for itself.
type goalFlags struct {
	exclude, zeros                      string
	integers                            string
	kColumn, floorColumn, ceilingColumn string
	filterFlags
	scoreLimits
}

func (f *goalFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.exclude, "exclude", "", "`file` of the vectors that each query may not return, a list a query ("+endingsOf(dataset.ListsRead)+"; .npz is a sparse matrix of scipy); - is standard input")
	f.filterFlags.add(fs)
	fs.StringVar(&f.zeros, "zeros", "", "whether a zero that the sparse matrix of --exclude stores excludes its vector: `keep or drop`; without it such a zero is an error")
	fs.StringVar(&f.integers, "integers", "", "what integers in answers and in --exclude are where the vectors have ids: `rows` or ids (default: ids with --ids; else whichever the stated scores fit)")
	fs.StringVar(&f.kColumn, "k-column", "", "`column` of the queries with the k of each ("+endingsOf(dataset.ColumnsRead)+"; an array of .npz); null is -k")
	fs.StringVar(&f.floorColumn, "min-score-column", "", "`column` of the queries with the least score of each; null is no limit")
	fs.StringVar(&f.ceilingColumn, "max-score-column", "", "`column` of the queries with the greatest score of each, for hard negatives; null is no limit")
	fs.StringVar(&f.floorColumn, "max-distance-column", "", "with --metric l2, in the place of --min-score-column: `column` of the queries with the greatest squared distance of each; null is no limit")
	fs.StringVar(&f.ceilingColumn, "min-distance-column", "", "with --metric l2, in the place of --max-score-column: `column` of the queries with the least squared distance of each; null is no limit")
}

// ranged reports whether queries ask for atoms that reach a least score.
func (f *goalFlags) ranged() bool { return f.minGiven || f.floorColumn != "" }

// named returns the columns that are named.
func (f *goalFlags) named() tasks.Columns {
	return tasks.Columns{K: f.kColumn, MinScore: f.floorColumn, MaxScore: f.ceilingColumn}
}

// columns returns their names, in the order k, floor, ceiling.
func (f *goalFlags) columns() []string { return f.named().Names() }

// queryGoals streams what each query asks for itself.
type queryGoals struct {
	goalFlags
	tasks.GoalReader
	queries input
	exclude *exclusions // nil without
	// k is what all queries ask for, for those whose column is null; 0 is any number of atoms.
	k      int
	metric collection.Metric
	// maxK is the greatest k of a query, or 0 if one asks for any number. survey finds it.
	maxK  int
	atoms int // after resolve: how many there are
}

// openGoals checks what each of the m queries, -1 for an unknown number, asks for itself, in
// addition to k and limits; with exclusions m is known. Without columns and exclusions it
// returns nil. The caller calls
// Close.
func (a *app) openGoals(ctx context.Context, f *goalFlags, queries, exclude input, m int64, k int, metric collection.Metric) (*queryGoals, error) {
	if err := cmp.Or(f.scoreLimits.check(metric), checkIntegers(f.integers)); err != nil {
		return nil, err
	}
	if f.zeros != "" && f.exclude == "" {
		return nil, fmt.Errorf("--zeros %s: there is no --exclude, to whose sparse matrix it applies", f.zeros)
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
		g.maxK = k
	}
	if f.exclude != "" {
		if err := surveyExclusions(ctx, exclude, queries, m, f.zeros); err != nil {
			return nil, err
		}
	}
	if err := g.open(exclude); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

func (g *queryGoals) open(exclude input) (err error) {
	g.Columns, g.Complete = g.named(), g.check
	if names := g.Columns.Names(); len(names) > 0 {
		if g.Numbers, err = dataset.OpenNumbersOf(g.queries.paths(), g.queries.budget(), names...); err != nil {
			return g.queries.named(err)
		}
	}
	if g.goalFlags.exclude == "" {
		return nil
	}
	if g.exclude, err = openExclusions(exclude, g.zeros); err == nil {
		g.Exclude = &tasks.ListReader{Source: g.exclude.lists, Rows: g.exclude.rows}
	}
	return err
}

// survey checks the numbers of all m queries, -1 for an unknown number, and finds maxK.
func (g *queryGoals) survey(ctx context.Context, m int64) error {
	r := &queryGoals{goalFlags: g.goalFlags, queries: g.queries, k: g.k, metric: g.metric}
	r.goalFlags.exclude = ""
	if err := r.open(input{}); err != nil {
		return err
	}
	defer r.Close()
	open := false
	for {
		goal, err := r.Next(false)
		if errors.Is(err, tasks.ErrNoNumbers) {
			break
		}
		if err != nil {
			return r.explain(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		k := cmp.Or(goal.K, g.k)
		open = open || k == 0
		g.maxK = max(g.maxK, k)
	}
	if rows := r.Read(); m >= 0 && rows != m {
		return fmt.Errorf("%s: the columns %q have %d rows, and there are %d queries", g.queries.name, g.columns(), rows, m)
	}
	if open {
		g.maxK = 0
	}
	return nil
}

// check checks what a row of columns asks for.
func (g *queryGoals) check(q *batch.QueryGoal) *batch.RequestError {
	if g.Numbers == nil {
		return nil
	}
	return tasks.CheckGoal(q, &batch.Request{K: g.k, MinScore: g.minScore(), MaxScore: g.maxScore()}, g.metric)
}

// explain names the file, and its column or list, in an error of Next.
func (g *queryGoals) explain(err error) error {
	var of *tasks.GoalError
	switch {
	case !errors.As(err, &of):
		return err
	case of.Field == "exclude":
		return g.exclude.explain(of.Err, g.Exclude)
	case errors.Is(of.Err, tasks.ErrNoNumbers):
		return fmt.Errorf("%s: the columns %q have %d rows and there are more queries", g.queries.name, g.Columns.Names(), of.Query)
	case of.Field == tasks.FieldNumbers:
		return g.queries.named(of.Err)
	}
	column, text := g.Columns.Of(of.Field), of.Err.Error()
	switch {
	case !errors.Is(of.Err, tasks.ErrUnbounded):
		// A greatest score that is named is that of all queries; for one of its own the column is.
		text = strings.NewReplacer("max_score is", "--"+cmp.Or(g.maxFlag, "max-score")+" is", "min_score is", "the least score is").Replace(text)
	case g.kColumn != "":
		text = "null, and no -k says how many vectors are wanted"
	default:
		column, text = g.floorColumn, "null, and without -k every query needs a least score"
	}
	return fmt.Errorf("%s: row %d (0-based): column %q: %s", g.queries.name, of.Query, column, text)
}

// resolve makes the following goals name atoms by row numbers; ids tells them.
func (g *queryGoals) resolve(ids *atomIDs, n int) error {
	g.atoms = n
	if g.exclude == nil {
		return nil
	}
	if err := ids.useIntegers(g.integers); err != nil {
		return err
	}
	return g.exclude.resolve(ids, n)
}

// read returns the goals of n queries, numbered from first, after resolve. It skips those
// before, which a resumed run has answered.
func (g *queryGoals) read(first int64, n int) ([]batch.QueryGoal, error) {
	goals := make([]batch.QueryGoal, n)
	for g.Read() < first+int64(n) {
		at := g.Read() - first
		goal, err := g.Next(at >= 0)
		if err != nil {
			return nil, g.explain(err)
		}
		if at >= 0 {
			goal.K = min(goal.K, g.atoms)
			goals[at] = goal
		}
	}
	return goals, nil
}
