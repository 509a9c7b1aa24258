package worker

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"thresher/batch"
	"thresher/dataset"
	"thresher/join"
)

// graph finds the nearest neighbours of each atom among the others.
func (c *call) graph(ctx context.Context) (any, *sheet, error) {
	var f struct {
		Handle    int64        `json:"handle"`
		K         int          `json:"k"`
		Method    batch.Method `json:"method"`
		Delta     float64      `json:"delta"`
		Epsilon   float64      `json:"epsilon"`
		Symmetric bool         `json:"symmetric"`
		Mutual    bool         `json:"mutual"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	if f.Symmetric && f.Mutual {
		return nil, nil, wrong("mutual", "symmetric and mutual exclude each other")
	}
	v, err := c.s.shelf.hold(f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	if v.N < 2 {
		return nil, nil, wrong("vectors", "1 row; a graph has at least 2")
	}
	f.K = min(f.K, v.N-1)
	bytes := 24 * int64(v.N) * int64(max(f.K, 0))
	if f.Symmetric || f.Mutual {
		bytes += int64(join.UndirectedBytes(v.N, f.K))
	}
	if err := c.fits("k", bytes); err != nil {
		return nil, nil, err
	}
	o := join.GraphOptions{K: f.K, Method: f.Method, Delta: f.Delta, Epsilon: f.Epsilon, Threads: v.options.Threads}
	if c.s.o.Spare != nil {
		o.Memory = c.s.o.Spare()
	}
	g, err := join.NewGraph(v.engine, o)
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	e := &edges{gathered{lims: []int64{0}}}
	certificate, err := g.Each(ctx, func(done, total int64) { c.report("searching", done, total) }, e.add)
	if err != nil {
		return nil, nil, err
	}
	if f.Symmetric || f.Mutual {
		u, err := join.NewUndirected(e.each, v.N, f.K, v.Metric.Differences(), f.Mutual)
		if err != nil {
			return nil, nil, err
		}
		e = &edges{gathered{lims: []int64{0}}}
		if err := u.Each(func(_ int64, r *dataset.Result) error { return e.add(r) }); err != nil {
			return nil, nil, err
		}
	}
	n, found := int64(v.N), int64(len(e.rows))
	out, err := columnsOf(c.s.link.passes(), []column{{"lims", int64s, []int64{n + 1}}, {"rows", int64s, []int64{found}}, {"scores", float32s, []int64{found}}},
		bytesOf(e.lims), bytesOf(e.rows), bytesOf(e.scores))
	return struct {
		K           int                   `json:"k"`
		Certificate join.GraphCertificate `json:"certificate"`
		Warnings    []string              `json:"warnings"`
	}{f.K, certificate, likeness(v)}, out, err
}

// edges are the rows of a graph in ascending order.
type edges struct {
	gathered
}

func (e *edges) add(r *dataset.Result) error {
	e.rows, e.scores = append(e.rows, r.Rows...), append(e.scores, r.Scores...)
	e.lims = append(e.lims, int64(len(e.rows)))
	return nil
}

// each is a dataset.EachResult.
func (e *edges) each(do func(i int64, r *dataset.Result) error) error {
	for i := range len(e.lims) - 1 {
		lo, hi := e.lims[i], e.lims[i+1]
		if err := do(int64(i), &dataset.Result{Query: int64(i), Rows: e.rows[lo:hi], Scores: e.scores[lo:hi]}); err != nil {
			return err
		}
	}
	return nil
}

// pairs finds all pairs of atoms, or of an atom and a row of the array others, above a score.
func (c *call) pairs(ctx context.Context) (any, *sheet, error) {
	var f struct {
		Handle   int64        `json:"handle"`
		MinScore *float64     `json:"min_score"`
		Method   batch.Method `json:"method"`
		Delta    float64      `json:"delta"`
		Most     int64        `json:"most"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	switch {
	case f.MinScore == nil || math.IsNaN(*f.MinScore):
		return nil, nil, wrong("min_score", "is missing")
	case f.Most < 0:
		return nil, nil, wrong("most", "%d, at least 1, or 0 for no limit", f.Most)
	}
	v, err := c.s.shelf.hold(f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	others, err := c.get("others", float32s)
	if err != nil {
		return nil, nil, err
	}
	changes, err := vector[float64](c.arguments, "changes", -1, float64s)
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	src, total, err := c.pairSource(ctx, v, join.PairOptions{MinScore: *f.MinScore, Method: f.Method, Delta: f.Delta, Stored: true}, others, changes)
	if err != nil {
		return nil, nil, err
	}
	var found []dataset.Pair
	var work join.PairWork
	for {
		block, _, err := src.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, pairFailure(err, others != nil)
		}
		found = append(found, block.Pairs...)
		work.Add(&block.Work)
		if f.Most > 0 && int64(len(found)) > f.Most {
			return nil, nil, wrong("most", "%d pairs among the first %d of %d rows; move min_score, or raise most", len(found), work.Rows, total).within(f.Most)
		}
		if err := c.fits("min_score", 50*int64(len(found))); err != nil {
			return nil, nil, err
		}
		c.report("pairing", work.Rows, total)
	}
	slices.SortFunc(found, func(x, y dataset.Pair) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	n := int64(len(found))
	out, err := newSheet(c.s.link.passes(), column{"a", int64s, []int64{n}}, column{"b", int64s, []int64{n}}, column{"scores", float32s, []int64{n}})
	if err != nil {
		return nil, nil, err
	}
	a, b, scores := elements[int64](out.part(0)), elements[int64](out.part(1)), elements[float32](out.part(2))
	for i, p := range found {
		a[i], b[i], scores[i] = p.A, p.B, p.Score
	}
	return struct {
		Work     join.PairWork `json:"work"`
		Warnings []string      `json:"warnings"`
	}{work, likeness(v)}, out, nil
}

// likeness warns if a join by the metric of v does not find what is alike.
func likeness(v *volume) []string {
	if w := join.LikenessWarning(v.Collection); w != "" {
		return []string{w}
	}
	return []string{}
}

// pairSource returns the source of pairs, and the number of rows that it compares.
func (c *call) pairSource(ctx context.Context, v *volume, o join.PairOptions, others *array, changes []float64) (*join.PairSource, int64, error) {
	d, err := join.Sample(ctx, v.engine, o)
	if err != nil {
		return nil, 0, err
	}
	if others == nil {
		src, err := join.SelfPairs(v.engine, o, d)
		return src, int64(v.N), err
	}
	if len(others.Shape) != 2 || others.Shape[1] != int64(v.Dim) || others.Shape[0] == 0 {
		return nil, 0, wrong("others", "shape %v; rows of %d columns are wanted", others.Shape, v.Dim)
	}
	b, _, err := others.share()
	if err != nil {
		return nil, 0, err
	}
	if !isAligned(b) {
		return nil, 0, wrong("others", "offset %d: float32 begin at multiples of 4 bytes", others.Offset)
	}
	if changes != nil && int64(len(changes)) != others.Shape[0] {
		return nil, 0, wrong("changes", "%d for %d rows", len(changes), others.Shape[0])
	}
	src, err := join.TablePairs(v.engine, dataset.FromMemory(elements[float32](b), v.Dim, changes), o, d)
	return src, others.Shape[0], err
}

// pairFailure names the array whose row cannot be compared.
func pairFailure(err error, table bool) error {
	var row *join.RowError
	if table && errors.As(err, &row) {
		return wrong("others", "%v", row.Err).at(row.Row)
	}
	return err
}
