package thresher

import (
	"context"
	"errors"
	"fmt"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
)

// Metric is what makes a vector good for a query. There is no default.
type Metric = collection.Metric

const (
	InnerProduct = collection.InnerProduct // the largest
	Cosine       = collection.Cosine       // the largest
	Euclidean    = collection.Euclidean    // the smallest squared distance
)

// ParseMetric returns the metric of a name, such as ip, cosine, l2, and those that other libraries have
// for them.
func ParseMetric(name string) (Metric, error) { return collection.ParseMetric(name) }

// Float is the type of the values of vectors.
type Float interface{ float32 | float64 }

// Options say how vectors are prepared and where they are searched. Only Metric must be set.
type Options struct {
	Metric Metric
	// Seed is that of the random rotation, which is public unless set: answers of methods that may fail
	// are wrong with the stated probability for queries that were chosen without knowing it.
	Seed uint64
	// Raw leaves vectors as they are, for the published methods and method strict.
	Raw bool
	// IDs are what answers call the vectors, one a row; nil stands for row numbers. Save and Open keep them.
	IDs *IDs
	// Threads is the number of goroutines, 0 for one a core. Answers do not depend on it.
	Threads int
	// Backend searches, and outlives the Index; nil is the CPU. The CPU answers what another backend
	// cannot, and everything when it is lost.
	Backend backend.Backend
	// Progress, if not nil, is called while vectors are prepared, from several goroutines, with the rows
	// done in two passes and their total.
	Progress func(done, total int64)
}

// Index is a set of vectors that are prepared for searches. Several goroutines may use it at once; their
// searches share work.
type Index struct {
	atoms  *collection.Collection
	engine *batch.Engine
	runs   *batch.Coalescer
	own    *cpu.Backend
	ids    *IDs // nil: row numbers
	o      Options
}

// New prepares vectors, rows of dim values each. Values of float32 are kept as they are, not copied, and
// must not change until Close. Values of float64 are rounded to float32, for Euclidean distance relative to a
// point near the vectors, and certificates say by how much that changed one. Errors name the row and
// column of what is not finite or not within float32's range.
func New[F Float](ctx context.Context, vectors []F, dim int, o Options) (*Index, error) {
	return build(ctx, vectors, dim, o, false)
}

// build prepares vectors, without codes if they are only scanned.
func build[F Float](ctx context.Context, vectors []F, dim int, o Options, scanned bool) (*Index, error) {
	settings := &collection.Options{Metric: o.Metric, Seed: o.Seed, Threads: o.Threads, Progress: o.Progress, NoCodes: scanned}
	if o.Raw {
		settings.Basis = collection.Raw
	}
	var atoms *collection.Collection
	var err error
	switch rows := any(vectors).(type) {
	case []float32:
		atoms, err = collection.Build(ctx, rows, dim, settings)
	case []float64:
		atoms, err = collection.BuildFloat64(ctx, rows, dim, settings)
	}
	if err != nil {
		return nil, err
	}
	x, err := load(ctx, atoms, o)
	if err != nil {
		return nil, err
	}
	if err := x.adopt(o.IDs); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Open maps a file that Save or the command `thresher build` has written, and reads the ids that were saved with
// it. Of the options it takes Threads, Backend and, in place of those saved, IDs; Metric, if it is set, must be that
// of the file.
func Open(ctx context.Context, path string, o Options) (*Index, error) {
	atoms, err := collection.Open(path)
	if err != nil {
		return nil, err
	}
	if o.Metric != 0 && o.Metric != atoms.Metric {
		err = fmt.Errorf("%s: its metric is %s, not %s", path, atoms.Metric, o.Metric)
		return nil, errors.Join(err, atoms.Close())
	}
	ids := o.IDs
	if ids == nil {
		if ids, err = openIDs(path, atoms.N); err != nil {
			return nil, errors.Join(err, atoms.Close())
		}
	}
	x, err := load(ctx, atoms, o)
	if err != nil {
		return nil, errors.Join(err, atoms.Close())
	}
	if err := x.adopt(ids); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// load makes atoms ready for searches.
func load(ctx context.Context, atoms *collection.Collection, o Options) (*Index, error) {
	x := &Index{atoms: atoms, o: o, own: cpu.New(cpu.Options{Threads: o.Threads})}
	backend, settings := o.Backend, &batch.Options{Fallback: x.own}
	if backend == nil {
		backend, settings = x.own, nil
	}
	var err error
	if x.engine, err = batch.Open(ctx, atoms, backend, settings); err != nil {
		return nil, errors.Join(err, x.own.Close())
	}
	x.runs = batch.NewCoalescer(x.engine, &batch.CoalescerOptions{Window: batch.DefaultWindow})
	return x, nil
}

// Close waits for searches and releases memory and, of Open, the file.
func (x *Index) Close() error {
	x.runs.Close()
	return errors.Join(x.engine.Close(), x.own.Close(), x.atoms.Close())
}

// Save prepares the vectors once more, and writes a file for Open, whose name ends in .thresher, and their ids into
// one beside it. A file that is there is replaced only if told so.
func (x *Index) Save(ctx context.Context, path string, replace bool) error {
	o := &collection.Options{Metric: x.Metric(), Basis: x.atoms.Basis, Seed: x.atoms.Seed, Threads: x.o.Threads, Origin: x.atoms.Origin, Change: x.atoms.Change, Progress: x.o.Progress}
	saved, err := collection.Create(ctx, path, dataset.FromMemory(x.atoms.Rows, x.Dim(), nil), replace, o)
	if err != nil {
		return err
	}
	if err := saved.Close(); err != nil {
		return err
	}
	return x.saveIDs(path)
}

// Len is the number of vectors.
func (x *Index) Len() int { return x.atoms.N }

// Dim is the number of values of a vector.
func (x *Index) Dim() int { return x.atoms.Dim }

// Metric is the metric of all searches.
func (x *Index) Metric() Metric { return x.atoms.Metric }

// Engine is what answers, for what this package leaves to packages batch, join and verify: the forecasts of
// plans, for example. It is closed with the Index.
func (x *Index) Engine() *batch.Engine { return x.engine }
