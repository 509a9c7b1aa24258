package worker

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// collectionSuffix is the extension of collection files.
const collectionSuffix = ".thresher"

// form says how a collection is built, and on which device it is searched. Nil is not given.
type form struct {
	Metric string  `json:"metric"` // "" is not given
	Basis  *string `json:"basis"`
	Seed   *uint64 `json:"seed"`
	Device string  `json:"device"`
}

// threadsOf returns a number of threads that a call asks for, at most as many as run at once; 0 stands for own.
func threadsOf(asked, own int) (int, error) {
	switch {
	case asked < 0:
		return 0, wrong("threads", "%d, at least 1, or 0 for the worker's own number", asked)
	case asked == 0:
		return own, nil
	}
	return min(asked, runtime.GOMAXPROCS(0)), nil
}

// options returns the options of a build with as many threads as asked for; 0 stands for own. As many search the
// collection, unless a search says otherwise.
func (f *form) options(asked, own int) (o collection.Options, err error) {
	o = collection.Options{Seed: 1}
	if o.Threads, err = threadsOf(asked, own); err != nil {
		return o, err
	}
	if o.Metric, err = collection.ParseMetric(f.Metric); err != nil {
		return o, wrong("metric", "%v", err).within(collection.Metrics())
	}
	if f.Basis != nil {
		if o.Basis, err = collection.ParseBasis(*f.Basis); err != nil {
			return o, wrong("basis", "%v", err)
		}
	}
	if f.Seed != nil {
		o.Seed = *f.Seed
	}
	return o, nil
}

// agrees returns an error if the form asks for another collection than c.
func (f *form) agrees(c *collection.Collection) error {
	if f.Metric != "" {
		m, err := collection.ParseMetric(f.Metric)
		if err != nil {
			return wrong("metric", "%v", err).within(collection.Metrics())
		}
		if m != c.Metric {
			return wrong("metric", "the collection was built with %s, not %s", c.Metric, f.Metric)
		}
	}
	if f.Basis != nil && *f.Basis != c.Basis.String() && *f.Basis != "auto" {
		return wrong("basis", "the collection was built with %s, not %s", c.Basis, *f.Basis)
	}
	if f.Seed != nil && *f.Seed != c.Seed {
		return wrong("seed", "the collection was built with %d, not %d", c.Seed, *f.Seed)
	}
	return nil
}

// about is what a client learns of a collection.
type about struct {
	Handle int64 `json:"handle"` // 0 of a file without rows, of which there is no collection
	N      int   `json:"n"`
	Dim    int   `json:"dim"` // 0 of such a file
	// DType is the type in which the vectors are kept.
	DType   dataset.Elem `json:"dtype"`
	Metric  string       `json:"metric"`
	Basis   string       `json:"basis"`
	Seed    uint64       `json:"seed"`
	Bytes   int64        `json:"bytes"`
	Device  string       `json:"device"`
	Seconds float64      `json:"seconds"`
	// VectorColumns says which columns of an opened file made the vectors, "" without names.
	VectorColumns string `json:"vector_columns,omitempty"`
	// Rounded is what rounding the vectors to float32 changed, nil if nothing.
	Rounded *dataset.Change `json:"rounded,omitempty"`
	// GPUUnused says of each GPU that is there and does not search this collection why.
	GPUUnused []string `json:"gpu_unused,omitempty"`
	// Columns are those by which filters select.
	Columns []columns.Field `json:"columns,omitempty"`
}

func (v *index) about(handle int64) *about {
	a := &about{Handle: handle, N: v.N, Dim: v.Dim, DType: v.Elem(), Metric: v.Metric.String(), Basis: v.Basis.String(), Seed: v.Seed,
		Bytes: v.Bytes(), Device: v.engine.Backend(), Seconds: v.took.Seconds()}
	if v.Change.Values > 0 {
		a.Rounded = &v.Change
	}
	if v.columns != nil {
		a.Columns = v.columns.Fields()
	}
	if v.unused != nil {
		a.GPUUnused = v.unused(v.engine.Instead())
	}
	return a
}

// build makes a collection of the array vectors.
func (c *call) build(ctx context.Context) (any, *reply, error) {
	var f struct {
		form
		Threads int            `json:"threads"`
		Rounded dataset.Change `json:"rounded"`
		Once    *once          `json:"once"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	rows, held, err := c.vectors("vectors")
	if err != nil {
		return nil, nil, err
	}
	dim := rows.Dim()
	origin, err := vector[float64](c.arguments, "origin", dim, float64s)
	if err != nil {
		return nil, nil, err
	}
	kept, err := c.kept("columns")
	if err == nil && kept != nil && kept.Rows() != rows.Len() {
		err = wrong("columns", "%d rows for %d vectors", kept.Rows(), rows.Len())
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
	o.Origin, o.Change = slices.Clone(origin), f.Rounded
	if f.Once != nil {
		if err := c.choose(ctx, f.Once, f.Device, rows.Len(), dim, &o); err != nil {
			return nil, nil, err
		}
	}
	return c.makeIndex(ctx, rows, held, f.Device, o, kept)
}

// once says what a collection will be searched for, once; then codes are built only if that pays.
type once struct {
	Queries int64        `json:"queries"`
	K       int          `json:"k"`
	Method  batch.Method `json:"method"`
}

// choose leaves the codes out of the options of a build if n rows of dim columns, searched once on a device, are
// scanned as they lie.
func (c *call) choose(ctx context.Context, x *once, device string, n, dim int, o *collection.Options) error {
	if x.Queries < 0 || x.K < 0 {
		return wrong("once", "%d queries and k = %d, at least 0", x.Queries, x.K)
	}
	if o.Basis != collection.Rotated {
		return nil
	}
	if o.NoCodes = x.Method == batch.Exact; o.NoCodes || c.s.o.Costs == nil {
		return nil
	}
	costs, err := c.s.o.Costs(ctx, device)
	if costs == nil || err != nil {
		return err
	}
	req := batch.Request{Method: x.Method, K: x.K}
	o.NoCodes = !req.BuildingPays(n, dim, o.Metric, x.Queries, costs)
	return nil
}

// vectors returns the matrix of this name in its own type, in place if it is shared memory or a file, and the
// region that the call holds for it.
func (c *call) vectors(name string) (v dataset.Vectors, held *region, err error) {
	a, err := c.matrix(name, rowTypes...)
	if err != nil {
		return v, nil, err
	}
	switch n := a.Shape[0]; {
	case n < 1:
		return v, nil, wrong(name, "no rows")
	case n > collection.MaxAtoms:
		return v, nil, wrong(name, "%d rows, at most %d", n, collection.MaxAtoms).within(collection.MaxAtoms)
	case a.Shape[1] < 1 || a.Shape[1] > collection.MaxDim:
		return v, nil, wrong(name, "%d columns, at least 1 and at most %d", a.Shape[1], collection.MaxDim).within(collection.MaxDim)
	}
	b, held, err := a.share()
	if err != nil {
		return v, nil, err
	}
	elem := rowElems[a.DType]
	if size := elem.Size(); !isAligned(b, size) {
		return v, nil, wrong(name, "offset %d: %v begin at multiples of %d bytes", a.Offset, elem, size)
	}
	v, err = dataset.NewVectors(elem, int(a.Shape[1]), b)
	return v, held, err
}

// makeIndex builds a collection with columns and gives it a handle. held, which rows are part of, and kept may be nil.
func (c *call) makeIndex(ctx context.Context, rows dataset.Vectors, held *region, device string, o collection.Options, kept *columns.Columns) (any, *reply, error) {
	begun := time.Now()
	o.Elem = rows.Elem()
	if err := c.codesFit(rows, &o); err != nil {
		return nil, nil, err
	}
	own := o
	o.Progress = func(done, total int64) { c.report("building", done, total) }
	built, err := collection.BuildVectors(ctx, rows, &o)
	if err != nil {
		return nil, nil, err
	}
	v := &index{Collection: built, options: own, columns: kept}
	if held != nil {
		v.rows = held.hold()
	}
	return c.put(ctx, v, device, begun)
}

// codesFit returns an error if what a collection of rows takes beside them is more than is free. o is of their type.
func (c *call) codesFit(rows dataset.Vectors, o *collection.Options) error {
	return c.fits("vectors", collection.Size(int64(rows.Len()), rows.Dim(), o)-int64(len(rows.Bytes())))
}

// fits returns an error if so many bytes are more than are free. Little is always free.
func (c *call) fits(what string, bytes int64) error {
	if bytes < 64<<20 || c.s.o.Spare == nil {
		return nil
	}
	if spare := c.s.o.Spare(); spare > 0 && bytes > spare {
		return (&failure{Kind: noMemory, Argument: what, Message: fmt.Sprintf("takes up to %d bytes of memory; %d are available (three quarters of what is free)", bytes, spare)}).within(spare)
	}
	return nil
}

// put makes v ready to be searched on a device and gives it a handle. It takes v.
func (c *call) put(ctx context.Context, v *index, device string, begun time.Time) (any, *reply, error) {
	if err := c.ready(ctx, v, device); err != nil {
		return nil, nil, err
	}
	v.took = time.Since(begun)
	info := v.about(0)
	var err error
	if info.Handle, err = c.s.registry.add(v); err != nil {
		return nil, nil, err
	}
	return info, nil, nil
}

// ready makes v ready to be searched on a device, for one user. If it cannot be, it releases v.
func (c *call) ready(ctx context.Context, v *index, device string) error {
	v.users.Store(1)
	v.device = device
	d, err := c.s.o.Device(ctx, device, v.options.Threads, v.Collection)
	if err == nil {
		v.unused = d.Unused
		v.engine, err = batch.Open(ctx, v.Collection, d.Backend, d.Engine)
	}
	if err != nil {
		v.release()
		return err
	}
	v.coalescer = batch.NewCoalescer(v.engine, &batch.CoalescerOptions{Window: batch.DefaultWindow})
	return nil
}

// info describes a collection.
func (c *call) info(context.Context) (any, *reply, error) {
	v, handle, err := c.held()
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	info := v.about(handle)
	if x := v.changed(); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		info = x.amend(info)
	}
	return info, nil, nil
}

// held decodes fields that are a handle alone, and holds its collection.
func (c *call) held() (*index, int64, error) {
	var f struct {
		Handle int64 `json:"handle"`
	}
	if err := c.fields(&f); err != nil {
		return nil, 0, err
	}
	v, err := c.s.registry.hold(f.Handle)
	return v, f.Handle, err
}

// rebuilding is held for a call that builds other vectors of them: its field rounded, if it has one, is what
// rounding changed of those of the new collection.
func (c *call) rebuilding(ctx context.Context) (*index, *dataset.Change, error) {
	var f struct {
		Handle  int64           `json:"handle"`
		Rounded *dataset.Change `json:"rounded"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	v, err := c.hold(ctx, f.Handle)
	return v, f.Rounded, err
}

// optionsOf returns the options of a collection with other vectors.
func (v *index) optionsOf(change *dataset.Change) collection.Options {
	o := v.options
	if change != nil {
		o.Change = *change
	}
	return o
}

// add builds a collection of the rows of another one and of the array vectors.
func (c *call) add(ctx context.Context) (any, *reply, error) {
	v, change, err := c.rebuilding(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	more, _, err := c.vectors("vectors")
	switch {
	case err != nil:
		return nil, nil, err
	case more.Dim() != v.Dim:
		return nil, nil, wrong("vectors", "%d columns; the collection has %d", more.Dim(), v.Dim)
	case more.Len() > collection.MaxAtoms-v.N:
		return nil, nil, wrong("vectors", "%d rows and %d more, at most %d", v.N, more.Len(), collection.MaxAtoms).within(collection.MaxAtoms)
	}
	kept := v.columns
	if kept != nil {
		values, err := c.kept("columns")
		if err == nil {
			kept, err = kept.Append(values, more.Len())
		}
		if err != nil {
			return nil, nil, wrong("columns", "%v", err)
		}
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	all := int64(v.N+more.Len()) * int64(v.Dim*v.Elem().Size())
	if err := c.fits("vectors", all); err != nil {
		return nil, nil, err
	}
	rows := append(make([]byte, 0, all), v.Vectors.Bytes()...)
	if rows, err = appendRows(rows, more, v.Elem()); err != nil {
		return nil, nil, err
	}
	made, arrays, err := c.makeKept(ctx, v, rows, change, kept)
	if f := asFailure(err); f != nil && f.Argument == "vectors" && f.Row != nil {
		f.Message = strings.Replace(f.Message, fmt.Sprintf("row %d: ", *f.Row), "", 1)
		err = (&failure{Kind: f.Kind, Argument: f.Argument, Message: f.Message}).at(*f.Row - int64(v.N))
	}
	return made, arrays, err
}

// appendRows appends vectors to rows of a type, which has to hold their coordinates.
func appendRows(rows []byte, more dataset.Vectors, elem dataset.Elem) ([]byte, error) {
	if more.Elem() == elem {
		return append(rows, more.Bytes()...), nil
	}
	values := make([]float32, more.Dim())
	size := len(values) * elem.Size()
	for i := range more.Len() {
		more.Read32(values, i*len(values))
		if given := more.Float64s(); given != nil {
			for j, x := range given[i*len(values):][:len(values)] {
				if float64(values[j]) != x {
					return nil, wrong("vectors", "column %d: value %g is none of %v, the type in which the collection keeps its vectors", j, x, elem).at(int64(i))
				}
			}
		}
		at := len(rows)
		rows = slices.Grow(rows, size)[:at+size]
		if j := elem.Encode(rows[at:], values); j >= 0 {
			return nil, wrong("vectors", "column %d: value %g is none of %v, the type in which the collection keeps its vectors", j, values[j], elem).at(int64(i))
		}
	}
	return rows, nil
}

// makeKept is makeIndex of rows of the type of v, which take its place.
func (c *call) makeKept(ctx context.Context, v *index, rows []byte, change *dataset.Change, kept *columns.Columns) (any, *reply, error) {
	vectors, err := dataset.NewVectors(v.Elem(), v.Dim, rows)
	if err != nil {
		return nil, nil, err
	}
	return c.makeIndex(ctx, vectors, nil, v.device, v.optionsOf(change), kept)
}

func asFailure(err error) *failure {
	if err == nil {
		return nil
	}
	return failureOf(err)
}

// remove builds a collection of the rows of another one without some.
func (c *call) remove(ctx context.Context) (any, *reply, error) {
	v, change, err := c.rebuilding(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	numbers, err := c.rowNumbers("rows", -1)
	if err == nil && numbers == nil {
		err = wrong("rows", "is missing")
	}
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	gone := make([]bool, v.N)
	left := v.N
	for i, row := range numbers {
		if row < 0 || row >= int64(v.N) {
			return nil, nil, wrong("rows", "entry %d: row %d of %d", i, row, v.N).within(v.N)
		}
		if !gone[row] {
			left--
		}
		gone[row] = true
	}
	if left == 0 {
		return nil, nil, wrong("rows", "no row would be left")
	}
	size := v.Dim * v.Elem().Size()
	if err := c.fits("rows", int64(left)*int64(size)); err != nil {
		return nil, nil, err
	}
	rows, all := make([]byte, 0, left*size), v.Vectors.Bytes()
	stay := make([]int64, 0, left)
	for i := range v.N {
		if !gone[i] {
			rows, stay = append(rows, all[i*size:(i+1)*size]...), append(stay, int64(i))
		}
	}
	kept := v.columns
	if kept != nil {
		kept = kept.Gather(stay)
	}
	return c.makeKept(ctx, v, rows, change, kept)
}
