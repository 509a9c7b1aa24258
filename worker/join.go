package worker

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"thresher/batch"
	"thresher/dataset"
	"thresher/join"
	"thresher/tasks"
)

// graph finds the nearest neighbours of each atom among the others.
func (c *call) graph(ctx context.Context) (any, *reply, error) {
	var f struct {
		Handle    int64           `json:"handle"`
		K         int             `json:"k"`
		Method    batch.Method    `json:"method"`
		Delta     float64         `json:"delta"`
		Epsilon   float64         `json:"epsilon"`
		Published batch.Published `json:"published"`
		Symmetric bool            `json:"symmetric"`
		Mutual    bool            `json:"mutual"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	filter, err := c.rowNumbers("filter", -1)
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	v, err := c.hold(ctx, f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	o := tasks.GraphOptions{
		GraphOptions: join.GraphOptions{K: min(f.K, max(v.N-1, 1)), Method: f.Method, Delta: f.Delta, Epsilon: f.Epsilon, Published: f.Published, Threads: v.options.Threads, Filter: filter},
		Symmetric:    f.Symmetric, Mutual: f.Mutual,
	}
	if err := c.fits("k", 40*int64(v.N)*int64(max(o.K, 0))+int64(o.UndirectedBytes(v.N))); err != nil {
		return nil, nil, err
	}
	if c.s.o.Spare != nil {
		o.Memory = c.s.o.Spare()
	}
	g, err := tasks.NewGraphSearch(v.engine, o)
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	e := &edges{gathered: gathered{lims: []int64{0}}}
	summary, err := tasks.Graph(ctx, g, func(done, total int64) { c.report("searching", done, total) }, e.add)
	if err != nil {
		return nil, nil, err
	}
	n, found := int64(v.N), int64(len(e.rows))
	out, err := replyOf(c.s.link.passes(), []column{{"lims", int64s, []int64{n + 1}}, {"rows", int64s, []int64{found}}, {"scores", float32s, []int64{found}}, {"scores64", float64s, []int64{found}}},
		bytesOf(e.lims), bytesOf(e.rows), bytesOf(e.scores), bytesOf(e.scores64))
	return struct {
		K int `json:"k"`
		*tasks.GraphSummary
		Warnings []string `json:"warnings"` // [] for none
	}{summary.Certificate.K, summary, listed(summary.Warnings)}, out, err
}

// edges are the rows of a graph in ascending order.
type edges struct {
	gathered
	scores64 []float64
}

func (e *edges) add(r *dataset.Result) error {
	e.rows, e.scores = append(e.rows, r.Rows...), append(e.scores, r.Scores...)
	e.scores64 = append(e.scores64, r.Scores64...)
	e.lims = append(e.lims, int64(len(e.rows)))
	return nil
}

// pairs finds all pairs of atoms, or of an atom and a row of the array others, above a score.
func (c *call) pairs(ctx context.Context) (any, *reply, error) {
	var f struct {
		Handle   int64        `json:"handle"`
		MinScore *float64     `json:"min_score"`
		Method   batch.Method `json:"method"`
		Delta    float64      `json:"delta"`
		MaxPairs int64        `json:"max_pairs"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	switch {
	case f.MinScore == nil || math.IsNaN(*f.MinScore):
		return nil, nil, wrong("min_score", "is missing")
	case f.MaxPairs < 0:
		return nil, nil, wrong("max_pairs", "%d, at least 1, or 0 for no limit", f.MaxPairs)
	}
	v, err := c.hold(ctx, f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	others, err := c.get("others", queryTypes(v.Elem())...)
	if err != nil {
		return nil, nil, err
	}
	filter, err := c.rowNumbers("filter", -1)
	if err != nil {
		return nil, nil, err
	}
	var changes []float64
	if !v.Float64() {
		changes, err = vector[float64](c.arguments, "changes", -1, float64s)
	}
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	o := tasks.PairOptions{PairOptions: join.PairOptions{MinScore: *f.MinScore, Method: f.Method, Delta: f.Delta, Stored: true, Filter: filter}, MaxPairs: f.MaxPairs}
	if others != nil {
		if o.With, err = c.otherRows(v, others, changes); err != nil {
			return nil, nil, err
		}
	}
	search, err := tasks.NewPairSearch(ctx, v.engine, o)
	if err != nil {
		return nil, nil, err
	}
	var found []dataset.Pair
	summary, err := tasks.Pairs(ctx, search, func(done, total int64) { c.report("pairing", done, total) }, func(pairs []dataset.Pair) error {
		found = append(found, pairs...)
		return c.fits("min_score", 70*int64(len(found)))
	})
	if err != nil {
		return nil, nil, pairFailure(err, others != nil)
	}
	slices.SortFunc(found, func(x, y dataset.Pair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	n := int64(len(found))
	out, err := newReply(c.s.link.passes(), column{"a", int64s, []int64{n}}, column{"b", int64s, []int64{n}}, column{"scores", float32s, []int64{n}}, column{"scores64", float64s, []int64{n}})
	if err != nil {
		return nil, nil, err
	}
	a, b, scores, scores64 := elements[int64](out.part(0)), elements[int64](out.part(1)), elements[float32](out.part(2)), elements[float64](out.part(3))
	for i, p := range found {
		a[i], b[i], scores[i], scores64[i] = p.A, p.B, p.Score, p.Score64
	}
	return struct {
		*tasks.PairsSummary
		Work     join.PairWork `json:"work"`
		Warnings []string      `json:"warnings"` // [] for none
	}{summary, search.Counts().Work, listed(summary.Warnings)}, out, nil
}

// listed makes a list that is null an empty one.
func listed(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// otherRows reads the rows of the array others, whose changes by rounding are changes.
func (c *call) otherRows(v *index, others *array, changes []float64) (dataset.Reader, error) {
	if len(others.Shape) != 2 || others.Shape[1] != int64(v.Dim) || others.Shape[0] == 0 {
		return nil, wrong("others", "shape %v; rows of %d columns are wanted", others.Shape, v.Dim)
	}
	if _, _, err := others.share(); err != nil {
		return nil, err
	}
	narrow, wide, err := others.floats()
	if err != nil {
		return nil, err
	}
	if wide != nil {
		rows, err := dataset.VectorsOf(wide, v.Dim)
		return rows.Reader(), err
	}
	if changes != nil && int64(len(changes)) != others.Shape[0] {
		return nil, wrong("changes", "%d for %d rows", len(changes), others.Shape[0])
	}
	return dataset.FromMemory(narrow, v.Dim, changes), nil
}

// pairFailure names the argument that an error of pairs is about.
func pairFailure(err error, table bool) error {
	var limit *tasks.PairLimitError
	if errors.As(err, &limit) {
		return wrong("max_pairs", "%d pairs among %s; move min_score, or raise max_pairs", limit.Pairs, limit.Among()).within(limit.Limit)
	}
	var row *join.RowError
	if table && errors.As(err, &row) {
		return wrong("others", "%v", row.Err).at(row.Row)
	}
	return err
}
