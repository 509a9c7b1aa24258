package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/segments"
	"thresher/tasks"
	"thresher/verify"
)

// atoms are the vectors to search: a collection, or those of a folder whose segments are walked.
type atoms struct {
	N, Dim int
	Metric collection.Metric
	Seed   uint64
	Origin []float64 // that they are relative to
	Change dataset.Change
	elem   dataset.Elem

	beyond      bool                   // they are mapped, and take more than the memory that is free
	block       *collection.Collection // nil if there are rows
	rows        *segments.Reading      // of a folder
	names       *dataset.IDs           // the ids; nil without a column of them
	columns     dataset.Layout
	idColumn    string // its name
	load, build time.Duration
}

// atomsOf returns those of a collection, which they close.
func atomsOf(c *collection.Collection) *atoms {
	return &atoms{N: c.N, Dim: c.Dim, Metric: c.Metric, Seed: c.Seed, Origin: c.Origin, Change: c.Change, elem: c.Elem(), block: c}
}

// Elem is the type in which the atoms are kept.
func (a *atoms) Elem() dataset.Elem { return a.elem }

// Float64 reports whether they are kept as float64.
func (a *atoms) Float64() bool { return a.elem == dataset.ElemFloat64 }

// shard describes them for the answers.
func (a *atoms) shard() tasks.Shard {
	if a.rows != nil {
		return tasks.ShardOfRows(a.rows, a.nameOf())
	}
	return tasks.ShardOf(a.block, a.nameOf())
}

// oracle returns an oracle of their scores; a lazy one reads no row before its score is wanted.
func (a *atoms) oracle(lazy bool, threads int) (*verify.Oracle, error) {
	switch {
	case a.rows != nil && lazy:
		return verify.NewLazyOracleOver(a.rows, a.Metric)
	case a.rows != nil:
		return verify.NewOracleOver(a.rows, a.Metric, threads)
	case lazy:
		return verify.NewLazyOracleOf(a.block)
	}
	return verify.NewOracleOf(a.block, threads)
}

// Close closes the collection.
func (a *atoms) Close() error {
	if a.block == nil {
		return nil
	}
	return a.block.Close()
}

// readAhead reports whether mapped collections take more than the memory that is free; then searches read their rows ahead.
func readAhead(mapped ...*collection.Collection) bool {
	var bytes int64
	for _, c := range mapped {
		bytes += c.Bytes()
	}
	spare := cli.SpareMemory()
	if spare == 0 || bytes <= spare {
		return false
	}
	for _, c := range mapped {
		c.ReadAhead()
	}
	return true
}

// wide is what a run that is resumed must agree in: float64 if the values are kept so, which decides what is found; else "".
func (a *atoms) wide() string {
	if a.Float64() {
		return a.Elem().String()
	}
	return ""
}

// loadAtoms reads vectors and makes a collection, with codes if builds says so, or opens a prepared one. The
// caller closes the collection.
func (a *app) loadAtoms(ctx context.Context, in input, opt *dataset.Options, o *collection.Options, builds func(n, dim int, metric collection.Metric) bool) (_ *atoms, err error) {
	begun := time.Now()
	if in.isCollection() {
		if opt.IDs != "" && !in.hasSavedIDs(opt.IDs) || opt.Column != "" {
			return nil, fmt.Errorf("%s: a prepared collection has no columns to choose from", in.name)
		}
		var c *collection.Collection
		var names *dataset.IDs
		var column string
		if err := in.retried(ctx, func() (err error) {
			open := collection.OpenVerifying // openEngine waits, or its Search does
			if in.refetch != nil {
				open = collection.Open
			}
			if c, err = open(in.path); err != nil {
				return err
			}
			if names, column, err = in.savedIDs(c.N); err != nil {
				err = errors.Join(err, c.Close())
			}
			return err
		}); err != nil {
			return nil, err
		}
		if err := a.agrees(in, c); err != nil {
			c.Close()
			return nil, err
		}
		made := atomsOf(c)
		made.names, made.idColumn, made.load = names, column, time.Since(begun)
		made.beyond = readAhead(c)
		return made, nil
	}

	if o.Metric, err = in.metric(a.Config.Metric); err != nil {
		return nil, err
	}
	own := *opt
	own.Centre = o.Metric.Differences()
	r, err := in.open(&own)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	a.logUnread(in, r)
	if c, err := a.overRows(ctx, in, o, builds); c != nil || err != nil {
		return c, err
	}
	if err := fitsMemory(in, r, r.Len(), 0, o, builds); err != nil {
		return nil, err
	}
	rows, ids, err := dataset.DrainVectorsWithin(ctx, r, o.Elem, cli.RoomFor(in.name))
	if err != nil {
		return nil, in.named(err)
	}
	if rows.Len() == 0 {
		return nil, fmt.Errorf("%s: no vectors", in.name)
	}
	if err := in.checkIDs(ids); err != nil {
		return nil, dataset.Placed(r, err)
	}
	if err := fitsMemory(in, r, int64(rows.Len()), int64(len(rows.Bytes())), o, builds); err != nil {
		return nil, err
	}
	loaded := time.Now()
	p := a.NewProgress("preparing vectors")
	defer p.Done()
	o.Progress = p.Set
	o.Origin, o.Change = dataset.OriginOf(r), dataset.ChangeOf(r)
	if !builds(rows.Len(), rows.Dim(), o.Metric) {
		withoutCodes(o)
	}
	c, err := collection.BuildVectors(ctx, rows, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	made := atomsOf(c)
	made.names, made.columns, made.idColumn = ids, dataset.LayoutOf(r), dataset.LayoutOf(r).IDs
	made.load, made.build = loaded.Sub(begun), time.Since(loaded)
	return made, nil
}

// fitsMemory refuses n vectors that, with what is built of them, take more memory than is free, if their number is known. They have so
// many bytes of it.
func fitsMemory(in input, r dataset.Reader, n, have int64, o *collection.Options, builds func(n, dim int, metric collection.Metric) bool) error {
	if n < 1 || n > collection.MaxAtoms {
		return nil // reading says what is wrong
	}
	own := *o
	if t, ok := dataset.KeptAs(r, o.Elem); ok {
		own.Elem = t.Elem()
	}
	if !builds(int(n), r.Dim(), own.Metric) {
		withoutCodes(&own)
	}
	err := cli.NeedMemory(fmt.Sprintf("searching %d x %d of %s", n, r.Dim(), in.name), float64(collection.Size(n, r.Dim(), &own)-have))
	if err != nil {
		return fmt.Errorf("%w; a collection made of it by build is mapped, not read", err)
	}
	return nil
}

// ids returns what finds the atoms, those of the file in, by their ids. column is what --ids names.
func (a *atoms) ids(in input, column string) *atomIDs {
	return &atomIDs{file: in.name, column: column, names: a.names, found: a.idColumn, preferNames: true}
}

// overRows maps the rows of a file that lie there as they do in memory, if no codes are built of them; nil if the file
// has no such rows, or they are built.
func (a *app) overRows(ctx context.Context, in input, o *collection.Options, builds func(n, dim int, metric collection.Metric) bool) (*atoms, error) {
	begun := time.Now()
	if in.files != nil || in.folder != nil || o.Elem == dataset.ElemFloat64 {
		return nil, nil // they do not lie in one file, or as they are kept
	}
	at, err := dataset.FindRows(in.path)
	if at == nil || err != nil || at.Rows < 1 || at.Rows > collection.MaxAtoms || at.Offset%4 != 0 || builds(int(at.Rows), at.Dim, o.Metric) {
		return nil, err
	}
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() != at.Offset+4*at.Rows*int64(at.Dim) {
		return nil, err // reading says what is wrong
	}
	withoutCodes(o)
	c, err := collection.BuildOver(ctx, f, at.Offset, int(at.Rows), at.Dim, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	made := atomsOf(c)
	made.build = time.Since(begun)
	return made, nil
}

// withoutCodes makes options those of a build without codes.
func withoutCodes(o *collection.Options) {
	o.NoCodes, o.Basis = true, collection.Rotated // a raw basis would have terms to prepare
}

// warnDropped warns of columns of a source that what is made of it does not keep.
func (a *app) warnDropped(in input, r dataset.Reader) { a.logDropped(slog.LevelWarn, in, r) }

// logUnread logs columns of a source that is only read, which loses nothing.
func (a *app) logUnread(in input, r dataset.Reader) { a.logDropped(slog.LevelInfo, in, r) }

func (a *app) logDropped(level slog.Level, in input, r dataset.Reader) {
	dropped := slices.DeleteFunc(slices.Clone(dataset.LayoutOf(r).Dropped), func(name string) bool { return slices.Contains(in.except, name) }) // which are of use
	if len(dropped) > 0 {
		a.Log.Log(context.Background(), level, "columns are dropped", "file", in.name, "columns", strings.Join(dropped, ", "))
	}
}

// agrees returns an error if a setting given by the user differs from that of a prepared
// collection.
func (a *app) agrees(in input, c *collection.Collection) error {
	return a.agree(in, map[string]string{"metric": c.Metric.String(), "basis": c.Basis.String(), "seed": fmt.Sprint(c.Seed)})
}

// agree returns an error if a setting given by the user differs from that by which in was built.
func (a *app) agree(in input, built map[string]string) error {
	for _, v := range a.Config.Values() {
		is, fixed := built[v.Key]
		asked := fmt.Sprint(v.Value)
		if !fixed || v.Origin.Kind == config.FromDefault || asked == is || v.Key == "basis" && asked == "auto" {
			continue
		}
		return fmt.Errorf("%s: built with %s %s, but %s asks for %s", in.name, v.Key, is, v.Origin, asked)
	}
	return nil
}

// buildOptions returns the build options for the settings and a method, but for the metric.
func (a *app) buildOptions(method batch.Method) (*collection.Options, error) {
	basis, err := collection.ParseBasis(a.Config.Basis)
	if err != nil {
		return nil, err
	}
	o := &collection.Options{Basis: basis, Seed: a.Config.Seed, Threads: a.Config.Threads}
	switch method {
	case batch.Strict, batch.BanditMIPS, batch.BanditMIPSAlpha, batch.BanditMIPSBeta, batch.BucketAE, batch.BoundedME:
		// Their guarantees are for the coordinates as given.
		o.Basis = collection.Raw
	case batch.PrefixF32, batch.Adaptive:
		if basis == collection.Raw {
			return nil, fmt.Errorf("--method %s needs rotated coordinates, but --basis is raw", method)
		}
	}
	if method == batch.PrefixF32 {
		o.NoHead, o.KeepRotated = true, true
	}
	return o, nil
}
