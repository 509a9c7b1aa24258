package thresher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/fetch"
	"thresher/internal/machine"
	"thresher/tasks"
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

// Float is the type of the values of vectors that New prepares.
type Float interface{ float32 | float64 }

// Dtype is the type in which an Index keeps the values of its vectors. Open keeps those of float16, bfloat16, int8 and
// uint8 as they are in the file.
type Dtype = dataset.Elem

// Types of Options.Dtype.
const (
	Float32 = dataset.ElemFloat32
	Float64 = dataset.ElemFloat64
)

// Options say how vectors are prepared and where they are searched. Only Metric must be set.
type Options struct {
	Metric Metric
	// Dtype is the type in which values given in float64 are kept. The zero value, Float32, rounds them, for Euclidean
	// distance relative to a point near the vectors, and certificates say by how much that changed one. Float64 keeps
	// them in eight bytes, and so those given in float32, and scores are those of the values given, whatever their offset; such vectors
	// are searched on the CPU, and the published methods refuse them.
	Dtype Dtype
	// Seed is that of the random rotation, which is public unless set: answers of methods that may fail
	// are wrong with the stated probability for queries that were chosen without knowing it.
	Seed uint64
	// Raw leaves vectors as they are, for the published methods and method strict.
	Raw bool
	// IDs are what answers call the vectors, one a row; nil stands for row numbers. Save and Open keep them.
	IDs *IDs
	// Columns are what filters select by, one row a vector. Save and Open keep them.
	Columns *Columns
	// ColumnNames are the columns that Open reads as Columns of a file of vectors; columns.All alone stands for all that
	// are integers, floats, texts, bools, times or lists of texts.
	ColumnNames []string
	// Column names the column or array of vectors that Open reads, where there are several, and IDsColumn that of
	// their ids; "" is the only one, and a column called id.
	Column, IDsColumn string
	// Cache is the folder that Open fetches files at URLs to; "" is that of the user.
	Cache string
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
// searches share work. It can be changed by Upsert and Remove meanwhile.
type Index struct {
	atoms   *collection.Collection // before the first change; this and what follows
	engine  *batch.Engine
	runs    *batch.Coalescer
	own     *cpu.Backend
	ids     *IDs // nil: row numbers
	columns *Columns
	o       Options
	shard   func() tasks.Shard // describes the vectors; computed once

	numbers []int64 // of an index that stands for one that was changed: what that calls the rows; nil: as they are
	life    life
}

// New prepares vectors, rows of dim values each. Values that are kept as they are (Options.Dtype) are not copied, and
// must not change until Close. Errors name the row and column of what is not finite or not within float32's range.
func New[F Float](ctx context.Context, vectors []F, dim int, o Options) (*Index, error) {
	return build(ctx, vectors, dim, o, false)
}

// build prepares vectors, without codes if they are only scanned.
func build[F Float](ctx context.Context, vectors []F, dim int, o Options, scanned bool) (*Index, error) {
	if err := cmp.Or(o.checkDtype(), dataset.CheckIDs("ids", o.IDs)); err != nil {
		return nil, err
	}
	settings := o.settings(scanned)
	var atoms *collection.Collection
	var err error
	switch rows := any(vectors).(type) {
	case []float32:
		if o.Dtype != Float64 {
			atoms, err = collection.Build(ctx, rows, dim, settings)
			break
		}
		wide := make([]float64, len(rows))
		for i, x := range rows {
			wide[i] = float64(x)
		}
		var kept dataset.Vectors
		if kept, err = dataset.VectorsOf(wide, dim); err == nil {
			atoms, err = collection.BuildVectors(ctx, kept, settings)
		}
	case []float64:
		if o.Dtype != Float64 {
			atoms, err = collection.BuildFloat64(ctx, rows, dim, settings)
			break
		}
		var kept dataset.Vectors
		if kept, err = dataset.VectorsOf(rows, dim); err == nil {
			atoms, err = collection.BuildVectors(ctx, kept, settings)
		}
	}
	if err != nil {
		return nil, err
	}
	return adopted(ctx, atoms, o)
}

// Open maps a file that Save or the command `thresher build` has written, and reads the ids that were saved with
// it, and the columns. Of the options it takes Threads, Backend and, in place of those saved, IDs and Columns; Metric, if
// it is set, must be that of the file, and it has the columns of ColumnNames alone, if there are any.
//
// Or it reads and prepares vectors as New does, of a file in any format of package dataset; of the files of a
// folder, of a pattern such as part-*.parquet, or of several names separated by commas, which are read as one: they
// have one format, dimension and type, and all ids are different. Without IDs those of Options.IDsColumn, or else of
// a column id, are read. Errors name the file and its row.
//
// Files, prefixes and patterns at s3:// and gs://, and files at https://, are fetched to the folder Options.Cache first, with the
// credentials that the tools of these stores find, unless the same version is there.
func Open(ctx context.Context, path string, o Options) (*Index, error) {
	if err := dataset.CheckIDs("ids", o.IDs); err != nil {
		return nil, err
	}
	if fetch.Is(path) {
		return openFetched(ctx, path, o)
	}
	if strings.HasSuffix(path, collectionSuffix) {
		return openPrepared(ctx, path, o)
	}
	set, err := dataset.FindFiles(path)
	if err != nil {
		return nil, err
	}
	if format, _ := dataset.FormatOf(set.Files[0].Path); format == dataset.Unknown && len(set.Files) == 1 {
		return openPrepared(ctx, set.Files[0].Path, o)
	}
	return openVectors(ctx, set, o)
}

// openFetched opens what is at URLs.
func openFetched(ctx context.Context, name string, o Options) (*Index, error) {
	cache, err := fetch.Open(fetch.Options{Folder: o.Cache})
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	found, err := cache.Fetch(ctx, name)
	if err != nil {
		return nil, err
	}
	x, err := openFound(ctx, name, found, o)
	if err == nil || !strings.HasSuffix(found.Path, collectionSuffix) {
		return x, fetch.Renamed(err, found.URLs)
	}
	again, err := cache.FetchAgain(ctx, name, found, err)
	if err != nil {
		return nil, fetch.Renamed(err, found.URLs)
	}
	x, err = openFound(ctx, name, again, o)
	return x, fetch.Renamed(err, again.URLs)
}

// openFound opens what was found at URLs.
func openFound(ctx context.Context, name string, found *fetch.Set, o Options) (*Index, error) {
	shown := fetch.Shown(name)
	switch {
	case found.Files == nil:
		return nil, fmt.Errorf("%s: %w", shown, dataset.Changing(shown))
	case found.Path != "" && strings.HasSuffix(found.Path, collectionSuffix):
		return openPrepared(ctx, found.Path, o)
	}
	set, err := dataset.FileSetOf(shown, found.Files)
	if err != nil {
		return nil, err
	}
	return openVectors(ctx, set, o)
}

// collectionSuffix ends the names of prepared vectors.
const collectionSuffix = ".thresher"

func openPrepared(ctx context.Context, path string, o Options) (*Index, error) {
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
		if ids, err = dataset.SavedIDs(path, atoms.N); err != nil {
			return nil, errors.Join(err, atoms.Close())
		}
	}
	if o.Columns, err = o.savedColumns(path, atoms.N); err != nil {
		return nil, errors.Join(err, atoms.Close())
	}
	o.IDs = ids
	return adopted(ctx, atoms, o)
}

// savedColumns returns the columns of the prepared collection of n vectors at path.
func (o *Options) savedColumns(path string, n int) (*Columns, error) {
	if o.Columns != nil {
		return o.Columns, nil
	}
	names := o.ColumnNames
	if slices.Equal(names, []string{columns.All}) {
		names = nil
	}
	c, err := columns.Saved(path, n, names...)
	if err == nil && c == nil && o.ColumnNames != nil {
		err = fmt.Errorf("%s has no columns: no file of them lies beside it", path)
	}
	return c, err
}

// openVectors reads vectors and prepares them.
func openVectors(ctx context.Context, set *dataset.FileSet, o Options) (*Index, error) {
	if o.Metric == 0 {
		return nil, collection.ErrNoMetric
	}
	if err := o.checkDtype(); err != nil {
		return nil, err
	}
	r, err := dataset.OpenFiles(set.Paths(), &dataset.Options{
		Column: o.Column, IDs: o.IDsColumn, FindIDs: o.IDs == nil, Centre: o.Metric.Differences(), Except: slices.DeleteFunc(slices.Clone(o.ColumnNames), func(name string) bool { return name == columns.All }),
		Words: dataset.Words{Column: "Options.Column", IDs: "Options.IDsColumn"},
	})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows, ids, err := dataset.DrainVectors(ctx, r, o.Dtype)
	if err != nil {
		return nil, err
	}
	if o.IDs == nil && ids != nil {
		if err := cmp.Or(dataset.CheckIDs(set.Name, ids), dataset.CheckUnique(set.Name, ids)); err != nil {
			return nil, dataset.Placed(r, err)
		}
		o.IDs = ids
	}
	if err := o.readColumns(ctx, set, dataset.LayoutOf(r)); err != nil {
		return nil, err
	}
	settings := o.settings(false)
	settings.Origin, settings.Change, settings.Coordinates = dataset.OriginOf(r), dataset.ChangeOf(r), dataset.LayoutOf(r).Coordinates()
	atoms, err := collection.BuildVectors(ctx, rows, settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", set.Name, err)
	}
	return adopted(ctx, atoms, o)
}

// checkDtype refuses types that values of float64 are not kept in.
func (o *Options) checkDtype() error {
	if o.Dtype != Float32 && o.Dtype != Float64 {
		return fmt.Errorf("Options.Dtype %v is none of %v, %v", o.Dtype, Float32, Float64)
	}
	return nil
}

// readColumns reads the columns of ColumnNames of files whose vectors are read as a layout says.
func (o *Options) readColumns(ctx context.Context, set *dataset.FileSet, l dataset.Layout) error {
	if o.ColumnNames == nil {
		return nil
	}
	if o.Columns != nil {
		return errors.New("Options.Columns and Options.ColumnNames are both given")
	}
	c, refused, err := columns.Keep(ctx, set.Paths(), o.ColumnNames, nil, append(slices.Clone(l.Vector), l.IDs)...)
	if err == nil {
		err = columns.Lost(refused)
	}
	if err != nil {
		return err
	}
	if name := c.MaybeCoordinate(l); name != "" && o.Column == "" {
		return fmt.Errorf("%s: column %q may be a coordinate like %s: Options.Column names those that make the vector", set.Name, name, dataset.Ranges(l.Vector))
	}
	o.Columns = c
	return nil
}

// settings are those of a build, without codes if the vectors are only scanned.
func (o *Options) settings(scanned bool) *collection.Options {
	s := &collection.Options{Metric: o.Metric, Seed: o.Seed, Threads: o.Threads, Progress: o.Progress, NoCodes: scanned}
	if o.Raw {
		s.Basis = collection.Raw
	}
	return s
}

// adopted makes atoms ready for searches, under the ids and with the columns of options.
func adopted(ctx context.Context, atoms *collection.Collection, o Options) (*Index, error) {
	x, err := load(ctx, atoms, o)
	if err != nil {
		return nil, errors.Join(err, atoms.Close())
	}
	if err := cmp.Or(x.adopt(o.IDs), x.keep(o.Columns)); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// load makes atoms ready for searches.
func load(ctx context.Context, atoms *collection.Collection, o Options) (*Index, error) {
	atoms.Origin = slices.Clone(atoms.Origin) // which changes need after a file is not mapped any more
	x := &Index{atoms: atoms, o: o, own: cpu.New(cpu.Options{Threads: o.Threads})}
	b, settings := x.backend()
	var err error
	if x.engine, err = batch.Open(ctx, atoms, b, settings); err != nil {
		return nil, errors.Join(err, x.own.Close())
	}
	x.shard = sync.OnceValue(func() tasks.Shard {
		if x.ids == nil {
			return tasks.ShardOf(atoms, nil)
		}
		return tasks.ShardOf(atoms, func(row int) string { return x.ids.Text(int64(row)) })
	})
	x.runs = batch.NewCoalescer(x.engine, &batch.CoalescerOptions{Window: batch.DefaultWindow})
	return x, nil
}

// Close waits for searches and releases memory and, of Open, the file.
func (x *Index) Close() error {
	var err error
	if c := x.life.close(); c != nil {
		err = c.close()
	} else {
		err = x.closeBlock()
	}
	return errors.Join(err, x.own.Close())
}

// closeBlock closes what was built or opened.
func (x *Index) closeBlock() error {
	x.runs.Close()
	return errors.Join(x.engine.Close(), x.atoms.Close())
}

// Save prepares the vectors once more, as they are now, and writes a file for Open, whose name ends in .thresher, and
// their ids and columns into two beside it. A file that is there is replaced only if told so. Row numbers are then those of
// the file, without gaps.
func (x *Index) Save(ctx context.Context, path string, replace bool) error {
	x, leave, err := x.now(ctx, false)
	if err != nil {
		return err
	}
	defer leave()
	o := &collection.Options{Metric: x.Metric(), Basis: x.atoms.Basis, Seed: x.atoms.Seed, Threads: x.o.Threads, Elem: x.Dtype(), Origin: x.atoms.Origin, Change: x.atoms.Change, Progress: x.o.Progress}
	saved, err := collection.Create(ctx, path, x.atoms.Vectors.Reader(), replace, o)
	if err != nil {
		return err
	}
	if err := saved.Close(); err != nil {
		return err
	}
	if err := collection.SaveIDs(path, x.ids); err != nil {
		return err
	}
	return columns.Save(path, x.columns)
}

// Len is the number of vectors.
func (x *Index) Len() int {
	if c := x.life.changes(); c != nil {
		return c.len()
	}
	return x.atoms.N
}

// Dim is the number of values of a vector.
func (x *Index) Dim() int { return x.atoms.Dim }

// Dtype is the type of the values of the vectors: float32 once they have changed.
func (x *Index) Dtype() Dtype {
	if elem := x.atoms.Elem(); elem == Float64 || x.life.changes() == nil {
		return elem
	}
	return Float32 // of narrower types, all of whose values it has
}

// Metric is the metric of all searches.
func (x *Index) Metric() Metric { return x.atoms.Metric }

// Engine is what answers, for what this package leaves to packages batch, join and verify: the forecasts of
// plans, for example. It is closed with the Index. It is nil once the vectors have changed: there is not one then.
func (x *Index) Engine() *batch.Engine {
	if x.life.changes() != nil {
		return nil
	}
	return x.engine
}

// backend is what searches, and the options of engines on it.
func (x *Index) backend() (backend.Backend, *batch.Options) {
	if x.o.Backend == nil {
		return x.own, &batch.Options{Spare: machine.SpareFor}
	}
	return x.o.Backend, &batch.Options{Fallback: x.own, Spare: machine.SpareFor}
}
