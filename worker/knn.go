package worker

import "context"

// knn answers queries over vectors that come with them, as build, search and free do.
func (c *call) knn(ctx context.Context) (any, *reply, error) {
	var f struct {
		form
		searching
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if f.Handle != 0 {
		return nil, nil, wrong("handle", "knn has vectors of its own; search has a collection")
	}
	rows, held, err := c.vectors("vectors")
	if err != nil {
		return nil, nil, err
	}
	queries, err := c.matrix("queries", queryTypes(rows.Elem())...)
	if err != nil {
		return nil, nil, err
	}
	dim := rows.Dim()
	if queries.Shape[1] != int64(dim) { // before anything is built
		return nil, nil, wrong("queries", "%d columns; the vectors have %d", queries.Shape[1], dim).within(dim)
	}
	o, err := f.options(f.Threads, c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	if err := c.choose(ctx, &once{Queries: queries.Shape[0], K: max(f.K, 0), Method: f.Method}, f.Device, rows.Len(), dim, &o); err != nil {
		return nil, nil, err
	}
	made, _, err := c.makeIndex(ctx, rows, held, f.Device, o, nil)
	if err != nil {
		return nil, nil, err
	}
	info := made.(*about)
	f.Handle, f.rounded = info.Handle, true
	result, arrays, err := c.searchFor(ctx, &f.searching)
	if v, gone := c.s.registry.remove(f.Handle); gone == nil {
		c.s.free(v)
	}
	if err != nil {
		return nil, nil, err
	}
	return struct {
		searched
		GPUUnused []string `json:"gpu_unused,omitempty"`
	}{result.(searched), info.GPUUnused}, arrays, nil
}
