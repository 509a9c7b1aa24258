package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	tasks.GoalReader
	filters             *rowFilters
	exclude, candidates linked // files of lists
	maxK                int    // of the rows read
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

func (g *rowGoals) close() {
	g.Close()
	g.filters.close()
}

func (g *rowGoals) open(j *job, given *BatchGoals) (err error) {
	if err := checkColumns(given, g.options.shelf.metric()); err != nil {
		return err
	}
	g.Columns, g.Complete = columnsOf(given), g.complete
	if names := g.Columns.Names(); len(names) > 0 {
		if g.Numbers, err = dataset.OpenNumbers(g.input.path, j.m.o.Budget, names...); err != nil {
			return g.input.named(err, "goals")
		}
	}
	if given.FilterColumn != "" {
		if g.filters, err = openFilters(j, g.rec, g.input, given.FilterColumn, g.options.shelf); err != nil {
			return err
		}
	}
	if given.ExcludeFileID != "" {
		g.exclude = linked{j.path(g.rec.excludeLink()), g.rec.ExcludeName}
		lists, err := dataset.OpenLists(g.exclude.path, &dataset.ListOptions{Zeros: given.Zeros, ZerosWord: "goals.zeros", Budget: j.m.o.Budget})
		if err != nil {
			return g.exclude.failed(err, excludeField)
		}
		g.Exclude = rowLists(lists, g.options.shelf)
		numbered := g.options.shelf.naming()
		if limit, n := lists.Limit(), g.options.shelf.len(); numbered.Int == nil && !numbered.Textual() && limit >= 0 && limit != int64(n) {
			return problem.New(problem.UnknownID, "%s: the matrix has %d columns, and the collection has %d vectors: is it of another collection?", g.exclude.name, limit, n).
				In(excludeField).Within(n)
		}
	}
	if given.CandidatesFileID != "" {
		g.candidates = linked{j.path(g.rec.candidatesLink()), g.rec.CandidatesName}
		results, err := dataset.OpenResults(g.candidates.path, j.m.o.Budget)
		if err != nil {
			return g.candidates.failed(err, candidatesField)
		}
		g.Candidates = rowLists(&resultLists{ResultReader: results}, g.options.shelf)
	}
	return nil
}

// skip skips the goals of n rows.
func (g *rowGoals) skip(ctx context.Context, n int64) error {
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := g.Next(false); err != nil {
			return g.explain(err)
		}
		if _, _, err := g.filters.row(); err != nil {
			return err
		}
	}
	return nil
}

// row returns the goal of the next row and how many ids it lists.
func (g *rowGoals) row() (q batch.QueryGoal, listed int, err error) {
	if q, err = g.Next(true); err != nil {
		return q, 0, g.explain(err)
	}
	if q.Filter, listed, err = g.filters.row(); err != nil {
		return q, 0, err
	}
	return q, listed + len(q.Exclude) + len(q.Candidates), nil
}

// besides returns the columns of the input that are no part of its vectors.
func besides(g *BatchGoals) []string {
	names := columnsOf(g).Names()
	if g != nil && g.FilterColumn != "" {
		names = append(names, g.FilterColumn)
	}
	return names
}

// complete checks the goal of a row without lists, and gives it its k.
func (g *rowGoals) complete(q *batch.QueryGoal) *batch.RequestError {
	if wrong := g.checkLimits(q); wrong != nil {
		return wrong
	}
	if q.MinScore == nil {
		q.MinScore = g.options.search.MinScore
	}
	all := 0
	if g.options.named {
		all = g.options.search.K
	}
	k, err := g.limits.GoalK(q, all, g.options.shelf.len(), g.options.cut)
	if err != nil {
		return &batch.RequestError{Field: "k", Query: -1, Err: errors.New(problem.Of(err).Detail)}
	}
	q.K, g.maxK = k, max(g.maxK, k)
	return nil
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
func (g *rowGoals) checkLimits(q *batch.QueryGoal) *batch.RequestError {
	if q.MinScore == nil && q.MaxScore == nil {
		return nil
	}
	all := g.options.search.Request()
	all.K = max(all.K, 1) // there is always one
	return tasks.CheckGoal(q, &all, g.options.shelf.metric())
}

// explain returns the problem that is an error of Next.
func (g *rowGoals) explain(err error) error {
	var of *tasks.GoalError
	if !errors.As(err, &of) {
		return err
	}
	switch of.Field {
	case "exclude":
		return g.exclude.explain(of.Err, g.Exclude, excludeField)
	case "candidates":
		return g.candidates.explain(of.Err, g.Candidates, candidatesField)
	case tasks.FieldNumbers:
		if errors.Is(of.Err, tasks.ErrNoNumbers) {
			return problem.New(problem.InvalidValue, "%s: the columns %q have %d rows, and there are more queries", g.input.name, g.Columns.Names(), of.Query).In("goals")
		}
		return g.input.named(of.Err, "goals")
	}
	return problem.New(problem.InvalidValue, "%s: row %d (0-based), column %q: %v", g.input.name, of.Query, g.Columns.Of(of.Field), of.Err).In("goals." + g.called(of.Field) + "_column")
}

// end refuses goals of more rows than there are.
func (g *rowGoals) end() error {
	file, field := g.exclude, excludeField
	switch g.Ended() {
	case "":
		return nil
	case tasks.FieldNumbers:
		return problem.New(problem.InvalidValue, "%s: the columns %q have more rows than the %d vectors", g.input.name, g.Columns.Names(), g.Read()).In("goals")
	case "candidates":
		file, field = g.candidates, candidatesField
	}
	return problem.New(problem.InvalidValue, "%s has more than %d lists, and there are %d queries", file.name, g.Read(), g.Read()).In(field)
}

// rowLists streams the lists of a source, whose ids are those of a shelf, as row numbers.
func rowLists(from tasks.ListSource, of shelf) *tasks.ListReader {
	return &tasks.ListReader{Source: from, Max: maxAtoms, Rows: func(list dataset.List) ([]int64, error) {
		return of.rows(&wire.IDList{Ints: list.IDs, Names: list.Names}, "ids")
	}}
}

// explain returns the problem that is an error of lists, which are in the file that a field of the Spec names.
func (l linked) explain(err error, lists *tasks.ListReader, field string) error {
	if errors.Is(err, tasks.ErrNoList) {
		return problem.New(problem.InvalidValue, "%s has %d lists, and there are more queries", l.name, lists.Len()).In(field)
	}
	var of *tasks.ListError
	if !errors.As(err, &of) {
		return l.failed(err, field)
	}
	var long *tasks.ListLengthError
	if errors.As(of, &long) {
		return problem.New(problem.OverLimit, "%s: %v", l.name, of).In(field).Within(long.Max)
	}
	var p *problem.Problem
	if !errors.As(of, &p) {
		return of.Err
	}
	at := ""
	if p.Index >= 0 {
		at = fmt.Sprintf("entry %d (0-based): ", p.Index)
	}
	return problem.New(p.Kind, "%s: query %d: %s%s", l.name, of.Query, at, p.Detail).In(field)
}

// failed returns the problem of lists that cannot be read.
func (l linked) failed(err error, field string) error {
	if named := l.named(err, field); named != err {
		return named
	}
	return problem.New(problem.Malformed, "%s: %v", l.name, err).In(field).Because(err)
}

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
