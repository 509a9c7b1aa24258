package worker

import (
	"context"
	"errors"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/join"
	"thresher/tasks"
)

// joined says how two tables are joined.
type joined struct {
	form
	K        int            `json:"k"`
	Method   batch.Method   `json:"method"`
	Delta    float64        `json:"delta"`
	MinScore *float64       `json:"min_score"`
	MaxScore *float64       `json:"max_score"`
	Threads  int            `json:"threads"`
	Rounded  dataset.Change `json:"rounded"`
}

// leftRowsTogether is how many rows of the left table are joined between two reports.
const leftRowsTogether = 1 << 17

// join finds for each row of the array queries the best of the rows of the array vectors whose groups are equal.
func (c *call) join(ctx context.Context) (any, *reply, error) {
	var f joined
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	rows, _, err := c.vectors("vectors")
	if err != nil {
		return nil, nil, err
	}
	left, groups, err := c.leftRows(rows.Dim())
	if err != nil {
		return nil, nil, err
	}
	right, err := vector[int64](c.arguments, "right_groups", rows.Len(), int64s)
	if err == nil && (right == nil) != (groups == nil) {
		err = wrong("right_groups", "both tables have groups, or neither")
	}
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	o, err := f.options(f.Threads, c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	o.Change = f.Rounded
	r := &joinedTables{call: c, joined: &f, left: left, build: o}
	defer r.close()
	if r.right.Groups, err = groupsOf("right_groups", right); err != nil {
		return nil, nil, err
	}
	if r.left.Groups, err = groupsOf("left_groups", groups); err != nil {
		return nil, nil, err
	}
	if err := r.open(ctx, rows); err != nil {
		return nil, nil, err
	}
	return r.match(ctx)
}

// leftRows returns the queries with what rounding changed, and their groups, nil without.
func (c *call) leftRows(dim int) (left join.LeftRows, groups []int64, err error) {
	queries, err := c.matrix("queries", float32s)
	if err != nil {
		return left, nil, err
	}
	if queries.Shape[1] != int64(dim) {
		return left, nil, wrong("queries", "%d columns; the vectors have %d", queries.Shape[1], dim).within(dim)
	}
	b, _, err := queries.share()
	if err != nil {
		return left, nil, err
	}
	if !isAligned(b, 4) {
		return left, nil, wrong("queries", "offset %d: float32 begin at multiples of 4 bytes", queries.Offset)
	}
	left.Queries = elements[float32](b)
	m := int(queries.Shape[0])
	if left.Changes, err = vector[float64](c.arguments, "changes", m, float64s); err != nil {
		return left, nil, err
	}
	groups, err = vector[int64](c.arguments, "left_groups", m, int64s)
	return left, groups, err
}

// groupsOf returns groups in 32 bits.
func groupsOf(name string, given []int64) ([]int32, error) {
	if given == nil {
		return nil, nil
	}
	groups := make([]int32, len(given))
	for row, g := range given {
		if g < join.NoGroup || g >= collection.MaxAtoms/2 {
			return nil, wrong(name, "group %d, at least 0 or, for none, -1", g).at(int64(row))
		}
		groups[row] = int32(g)
	}
	return groups, nil
}

// joinedTables are the tables of a call.
type joinedTables struct {
	*call
	*joined
	left  join.LeftRows
	right join.RightOptions
	build collection.Options

	atoms  *collection.Collection
	engine *batch.Engine
	run    tasks.JoinRun
}

// open sorts the right vectors, in a copy, and opens an engine over them.
func (r *joinedTables) open(ctx context.Context, rows dataset.Vectors) error {
	c := r.call
	r.build.Elem = rows.Elem()
	var order []int64
	var starts []int
	var err error
	if r.right.Groups != nil {
		if err := c.fits("vectors", int64(len(rows.Bytes()))); err != nil {
			return err
		}
		if rows, order, starts, err = join.SortedRows(rows, r.right.Groups); err != nil {
			return err
		}
	}
	costs, err := c.s.o.Costs(ctx, "cpu")
	if err != nil {
		return err
	}
	r.right.Request = batch.Request{K: r.K, Method: r.Method, Delta: r.Delta, MinScore: r.MinScore, MaxScore: r.MaxScore}
	r.right.Build = r.build
	if r.left.Groups != nil {
		r.right.Left = join.CountGroups(r.left.Groups)
	}
	r.right.Builds = func(n int, queries int64) bool {
		return costs != nil && r.right.Request.BuildingPays(n, rows.Dim(), r.build.Metric, queries, costs)
	}
	whole := r.build
	whole.Progress = func(done, total int64) { c.report("building", done, total) }
	if starts != nil || !r.right.Builds(rows.Len(), int64(len(r.left.Queries)/rows.Dim())) {
		whole.NoCodes, whole.Basis = true, collection.Rotated
	}
	if err := c.fits("vectors", collection.Size(int64(rows.Len()), rows.Dim(), &whole)-int64(len(rows.Bytes()))); err != nil {
		return err
	}
	if r.atoms, err = collection.BuildVectors(ctx, rows, &whole); err != nil {
		return join.InTable(err, order)
	}
	d, err := c.s.o.Device(ctx, "cpu", r.build.Threads, r.atoms)
	if err != nil {
		return err
	}
	if r.right.Threads = r.build.Threads; r.right.Threads == 0 {
		r.right.Threads, _ = threadsOf(1<<16, 0) // as many as run at once
	}
	if r.engine, err = batch.Open(ctx, r.atoms, d.Backend, d.Engine); err != nil {
		return err
	}
	table, err := join.NewRight(r.engine, order, starts, r.right)
	if err != nil {
		return err
	}
	r.run = tasks.JoinRun{Right: table, Request: r.right.Request}
	return nil
}

// close closes what is open.
func (r *joinedTables) close() {
	if r.run.Right != nil {
		r.run.Right.Close()
	}
	if r.engine != nil {
		r.engine.Close()
	}
	if r.atoms != nil {
		r.atoms.Close()
	}
}

// match joins all rows of the left table.
func (r *joinedTables) match(ctx context.Context) (any, *reply, error) {
	dim := r.atoms.Dim
	m := len(r.left.Queries) / dim
	together := leftRowsTogether
	if r.K == 0 {
		together = 1024
	}
	lims, rows, scores := make([]int64, 1, m+1), []int64{}, []float64{}
	for lo := 0; lo < m; lo += together {
		hi := min(lo+together, m)
		part := join.LeftRows{Queries: r.left.Queries[lo*dim : hi*dim], First: int64(lo)}
		if r.left.Changes != nil {
			part.Changes = r.left.Changes[lo:hi]
		}
		if r.left.Groups != nil {
			part.Groups = r.left.Groups[lo:hi]
		}
		found, err := r.run.Match(ctx, part)
		if err != nil {
			return nil, nil, leftFailure(err)
		}
		for _, end := range found.Lims[1:] {
			lims = append(lims, int64(len(rows)+end))
		}
		rows, scores = append(rows, found.Rows...), append(scores, found.Scores...)
		if err := r.fits("k", 64*int64(len(rows))); err != nil {
			return nil, nil, err
		}
		r.report("joining", int64(hi), int64(m))
	}
	n := int64(len(rows))
	out, err := replyOf(r.s.link.passes(), []column{{"lims", int64s, []int64{int64(len(lims))}}, {"rows", int64s, []int64{n}}, {"scores64", float64s, []int64{n}}}, bytesOf(lims), bytesOf(rows), bytesOf(scores))
	return r.run.Summary(r.build.Metric), out, err
}

// leftFailure names the row of the array queries that an error is about.
func leftFailure(err error) error {
	var row *join.RowError
	if errors.As(err, &row) {
		return wrong("queries", "%v", row.Err).at(row.Row)
	}
	return err
}
