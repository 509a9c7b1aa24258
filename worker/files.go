package worker

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// open opens a collection file, or builds a collection of a file of vectors.
func (c *call) open(ctx context.Context) (any, *reply, error) {
	var f struct {
		form
		Threads int    `json:"threads"`
		DType   string `json:"dtype"` // in which values given in float64 are kept: float64, or else float32
		Path    string `json:"path"`
		Column  string `json:"column"`
		IDs     string `json:"ids"`
		Header  string `json:"header"`
		// Columns are those that filters select by; columns.All alone stands for all.
		Columns []string `json:"columns"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	files, err := vectorFiles(f.Path)
	if err != nil {
		return nil, nil, err
	}
	if strings.HasSuffix(f.Path, collectionSuffix) {
		if f.DType != "" {
			return nil, nil, wrong("dtype", "a collection has its own")
		}
		return c.openCollection(ctx, &f.form, f.Threads, f.Path, f.Column+f.IDs+f.Header, f.Columns)
	}
	o, err := f.options(f.Threads, c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	wide, err := dataset.ParseElem(cmp.Or(f.DType, dataset.ElemFloat32.String()))
	if err != nil || wide != dataset.ElemFloat32 && wide != dataset.ElemFloat64 {
		return nil, nil, wrong("dtype", "%q is none of float32, float64", f.DType)
	}
	o.Elem = wide
	if f.Column == "" && f.IDs == "" && f.Header == "" && f.Columns == nil && len(files) == 1 {
		rows, held, err := c.mapNPY(files[0])
		if err != nil {
			return nil, nil, err
		}
		if held != nil {
			defer held.release()
			if c.codesFit(rows, &o) == nil {
				return c.makeIndex(ctx, rows, held, f.Device, o, nil)
			} // else they go into a file, with the rows
		}
	}
	begun := time.Now()
	o.Progress = func(done, total int64) { c.report("building", done, total) }
	if c.s.o.Spare != nil {
		o.Memory = c.s.o.Spare()
	}
	budget := dataset.BudgetOf(c.s.o.ReadLimit, "THRESHER_READ_LIMIT")
	built, ids, layout, err := streamed(ctx, files, &dataset.Options{
		Column: f.Column, IDs: f.IDs, Header: f.Header, DenseLimit: c.s.o.DenseLimit, Budget: budget, Except: allNamed(f.Columns),
		Words:  dataset.Words{Column: "column", Header: "header", DenseLimit: "THRESHER_DENSE_LIMIT"},
		Centre: o.Metric.Differences(),
	}, &o)
	if errors.Is(err, dataset.ErrNoRows) {
		return &about{Metric: o.Metric.String(), Basis: o.Basis.String(), Seed: o.Seed, Device: "cpu"}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	o.Progress, o.Memory, o.Origin, o.Change, o.Elem = nil, 0, slices.Clone(built.Origin), built.Change, built.Elem()
	kept, err := readColumns(ctx, files, f.Columns, f.Column, layout, &columns.ReadOptions{Header: f.Header, Budget: budget})
	if err == nil && kept != nil && kept.Rows() != built.N {
		err = wrong("columns", "%d rows for %d vectors", kept.Rows(), built.N)
	}
	if err != nil {
		return nil, nil, errors.Join(err, built.Close())
	}
	result, _, err := c.put(ctx, &index{Collection: built, options: o, columns: kept}, f.Device, begun)
	if err != nil {
		return nil, nil, err
	}
	if info, ok := result.(*about); ok {
		info.VectorColumns = layout.String()
	}
	arrays, err := openedReply(c.s.link.passes(), ids, built.QueryOrigin())
	return result, arrays, err
}

// readColumns reads the columns of files whose vectors were read as a layout says; nil if none are named. column names
// the coordinates, "" if nothing does.
func readColumns(ctx context.Context, files, names []string, column string, l dataset.Layout, opt *columns.ReadOptions) (*columns.Columns, error) {
	if len(names) == 0 {
		return nil, nil
	}
	kept, refused, err := columns.Keep(ctx, files, names, opt, append(slices.Clone(l.Vector), l.IDs)...)
	if err == nil {
		err = columns.Lost(refused)
	}
	if err != nil {
		var in *dataset.Error
		if !errors.As(err, &in) {
			err = wrong("columns", "%v", err)
		}
		return nil, err
	}
	if name := kept.MaybeCoordinate(l); name != "" && column == "" {
		return nil, wrong("columns", "%q may be a coordinate like %s: column names those that make the vector", name, dataset.Ranges(l.Vector))
	}
	return kept, nil
}

// vectorFiles returns the files that path stands for, those of a folder, a pattern or a list, which must be
// absolute and regular files.
func vectorFiles(path string) ([]string, error) {
	files := []string{path}
	if !strings.HasSuffix(path, collectionSuffix) {
		set, err := dataset.FindFiles(path)
		if err != nil {
			return nil, err
		}
		files = set.Paths()
	}
	for _, file := range files {
		if !filepath.IsAbs(file) {
			return nil, wrong("path", "%q is not absolute", file)
		}
		if err := checkPath(file); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// allNamed returns the names of columns of a collection; none for all.
func allNamed(names []string) []string {
	if slices.Equal(names, []string{columns.All}) {
		return nil
	}
	return names
}

// asWrong is an error of columns that are read.
func asWrong(err error) error {
	if f := (*failure)(nil); errors.As(err, &f) {
		return err
	}
	if errors.Is(err, columns.ErrDamaged) || errors.Is(err, columns.ErrForeign) || errors.Is(err, columns.ErrVersion) {
		return &failure{Kind: badFile, Argument: "path", Message: err.Error()}
	}
	return wrong("columns", "%v", err)
}

func (c *call) openCollection(ctx context.Context, f *form, threads int, path, chosen string, names []string) (any, *reply, error) {
	if chosen != "" {
		return nil, nil, wrong("column", "%s: a collection has no columns to choose from", path)
	}
	threads, err := threadsOf(threads, c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	begun := time.Now()
	opened, err := collection.Open(path)
	if err != nil {
		return nil, nil, err
	}
	err = f.agrees(opened)
	if err != nil {
		opened.Close()
		return nil, nil, err
	}
	kept, err := columns.Saved(path, opened.N, allNamed(names)...)
	if err == nil && kept == nil && names != nil {
		err = wrong("columns", "%s has none: no file %s%s lies beside it", path, filepath.Base(path), columns.SavedSuffix)
	}
	if err != nil {
		return nil, nil, errors.Join(asWrong(err), opened.Close())
	}
	o := collection.Options{Metric: opened.Metric, Basis: opened.Basis, Seed: opened.Seed, Threads: threads,
		Origin: slices.Clone(opened.Origin), Change: opened.Change, Elem: opened.Elem()}
	result, _, err := c.put(ctx, &index{Collection: opened, options: o, columns: kept}, f.Device, begun)
	if err != nil {
		return nil, nil, err
	}
	arrays, err := openedReply(c.s.link.passes(), nil, opened.QueryOrigin())
	return result, arrays, err
}

// mapNPY maps the rows of a .npy file of float32 in C order. The region is nil if the file is
// another one; the caller releases it.
func (c *call) mapNPY(path string) (rows dataset.Vectors, held *region, err error) {
	at, err := dataset.FindRows(path)
	if at == nil || err != nil {
		return rows, nil, err
	}
	file, err := c.frame.open("path", path)
	if err != nil {
		return rows, nil, err
	}
	held, b, err := mapRegular(file, "path", at.Offset, 4*at.Rows*int64(at.Dim))
	if err != nil {
		return rows, nil, err
	}
	if !isAligned(b, 4) {
		held.release()
		return rows, nil, nil // an old file: it is read
	}
	rows, err = dataset.NewVectors(dataset.ElemFloat32, at.Dim, b)
	return rows, held, err
}

// openedReply returns what a client learns of rows that it does not have: the ids, if there are any,
// numbers if all of them are, else texts; and the origin, nil for none.
func openedReply(passes bool, ids *dataset.IDs, origin []float64) (*reply, error) {
	var columns []column
	var contents [][]byte
	if ids != nil {
		columns, contents = idsColumns(ids)
	}
	if origin != nil {
		columns = append(columns, column{"origin", float64s, []int64{int64(len(origin))}})
		contents = append(contents, bytesOf(origin))
	}
	if columns == nil {
		return nil, nil
	}
	return replyOf(passes, columns, contents...)
}

// idsColumns returns ids: numbers if all of them are, int64 if all fit, else uint64; else texts.
func idsColumns(ids *dataset.IDs) ([]column, [][]byte) {
	n, packed := int64(ids.Len()), ids.Packed()
	numbers := packed.Numbers
	if ids.Textual() && ids.Whole() { // 2^64-1 is among them
		numbers = make([]uint64, n)
		for row := range n {
			numbers[row], _ = strconv.ParseUint(ids.Text(row), 10, 64) // is whole
		}
	}
	switch {
	case n == int64(len(numbers)) && (n == 0 || slices.Max(numbers) <= math.MaxInt64):
		return []column{{"ids", int64s, []int64{n}}}, [][]byte{bytesOf(numbers)}
	case n == int64(len(numbers)):
		return []column{{"ids", uint64s, []int64{n}}}, [][]byte{bytesOf(numbers)}
	}
	return []column{{"id_text", bytes8, []int64{int64(len(packed.Text))}}, {"id_ends", int64s, []int64{n}}}, [][]byte{[]byte(packed.Text), bytesOf(packed.Ends[1:])}
}

// save writes a collection file.
func (c *call) save(ctx context.Context) (any, *reply, error) {
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
	v, err := c.hold(ctx, f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	o := v.options
	o.Progress = func(done, total int64) { c.report("saving", done, total) }
	saved, err := collection.Create(ctx, f.Path, v.Vectors.Reader(), f.Force, &o)
	if err != nil {
		return nil, nil, err
	}
	if err := columns.Save(f.Path, v.columns); err != nil {
		return nil, nil, errors.Join(&failure{Kind: badFile, Argument: "path", Message: err.Error()}, saved.Close())
	}
	bytes := saved.Bytes()
	return struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
	}{f.Path, bytes}, nil, saved.Close()
}
