package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/machine"
	"thresher/segments"
	"thresher/segments/folder"
)

// vectorsFolder is a folder of vectors that change, as it was when a command began.
type vectorsFolder struct {
	*folder.Folder
	now     *folder.Snapshot
	rows    *segments.Reading // by number; others are made to read them in order
	numbers []int64           // of the rows, ascending
	ids     *dataset.IDs      // of the rows
	took    time.Duration     // to open it

	backends *backends           // that search it
	among    *segments.Selection // of its vectors, that --filter allows; nil: all
}

// openFolder opens the folder at path for a command that reads it, or searches it by b, unless that is nil.
func openFolder(ctx context.Context, path string, b *backends) (*vectorsFolder, error) {
	begun := time.Now()
	o := folder.Options{ReadOnly: true, Digest: b != nil}
	if b == nil {
		b = &backends{first: cpu.New(cpu.Options{Threads: 1})}
	}
	v := &vectorsFolder{backends: b}
	o.Backend, o.Engine = b.first, batch.Options{Costs: b.costs, Spare: machine.SpareFor}
	var err error
	if v.Folder, err = folder.Open(ctx, path, o); err != nil {
		return nil, errors.Join(err, b.close())
	}
	v.now = v.Snapshot()
	if err := notRelative(v.Folder, path); err != nil {
		return nil, errors.Join(err, v.close())
	}
	if v.rows, err = v.now.Rows(); err != nil {
		return nil, errors.Join(err, v.close())
	}
	v.numbers = v.rows.IDs()
	v.ids, v.took = v.now.IDs(v.numbers), time.Since(begun)
	return v, nil
}

// notRelative refuses a folder whose vectors are relative to a point, as those of a service can be.
func notRelative(f *folder.Folder, path string) error {
	if form := f.Form(); form.Origin == nil || form.Elem == dataset.ElemFloat64 {
		return nil
	}
	return fmt.Errorf("%s: its vectors are relative to a point near them, as a service keeps them; commands take folders that build has made", path)
}

// kept is the type in which values of float64 are kept that a flag asks for: of a folder that keeps them it is float64.
func (in input) kept(asked dataset.Elem) dataset.Elem {
	if in.folder != nil && in.folder.Form().Elem == dataset.ElemFloat64 {
		return dataset.ElemFloat64
	}
	return asked
}

// close closes the folder.
func (v *vectorsFolder) close() error {
	return errors.Join(v.now.Release(), v.Folder.Close(), v.backends.close())
}

// reader returns a reader of the vectors in the order of answers.
func (v *vectorsFolder) reader() (dataset.Reader, error) {
	rows, err := v.now.Rows()
	if err != nil {
		return nil, err
	}
	return dataset.WithIDs(&folderReader{typedSource: rows, n: int64(rows.Len()), change: rows.Change()}, v.ids), nil
}

// columns returns columns of the vectors, in their order: those of the names, all without.
func (v *vectorsFolder) columns(names ...string) (*columns.Columns, error) {
	rows, err := v.now.Rows()
	if err != nil {
		return nil, err
	}
	all := rows.Columns()
	if len(names) == 0 {
		return all, nil
	}
	return all.Named(names...)
}

// columnsAs returns the columns of fields with their types; those that the vectors lack are null and missing.
func (v *vectorsFolder) columnsAs(fields []columns.Field) (c *columns.Columns, missing []string, err error) {
	all, err := v.columns()
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, f := range fields {
		if slices.ContainsFunc(all.Fields(), func(own columns.Field) bool { return own.Name == f.Name }) {
			names = append(names, f.Name)
		} else {
			missing = append(missing, f.Name)
		}
	}
	if names == nil {
		return nil, missing, nil
	}
	if c, err = all.Named(names...); err == nil {
		c, err = c.As(fields)
	}
	return c, missing, err
}

// hashColumns returns the SHA-256 of the columns, in hexadecimal.
func (v *vectorsFolder) hashColumns() (string, error) {
	all, err := v.columns()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(all.Fields()); err != nil {
		return "", err
	}
	h.Write(all.Pack(nil))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// typedSource is rows in the type in which a folder keeps them.
type typedSource interface {
	collection.Source
	dataset.TypedReader
	// ReadFloat64 is Read of rows of float64 as they are given.
	ReadFloat64(dst []float64) (rows int, err error)
}

// folderReader reads the vectors of a folder, which stays open.
type folderReader struct {
	typedSource
	n, read int64 // rows: all, and those that were read
	// given are the rows of the last Read of float64, and narrowed what rounding changed of those and the ones before.
	given    []float64
	narrowed dataset.Change
	// change is by rounding, when the vectors were written; last are the largest of the rows of the last Read, nil if nothing was rounded.
	change dataset.Change
	last   []float64
}

// Change is read by dataset.ChangeOf: the largest of all vectors, and of those that were read the share of the values.
func (r *folderReader) Change() dataset.Change {
	if r.read == 0 {
		return dataset.Change{}
	}
	of := r.change
	of.Values = int64(math.Ceil(float64(of.Values) * float64(r.read) / float64(r.n)))
	of.Add(r.narrowed)
	return of
}

// Given is read by dataset.GivenOf.
func (r *folderReader) Given() []float64 { return r.given }

// RowChanges is read by the function of this name of dataset. A folder does not know it of each row, so it is the largest of all.
func (r *folderReader) RowChanges() []float64 { return r.last }

// note takes in how many rows were read.
func (r *folderReader) note(n int, err error) (int, error) {
	r.read += int64(n)
	r.last = r.last[:0]
	if r.change.Values > 0 {
		r.last = slices.Repeat([]float64{r.change.Largest}, n)
	}
	return n, err
}

// readRounded is Read of float64.
func (r *folderReader) readRounded(dst []float32) (int, error) {
	dim := r.Dim()
	if n := len(dst) / dim * dim; cap(r.given) < n {
		r.given = make([]float64, n)
	} else {
		r.given = r.given[:n]
	}
	n, err := r.note(rowsFirst(r.ReadFloat64(r.given)))
	r.given = r.given[:n*dim]
	for i := range n {
		change, bad := dataset.Narrow(dst[i*dim:(i+1)*dim], r.given[i*dim:(i+1)*dim], nil)
		if bad >= 0 {
			return i, &collection.RowError{Row: int(r.read) - n + i, Column: bad, Err: fmt.Errorf("value %g is not finite as float32", r.given[i*dim+bad])}
		}
		r.narrowed.Add(change)
		if len(r.last) < n {
			r.last = append(r.last, 0)
		}
		r.last[i] += change.Largest
	}
	return n, err
}

func (r *folderReader) Len() int64    { return r.n }
func (r *folderReader) IDs() []string { return nil } // dataset.WithIDs has them
func (r *folderReader) Close() error  { return nil }

func (r *folderReader) Read(dst []float32) (int, error) {
	if len(dst) < r.Dim() {
		return 0, io.ErrShortBuffer
	}
	if r.Elem() == dataset.ElemFloat64 {
		return r.readRounded(dst)
	}
	return r.note(rowsFirst(r.typedSource.Read(dst)))
}

// ReadTyped is that of dataset.TypedReader.
func (r *folderReader) ReadTyped(dst []byte) (int, error) {
	if len(dst) < r.Dim()*r.Elem().Size() {
		return 0, io.ErrShortBuffer
	}
	return r.note(rowsFirst(r.typedSource.ReadTyped(dst)))
}

// rowsFirst keeps the error of a Read that has rows for the next one, as readers of files do.
func rowsFirst(n int, err error) (int, error) {
	if n > 0 {
		return n, nil
	}
	return 0, err
}

// hash returns the SHA-256 of ids and vectors, in hexadecimal: it does not depend on the segments that hold them.
func (v *vectorsFolder) hash(ctx context.Context) (string, error) {
	r, err := v.reader()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, v.Form().Metric, r.Dim(), r.Len())
	rows := make([]float32, max(1, 1<<16/r.Dim())*r.Dim())
	var b []byte
	for {
		n, err := r.Read(rows)
		for _, id := range r.IDs() {
			fmt.Fprintf(h, "%d %s", len(id), id)
		}
		b = b[:0]
		if given := dataset.GivenOf(r); given != nil {
			for _, x := range given {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
		} else {
			for _, x := range rows[:n*r.Dim()] {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
		}
		h.Write(b)
		if err == io.EOF {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
	}
}

// size returns the bytes of all files of a folder.
func folderSize(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) { // a writer has removed it
			return nil
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
