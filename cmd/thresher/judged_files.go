package main

import (
	"cmp"
	"context"
	"slices"

	"thresher/dataset"
)

// judged are the vectors and the queries of a command that judges answers.
type judged struct {
	vectors, queries input
	rows             dataset.Reader   // of the queries
	layout           *dataset.Options // of the vectors
	column           string           // of the queries' coordinates, or ""
	filters          *queryFilters    // nil without a filter for each query
}

// openJudged opens the queries that f names, and takes over the vectors. ids names the column of the vectors' ids, and
// beside other columns of either file that are no coordinates; filterColumn is the queries' column of filters, or "". The
// caller closes what is returned.
func (a *app) openJudged(ctx context.Context, f *vectorFlags, vectors input, ids, filterColumn string, beside []string) (*judged, error) {
	vectors.ids, vectors.except = ids, beside
	j := &judged{vectors: vectors, column: f.queriesColumn, layout: &dataset.Options{Column: f.atomsColumn, IDs: ids, FindIDs: true, Except: beside}}
	err := j.open(ctx, a, f.queries, filterColumn)
	if err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

// open opens the queries.
func (j *judged) open(ctx context.Context, a *app, path, filterColumn string) (err error) {
	if j.queries, err = a.openVectors(ctx, "queries", path); err != nil {
		return err
	}
	if filterColumn != "" {
		if j.filters, err = a.openFilters(ctx, j.queries, filterColumn); err != nil {
			return err
		}
		j.layout.Except = slices.Concat(j.layout.Except, j.filters.columns())
		j.vectors.except = j.layout.Except
		j.queries.except = append(j.queries.except, filterColumn)
	}
	j.queries.except = append(j.queries.except, j.layout.Except...)
	if j.layout.IDs != "" {
		j.queries.except = append(j.queries.except, j.layout.IDs)
	}
	if j.queries, err = j.vectors.alike(j.queries, j.layout.Column); err != nil {
		return err
	}
	if j.rows, err = j.reopened(); err != nil || j.filters == nil {
		return err
	}
	m, err := j.count(ctx)
	return cmp.Or(err, j.filters.fit(m))
}

// close closes the reader of the queries and removes files that are temporary.
func (j *judged) close() {
	if j.rows != nil {
		j.rows.Close() // read only
	}
	j.queries.remove()
	j.vectors.remove()
}

// reopened returns a reader of the queries from the first on.
func (j *judged) reopened() (dataset.Reader, error) { return j.queries.openQueries(j.column) }

// count returns the number of queries.
func (j *judged) count(ctx context.Context) (int64, error) {
	return j.queries.count(ctx, j.rows, j.column)
}

// fit returns an error if vectors and queries have different dimensions.
func (j *judged) fit() error { return j.vectors.fits(j.layout, j.queries, j.rows.Dim()) }

// answers opens answers to the queries, which the caller removes.
func (j *judged) answers(ctx context.Context, a *app, path string) (input, error) {
	in, err := a.openInput(ctx, "answers", path)
	in.queries = j.queries.asked(ctx, j.rows, j.column)
	return in, err
}

// resolved opens answers whose vectors are named by their row numbers among the vectors, whatever the file calls them.
// integers is what --integers says.
func (j *judged) resolved(ctx context.Context, a *app, answers input, of *atoms, integers string) (*othersAnswers, error) {
	results, err := openOthersAnswers(answers)
	if err != nil {
		return nil, err
	}
	ids := of.ids(j.vectors, j.layout.IDs)
	err = a.decideIntegers(ctx, &answered{answers: answers, ids: ids, said: integers, n: of.N, dim: of.Dim, oracle: lazyOracle(of), queries: j.reopened})
	if err != nil {
		results.close()
		return nil, err
	}
	results.resolve(ids)
	return results, nil
}
