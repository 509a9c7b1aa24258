package worker

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// collectionSuffix is the extension of collection files.
const collectionSuffix = ".thresher"

// form says how a collection is built, and on which device it is searched. Nil is not given.
type form struct {
	Metric *string `json:"metric"`
	Basis  *string `json:"basis"`
	Seed   *uint64 `json:"seed"`
	Device string  `json:"device"`
}

// options returns the options of a build.
func (f *form) options(threads int) (o collection.Options, err error) {
	o = collection.Options{Seed: 1, Threads: threads}
	if f.Metric != nil {
		if o.Metric, err = collection.ParseMetric(*f.Metric); err != nil {
			return o, wrong("metric", "%v", err).within(collection.Metrics())
		}
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
	if f.Metric != nil && *f.Metric != c.Metric.String() {
		return wrong("metric", "the collection was built with %s, not %s", c.Metric, *f.Metric)
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
	Handle  int64   `json:"handle"`
	N       int     `json:"n"`
	Dim     int     `json:"dim"`
	Metric  string  `json:"metric"`
	Basis   string  `json:"basis"`
	Seed    uint64  `json:"seed"`
	Bytes   int64   `json:"bytes"`
	Device  string  `json:"device"`
	Seconds float64 `json:"seconds"`
}

func (v *volume) about(handle int64) *about {
	return &about{Handle: handle, N: v.N, Dim: v.Dim, Metric: v.Metric.String(), Basis: v.Basis.String(), Seed: v.Seed,
		Bytes: v.Bytes(), Device: v.engine.Backend(), Seconds: v.took.Seconds()}
}

// build makes a collection of the array vectors.
func (c *call) build(ctx context.Context) (any, *sheet, error) {
	var f form
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	rows, dim, held, err := c.vectors("vectors")
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	o, err := f.options(c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	return c.shelve(ctx, rows, dim, held, f.Device, o)
}

// vectors returns the matrix of this name, in place if it is shared memory or a file, and the
// region that the call holds for it.
func (c *call) vectors(name string) (rows []float32, dim int, held *region, err error) {
	a, err := c.matrix(name, float32s)
	if err != nil {
		return nil, 0, nil, err
	}
	switch n := a.Shape[0]; {
	case n < 1:
		return nil, 0, nil, wrong(name, "no rows")
	case n > collection.MaxAtoms:
		return nil, 0, nil, wrong(name, "%d rows, at most %d", n, collection.MaxAtoms).within(collection.MaxAtoms)
	case a.Shape[1] < 1 || a.Shape[1] > collection.MaxDim:
		return nil, 0, nil, wrong(name, "%d columns, at least 1 and at most %d", a.Shape[1], collection.MaxDim).within(collection.MaxDim)
	}
	b, held, err := a.share()
	if err != nil {
		return nil, 0, nil, err
	}
	if uintptr(len(b))%4 != 0 || len(b) > 0 && !isAligned(b) {
		return nil, 0, nil, wrong(name, "offset %d: float32 begin at multiples of 4 bytes", a.Offset)
	}
	return elements[float32](b), int(a.Shape[1]), held, nil
}

// shelve builds a collection and gives it a handle. held, which rows are part of, may be nil.
func (c *call) shelve(ctx context.Context, rows []float32, dim int, held *region, device string, o collection.Options) (any, *sheet, error) {
	begun := time.Now()
	if err := c.fits("vectors", collection.Size(int64(len(rows)/dim), dim, &o)-4*int64(len(rows))); err != nil {
		return nil, nil, err
	}
	own := o
	o.Progress = func(done, total int64) { c.report("building", done, total) }
	built, err := collection.Build(ctx, rows, dim, &o)
	if err != nil {
		return nil, nil, err
	}
	v := &volume{Collection: built, options: own}
	if held != nil {
		v.rows = held.hold()
	}
	return c.put(ctx, v, device, begun)
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
func (c *call) put(ctx context.Context, v *volume, device string, begun time.Time) (any, *sheet, error) {
	v.users.Store(1)
	v.device = device
	d, err := c.s.o.Device(ctx, device)
	if err == nil {
		v.engine, err = batch.Open(ctx, v.Collection, d.Backend, d.Engine)
	}
	if err != nil {
		v.release()
		return nil, nil, err
	}
	v.coalescer = batch.NewCoalescer(v.engine, &batch.CoalescerOptions{Window: batch.DefaultWindow})
	v.took = time.Since(begun)
	info := v.about(0)
	if info.Handle, err = c.s.shelf.add(v); err != nil {
		return nil, nil, err
	}
	return info, nil, nil
}

// open opens a collection file, or builds a collection of a file of vectors.
func (c *call) open(ctx context.Context) (any, *sheet, error) {
	var f struct {
		form
		Path   string `json:"path"`
		Column string `json:"column"`
		IDs    string `json:"ids"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	if !filepath.IsAbs(f.Path) {
		return nil, nil, wrong("path", "%q is not absolute", f.Path)
	}
	if err := checkPath(f.Path); err != nil {
		return nil, nil, err
	}
	if strings.HasSuffix(f.Path, collectionSuffix) {
		return c.openCollection(ctx, &f.form, f.Path, f.Column+f.IDs)
	}
	o, err := f.options(c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	if f.Column == "" && f.IDs == "" {
		rows, dim, held, err := c.mapNPY(f.Path)
		if err != nil {
			return nil, nil, err
		}
		if held != nil {
			defer held.release()
			return c.shelve(ctx, rows, dim, held, f.Device, o)
		}
	}
	r, err := dataset.Open(f.Path, &dataset.Options{Column: f.Column, IDs: f.IDs})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	m, err := dataset.Drain(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	if m.Rows == 0 {
		return nil, nil, wrong("path", "%s has no rows", f.Path)
	}
	reply, _, err := c.shelve(ctx, m.Data, m.Dim, nil, f.Device, o)
	if err != nil || m.IDs == nil {
		return reply, nil, err
	}
	arrays, err := namesSheet(c.s.link.passes(), m.IDs)
	return reply, arrays, err
}

func (c *call) openCollection(ctx context.Context, f *form, path, columns string) (any, *sheet, error) {
	if columns != "" {
		return nil, nil, wrong("column", "%s: a collection has no columns to choose from", path)
	}
	begun := time.Now()
	opened, err := collection.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if err := f.agrees(opened); err != nil {
		opened.Close()
		return nil, nil, err
	}
	o := collection.Options{Metric: opened.Metric, Basis: opened.Basis, Seed: opened.Seed, Threads: c.s.o.Threads}
	return c.put(ctx, &volume{Collection: opened, options: o}, f.Device, begun)
}

// mapNPY maps the rows of a .npy file of float32 in C order. The region is nil if the file is
// another one; the caller releases it.
func (c *call) mapNPY(path string) (rows []float32, dim int, held *region, err error) {
	at, err := dataset.FindRows(path)
	if at == nil || err != nil {
		return nil, 0, nil, err
	}
	file, err := c.frame.open("path", path)
	if err != nil {
		return nil, 0, nil, err
	}
	held, b, err := mapRegular(file, "path", at.Offset, 4*at.Rows*int64(at.Dim))
	if err != nil {
		return nil, 0, nil, err
	}
	if !isAligned(b) {
		held.release()
		return nil, 0, nil, nil // an old file: it is read
	}
	return elements[float32](b), at.Dim, held, nil
}

// namesSheet returns the ids of rows: numbers if all of them are, else texts.
func namesSheet(passes bool, names []string) (*sheet, error) {
	numbers, ends := make([]int64, len(names)), make([]int64, len(names))
	integral, length := true, int64(0)
	for i, name := range names {
		x, err := strconv.ParseInt(name, 10, 64)
		integral = integral && err == nil && strconv.FormatInt(x, 10) == name
		length += int64(len(name))
		numbers[i], ends[i] = x, length
	}
	n := int64(len(names))
	if integral {
		return columnsOf(passes, []column{{"ids", int64s, []int64{n}}}, bytesOf(numbers))
	}
	text := []byte(strings.Join(names, ""))
	return columnsOf(passes, []column{{"names", bytes8, []int64{length}}, {"name_ends", int64s, []int64{n}}}, text, bytesOf(ends))
}

// save writes a collection file.
func (c *call) save(ctx context.Context) (any, *sheet, error) {
	var f struct {
		Handle int64  `json:"handle"`
		Path   string `json:"path"`
		Force  bool   `json:"force"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	switch {
	case !filepath.IsAbs(f.Path):
		return nil, nil, wrong("path", "%q is not absolute", f.Path)
	case !strings.HasSuffix(f.Path, collectionSuffix):
		return nil, nil, wrong("path", "%q: the name of a collection ends in %s", f.Path, collectionSuffix)
	}
	if st, err := os.Lstat(f.Path); err == nil && st.IsDir() {
		return nil, nil, &failure{Kind: badFile, Argument: "path", Message: (&fs.PathError{Op: "save", Path: f.Path, Err: fs.ErrExist}).Error()}
	}
	v, err := c.s.shelf.hold(f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	o := v.options
	o.Progress = func(done, total int64) { c.report("saving", done, total) }
	saved, err := collection.Create(ctx, f.Path, &matrix{data: v.Rows, dim: v.Dim}, f.Force, &o)
	if err != nil {
		return nil, nil, err
	}
	bytes := saved.Bytes()
	return struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
	}{f.Path, bytes}, nil, saved.Close()
}

// info describes a collection.
func (c *call) info(context.Context) (any, *sheet, error) {
	v, handle, err := c.held()
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	info := *v.about(handle)
	return info, nil, nil
}

// held decodes fields that are a handle alone, and holds its collection.
func (c *call) held() (*volume, int64, error) {
	var f struct {
		Handle int64 `json:"handle"`
	}
	if err := c.fields(&f); err != nil {
		return nil, 0, err
	}
	v, err := c.s.shelf.hold(f.Handle)
	return v, f.Handle, err
}

// add builds a collection of the rows of another one and of the array vectors.
func (c *call) add(ctx context.Context) (any, *sheet, error) {
	v, _, err := c.held()
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	more, dim, _, err := c.vectors("vectors")
	if err == nil {
		err = c.complete()
	}
	switch {
	case err != nil:
		return nil, nil, err
	case dim != v.Dim:
		return nil, nil, wrong("vectors", "%d columns; the collection has %d", dim, v.Dim)
	case len(more)/dim > collection.MaxAtoms-v.N:
		return nil, nil, wrong("vectors", "%d rows and %d more, at most %d", v.N, len(more)/dim, collection.MaxAtoms).within(collection.MaxAtoms)
	}
	if err := c.fits("vectors", 4*int64(len(v.Rows)+len(more))); err != nil {
		return nil, nil, err
	}
	made, arrays, err := c.shelve(ctx, slices.Concat(v.Rows, more), dim, nil, v.device, v.options)
	if f := asFailure(err); f != nil && f.Argument == "vectors" && f.Row != nil {
		f.Message = strings.Replace(f.Message, fmt.Sprintf("row %d: ", *f.Row), "", 1)
		err = (&failure{Kind: f.Kind, Argument: f.Argument, Message: f.Message}).at(*f.Row - int64(v.N))
	}
	return made, arrays, err
}

func asFailure(err error) *failure {
	if err == nil {
		return nil
	}
	return failureOf(err)
}

// remove builds a collection of the rows of another one without some.
func (c *call) remove(ctx context.Context) (any, *sheet, error) {
	v, _, err := c.held()
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
	if err := c.fits("rows", 4*int64(left)*int64(v.Dim)); err != nil {
		return nil, nil, err
	}
	kept := make([]float32, 0, left*v.Dim)
	for i := range v.N {
		if !gone[i] {
			kept = append(kept, v.Row(i)...)
		}
	}
	return c.shelve(ctx, kept, v.Dim, nil, v.device, v.options)
}
