package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
	"thresher/service/wire"
	"thresher/tasks"
)

// rowGoals streams what each row of a matrix asks for itself: numbers from columns of the
// input, and lists of ids from other files, one a row.
type rowGoals struct {
	rec     *record
	options *request
	limits  wire.Limits
	input   linked

	numbers             dataset.NumberReader // nil without columns
	exclude, candidates *rowLists            // nil without
	next                int64                // number of the next row
	mostK               int                  // of the rows read
}

// linked is a file of the batch under two names.
type linked struct{ path, name string } // path is that of the link, which clients do not see

// named replaces the path in an error by the client's name for the file, which a field of the
// Spec names.
func (l linked) named(err error, field string) error {
	var e *dataset.Error
	if !errors.As(err, &e) {
		return err
	}
	e.File = strings.Replace(e.File, l.path, l.name, 1)
	return problem.New(problem.Malformed, "%v", e).In(field).Because(err)
}

// columnsOf returns the columns that are given.
func columnsOf(g *BatchGoals) tasks.Columns {
	if g == nil {
		return tasks.Columns{}
	}
	return tasks.Columns{K: g.KColumn, MinScore: cmp.Or(g.MinScoreColumn, g.MaxDistanceColumn), MaxScore: cmp.Or(g.MaxScoreColumn, g.MinDistanceColumn)}
}

// checkColumns refuses columns of limits by the names that they have by other metrics than m.
func checkColumns(g *BatchGoals, m collection.Metric) error {
	for name, column := range map[string]string{
		"min_score": g.MinScoreColumn, "max_score": g.MaxScoreColumn, "max_distance": g.MaxDistanceColumn, "min_distance": g.MinDistanceColumn,
	} {
		if column == "" {
			continue
		}
		if err := tasks.CheckLimitName(name, m); err != nil {
			field := "goals." + name + "_column"
			return problem.New(problem.InvalidValue, "%s: %s", field, err.Say("goals."+err.Right+"_column")).In(field)
		}
	}
	return nil
}

// The members of a Spec with goals, as problems name them.
const (
	kColumnField    = "goals.k_column"
	excludeField    = "goals.exclude_file_id"
	candidatesField = "goals.candidates_file_id"
)

// openGoals opens what the rows of the batch ask for themselves; nil if that is nothing. The
// caller closes it.
func (j *job) openGoals(rec *record, options *request) (*rowGoals, error) {
	given := rec.Batch.Goals
	if given == nil {
		return nil, nil
	}
	g := &rowGoals{rec: rec, options: options, limits: j.m.o.Limits, input: linked{j.path(rec.inputName()), rec.InputName}}
	err := g.open(j, given)
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *rowGoals) open(j *job, given *BatchGoals) (err error) {
	if err := checkColumns(given, g.options.shelf.metric()); err != nil {
		return err
	}
	if names := columnsOf(given).Names(); len(names) > 0 {
		if g.numbers, err = dataset.OpenNumbers(g.input.path, j.m.o.Budget, names...); err != nil {
			return g.input.named(err, "goals")
		}
	}
	if given.ExcludeFileID != "" {
		g.exclude = &rowLists{field: excludeField, linked: linked{j.path(g.rec.excludeLink()), g.rec.ExcludeName}}
		lists, err := dataset.OpenLists(g.exclude.path, &dataset.ListOptions{Zeros: given.Zeros, ZerosWord: "goals.zeros", Budget: j.m.o.Budget})
		if err != nil {
			return g.exclude.failed(err)
		}
		g.exclude.from = plainLists{lists}
		numbered := g.options.shelf.naming()
		if limit, n := lists.Limit(), g.options.shelf.len(); numbered.Int == nil && !numbered.Textual() && limit >= 0 && limit != int64(n) {
			return problem.New(problem.UnknownID, "%s: the matrix has %d columns, and the collection has %d atoms: is it of another collection?", g.exclude.name, limit, n).
				In(excludeField).Within(n)
		}
	}
	if given.CandidatesFileID != "" {
		g.candidates = &rowLists{field: candidatesField, linked: linked{j.path(g.rec.candidatesLink()), g.rec.CandidatesName}}
		results, err := dataset.OpenResults(g.candidates.path, j.m.o.Budget)
		if err != nil {
			return g.candidates.failed(err)
		}
		g.candidates.from = &resultLists{ResultReader: results}
	}
	return nil
}

func (g *rowGoals) close() {
	if g.numbers != nil {
		g.numbers.Close() // read only
	}
	for _, l := range []*rowLists{g.exclude, g.candidates} {
		if l != nil && l.from != nil {
			l.from.Close()
		}
	}
}

// skip skips the goals of n rows.
func (g *rowGoals) skip(ctx context.Context, n int64) error {
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, _, err := g.row(false); err != nil {
			return err
		}
	}
	return nil
}

// row returns the goal of the next row and how many ids it lists, or only skips it.
func (g *rowGoals) row(wanted bool) (q batch.QueryGoal, listed int, err error) {
	if g.numbers != nil {
		numbers, err := g.numbers.Next()
		if err == io.EOF {
			return q, 0, problem.New(problem.InvalidValue, "%s: the columns %q have %d rows, and there are more queries", g.input.name, columnsOf(g.rec.Batch.Goals).Names(), g.next).In("goals")
		}
		if err != nil {
			return q, 0, g.input.named(err, "goals")
		}
		if q, err = g.goal(numbers); err != nil {
			return q, 0, err
		}
	} else if q, err = g.goal(nil); err != nil {
		return q, 0, err
	}
	for _, x := range []struct {
		from *rowLists
		to   *[]int64
	}{{g.exclude, &q.Exclude}, {g.candidates, &q.Candidates}} {
		if x.from == nil {
			continue
		}
		if *x.to, err = x.from.read(g.next, g.options.shelf, wanted); err != nil {
			return q, 0, err
		}
		listed += len(*x.to)
	}
	g.next++
	return q, listed, nil
}

// goal returns the goal of a row without lists: numbers has its columns.
func (g *rowGoals) goal(numbers []float64) (q batch.QueryGoal, err error) {
	q, wrong := columnsOf(g.rec.Batch.Goals).Goal(numbers)
	if wrong != nil {
		return q, g.wrongK("%v", wrong.Err)
	}
	if err := g.checkLimits(&q); err != nil {
		return q, err
	}
	if q.MinScore == nil {
		q.MinScore = g.options.search.MinScore
	}
	n := g.options.shelf.len()
	switch {
	case q.K == 0 && g.options.named:
		q.K = g.options.search.K
	case q.K == 0:
		q.K = g.limits.DefaultK(q.MinScore != nil)
	default:
		if _, err := g.limits.CheckK(int64(q.K)); err != nil {
			return q, g.wrongK("%s", problem.Of(err).Detail)
		}
		if err := wire.CheckFit(q.K, n); err != nil && !g.options.cut {
			return q, g.wrongK("%s", problem.Of(err).Detail)
		}
	}
	q.K = min(q.K, n)
	g.mostK = max(g.mostK, q.K)
	return q, nil
}

// called returns what a limit is called by the metric of the collection.
func (g *rowGoals) called(field string) string {
	near, far := tasks.LimitNames(g.options.shelf.metric())
	switch field {
	case "min_score":
		return near
	case "max_score":
		return far
	}
	return field
}

// checkLimits refuses limits of a row that no score is within, its own or those of all rows.
func (g *rowGoals) checkLimits(q *batch.QueryGoal) error {
	if q.MinScore == nil && q.MaxScore == nil {
		return nil
	}
	all := g.options.search.Request()
	all.K = max(all.K, 1) // there is always one
	wrong := tasks.CheckGoal(q, &all, g.options.shelf.metric())
	if wrong == nil {
		return nil
	}
	return problem.New(problem.InvalidValue, "%s: row %d (0-based), column %q: %v", g.input.name, g.next, columnsOf(g.rec.Batch.Goals).Of(wrong.Field), wrong.Err).In("goals." + g.called(wrong.Field) + "_column")
}

func (g *rowGoals) wrongK(format string, args ...any) error {
	return problem.New(problem.InvalidValue, "%s: row %d (0-based), column %q: %s", g.input.name, g.next, g.rec.Batch.Goals.KColumn, fmt.Sprintf(format, args...)).In(kColumnField)
}

// end refuses goals of more rows than there are.
func (g *rowGoals) end() error {
	if g.numbers != nil {
		if _, err := g.numbers.Next(); err != io.EOF {
			return problem.New(problem.InvalidValue, "%s: the columns %q have more rows than the %d vectors", g.input.name, columnsOf(g.rec.Batch.Goals).Names(), g.next).In("goals")
		}
	}
	for _, l := range []*rowLists{g.exclude, g.candidates} {
		if l == nil {
			continue
		}
		if _, err := l.from.Next(); err != io.EOF {
			return problem.New(problem.InvalidValue, "%s has more than %d lists, and there are %d queries", l.name, g.next, g.next).In(l.field)
		}
	}
	return nil
}

// rowLists streams lists of ids, one a row, from a file that a field of the Spec names.
type rowLists struct {
	linked
	field string
	from  listSource
}

// listSource is a dataset.ListReader as far as rows need it.
type listSource interface {
	Next() (dataset.List, error)
	Close() error
}

type plainLists struct{ dataset.ListReader }

// resultLists has the ids of answers, which are in the order of the rows. Answers without ids have row numbers,
// or are of before version 2, when these stood for ids that are integers.
type resultLists struct {
	dataset.ResultReader
	next int64
}

func (r *resultLists) Next() (dataset.List, error) {
	result, err := r.ResultReader.Next()
	if err != nil {
		return dataset.List{}, err
	}
	if result.Query != r.next {
		return dataset.List{}, fmt.Errorf("answer %d (0-based) is to query %d; answers must be in the order of the queries, without gaps", r.next, result.Query)
	}
	r.next++
	if len(result.IDs) > 0 {
		ids := wire.ListOf(result.IDs)
		return dataset.List{IDs: ids.Ints, Names: ids.Names}, nil
	}
	return dataset.List{IDs: result.Rows}, nil
}

// read returns the rows of atoms that the list of a row names, or only skips it.
func (l *rowLists) read(row int64, s shelf, wanted bool) ([]int64, error) {
	list, err := l.from.Next()
	if err == io.EOF {
		return nil, problem.New(problem.InvalidValue, "%s has %d lists, and there are more queries", l.name, row).In(l.field)
	}
	if err != nil {
		return nil, l.failed(err)
	}
	if !wanted {
		return nil, nil
	}
	ids := &wire.IDList{Ints: list.IDs, Names: list.Names}
	if n := ids.Len(); n > mostAtoms {
		return nil, problem.New(problem.OverLimit, "%s: query %d: %d ids, at most %d are accepted", l.name, row, n, mostAtoms).In(l.field).Within(mostAtoms)
	}
	rows, err := s.rows(ids, "ids")
	var p *problem.Problem
	if errors.As(err, &p) {
		at := ""
		if p.Index >= 0 {
			at = fmt.Sprintf("entry %d (0-based): ", p.Index)
		}
		return nil, problem.New(p.Kind, "%s: query %d: %s%s", l.name, row, at, p.Detail).In(l.field)
	}
	return rows, err
}

// failed returns the problem of a list that cannot be read.
func (l *rowLists) failed(err error) error {
	if named := l.named(err, l.field); named != err {
		return named
	}
	return problem.New(problem.Malformed, "%s: %v", l.name, err).In(l.field).Because(err)
}
