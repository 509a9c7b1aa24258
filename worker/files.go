package worker

import (
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
	"thresher/dataset"
)

// open opens a collection file, or builds a collection of a file of vectors.
func (c *call) open(ctx context.Context) (any, *reply, error) {
	var f struct {
		form
		Threads int    `json:"threads"`
		Path    string `json:"path"`
		Column  string `json:"column"`
		IDs     string `json:"ids"`
		Header  string `json:"header"`
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
		return c.openCollection(ctx, &f.form, f.Threads, f.Path, f.Column+f.IDs+f.Header)
	}
	o, err := f.options(f.Threads, c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	if f.Column == "" && f.IDs == "" && f.Header == "" {
		rows, dim, held, err := c.mapNPY(f.Path)
		if err != nil {
			return nil, nil, err
		}
		if held != nil {
			defer held.release()
			return c.makeIndex(ctx, rows, dim, held, f.Device, o)
		}
	}
	begun := time.Now()
	o.Progress = func(done, total int64) { c.report("building", done, total) }
	built, ids, columns, err := streamed(ctx, f.Path, &dataset.Options{
		Column: f.Column, IDs: f.IDs, Header: f.Header, DenseLimit: c.s.o.DenseLimit, Budget: dataset.BudgetOf(c.s.o.ReadLimit, "THRESHER_READ_LIMIT"),
		Words:  dataset.Words{Column: "column", Header: "header", DenseLimit: "THRESHER_DENSE_LIMIT"},
		Centre: o.Metric.Differences(),
	}, &o)
	if errors.Is(err, dataset.ErrNoRows) {
		return &about{Metric: o.Metric.String(), Basis: o.Basis.String(), Seed: o.Seed, Device: "cpu"}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	o.Progress, o.Origin, o.Change = nil, slices.Clone(built.Origin), built.Change
	result, _, err := c.put(ctx, &index{Collection: built, options: o}, f.Device, begun)
	if err != nil {
		return nil, nil, err
	}
	if info, ok := result.(*about); ok {
		info.VectorColumns = columns
	}
	arrays, err := openedReply(c.s.link.passes(), ids, o.Origin)
	return result, arrays, err
}

func (c *call) openCollection(ctx context.Context, f *form, threads int, path, columns string) (any, *reply, error) {
	if columns != "" {
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
	if err := f.agrees(opened); err != nil {
		opened.Close()
		return nil, nil, err
	}
	o := collection.Options{Metric: opened.Metric, Basis: opened.Basis, Seed: opened.Seed, Threads: threads,
		Origin: slices.Clone(opened.Origin), Change: opened.Change}
	result, _, err := c.put(ctx, &index{Collection: opened, options: o}, f.Device, begun)
	if err != nil {
		return nil, nil, err
	}
	arrays, err := openedReply(c.s.link.passes(), nil, o.Origin)
	return result, arrays, err
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

// openedReply returns what a client learns of rows that it does not have: the ids, if there are any,
// numbers if all of them are, else texts; and the origin, nil for none.
func openedReply(passes bool, names []string, origin []float64) (*reply, error) {
	var columns []column
	var contents [][]byte
	if names != nil {
		columns, contents = namesColumns(names)
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

// namesColumns returns ids: numbers if all of them are, int64 if all fit, else uint64; else texts.
func namesColumns(names []string) ([]column, [][]byte) {
	numbers, ends := make([]uint64, len(names)), make([]int64, len(names))
	integral, length := true, int64(0)
	for i, name := range names {
		x, err := strconv.ParseUint(name, 10, 64)
		integral = integral && err == nil && strconv.FormatUint(x, 10) == name
		length += int64(len(name))
		numbers[i], ends[i] = x, length
	}
	n := int64(len(names))
	switch {
	case integral && (n == 0 || slices.Max(numbers) <= math.MaxInt64):
		return []column{{"ids", int64s, []int64{n}}}, [][]byte{bytesOf(numbers)}
	case integral:
		return []column{{"ids", uint64s, []int64{n}}}, [][]byte{bytesOf(numbers)}
	}
	text := []byte(strings.Join(names, ""))
	return []column{{"id_text", bytes8, []int64{length}}, {"id_ends", int64s, []int64{n}}}, [][]byte{text, bytesOf(ends)}
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
	v, err := c.s.registry.hold(f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	o := v.options
	o.Progress = func(done, total int64) { c.report("saving", done, total) }
	saved, err := collection.Create(ctx, f.Path, dataset.FromMemory(v.Rows, v.Dim, nil), f.Force, &o)
	if err != nil {
		return nil, nil, err
	}
	bytes := saved.Bytes()
	return struct {
		Path  string `json:"path"`
		Bytes int64  `json:"bytes"`
	}{f.Path, bytes}, nil, saved.Close()
}
