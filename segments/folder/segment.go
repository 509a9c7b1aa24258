package folder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/segments"
)

// openSegment opens a segment with what is deleted of it.
func (f *Folder) openSegment(ctx context.Context, e *segmentFile) (h segments.Holding, err error) {
	path := filepath.Join(f.path, e.file())
	c, err := f.openCollection(path, e)
	if err != nil {
		return h, err
	}
	defer func() {
		if err != nil && h.Segment == nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if c.Elem() != f.elem {
		return h, &DamageError{File: path, Err: fmt.Errorf("vectors of %v, not %v", c.Elem(), f.elem)}
	}
	if c.N != e.Rows || c.Dim != f.dim || c.Metric != f.metric {
		return h, &DamageError{File: path, Err: fmt.Errorf("%d vectors of dimension %d, %s, not %d of %d, %s", c.N, c.Dim, c.Metric, e.Rows, f.dim, f.metric)}
	}
	numbers, err := f.readNumbers(e)
	if err != nil {
		return h, err
	}
	if h.Deleted, err = f.readDeleted(e); err != nil {
		return h, err
	}
	if err := checkListed(path, segments.Listed{N: c.N, IDs: numbers, Deleted: h.Deleted}); err != nil {
		return h, err
	}
	described, err := f.readColumns(e)
	if err != nil {
		return h, err
	}
	if h.Segment, err = f.segmentOf(ctx, c, numbers, described, e.Generation); err != nil {
		return h, fmt.Errorf("%s: %w", path, err)
	}
	f.entries[h.Segment] = e
	return h, nil
}

// checkListed refuses the numbers of the segment at path.
func checkListed(path string, l segments.Listed) error {
	if err := l.Check(); err != nil {
		return &DamageError{File: path, Err: err}
	}
	return nil
}

// segmentOf returns the segment of a collection, which is closed with it, and columns; nil has none. After an error the collection is
// open.
func (f *Folder) segmentOf(ctx context.Context, c *collection.Collection, numbers []int64, described *columns.Columns, generation int) (*segments.Segment, error) {
	if described != nil && described.Rows() != c.N {
		return nil, fmt.Errorf("columns of %d rows for %d vectors", described.Rows(), c.N)
	}
	made, err := segments.New(ctx, c, numbers, f.o.Backend, &f.o.Engine, generation, c.Close)
	if err == nil && described != nil {
		err = made.SetColumns(described)
	}
	return made, err
}

// readColumns returns the columns of a segment's rows; nil if the folder has none.
func (f *Folder) readColumns(e *segmentFile) (*columns.Columns, error) {
	if len(f.fields) == 0 {
		return nil, nil
	}
	path := filepath.Join(f.path, e.columnsFile())
	if e.Columns == nil {
		return nil, &DamageError{File: filepath.Join(f.path, e.file()), Err: errors.New("it has no columns, and those of the folder have")}
	}
	if err := e.Columns.check(path); err != nil {
		return nil, err
	}
	c, err := columns.Saved(filepath.Join(f.path, e.file()), e.Rows)
	if err != nil {
		return nil, &DamageError{File: path, Err: err}
	}
	if c == nil { // it was removed a moment ago
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if got := c.Fields(); !slices.Equal(got, f.fields) {
		return nil, &DamageError{File: path, Err: fmt.Errorf("columns %v, not %v", got, f.fields)}
	}
	return c, nil
}

// writeColumns writes the columns of the segment that an upkeep has made, and returns them; nil if the folder has none.
func (f *Folder) writeColumns(e *segmentFile, u *segments.Upkeep) (*columns.Columns, error) {
	if len(f.fields) == 0 {
		return nil, nil
	}
	c := u.Columns()
	return c, e.writeColumns(f.disk, f.path, c)
}

// writeColumns writes the columns of a segment of the folder at path; nil has none.
func (e *segmentFile) writeColumns(d disk, path string, c *columns.Columns) error {
	if c == nil {
		return nil
	}
	var b bytes.Buffer
	err := columns.WriteSaved(&b, filepath.Join(path, e.file()), c)
	if err == nil {
		e.Columns, err = writeSideFile(d, filepath.Join(path, e.columnsFile()), b.Bytes(), e.Rows)
	}
	return err
}

// openCollection maps a segment's file, verified as the options say.
func (f *Folder) openCollection(path string, e *segmentFile) (*collection.Collection, error) {
	_, crc, err := checksum(path, headerBytes)
	if err != nil {
		return nil, err
	}
	if crc != e.Header {
		return nil, &DamageError{File: path, Err: fmt.Errorf("the checksum of its header is %d, not %d", crc, e.Header)}
	}
	now, err := seen(path)
	if err != nil {
		return nil, err
	}
	said := e.Verified != nil && *e.Verified == now
	known := said || f.readers[e.file()] == now
	open := collection.Open
	if f.o.Verify == VerifyNever || f.o.Verify == VerifyOnce && known {
		open = collection.OpenUnverified
	}
	c, err := open(path)
	if errors.Is(err, collection.ErrCorrupt) || errors.Is(err, collection.ErrTruncated) {
		return nil, &DamageError{File: path, Err: err}
	}
	if err == nil && f.o.Verify != VerifyNever {
		f.unsaid = f.unsaid || !said && !(f.readOnly && known)
		e.Verified = &now
	}
	return c, err
}

// seen returns which file there is at path, to know it again.
func seen(path string) (verified, error) {
	info, err := os.Stat(path)
	if err != nil {
		return verified{}, err
	}
	return verified{info.Size(), info.ModTime().UnixNano()}, nil
}

// readNumbers returns the numbers of a segment's rows, and learns their ids; nil if these are the row numbers.
func (f *Folder) readNumbers(e *segmentFile) ([]int64, error) {
	if e.IDs == nil {
		f.named = true
		f.greatest.Store(max(f.greatest.Load(), uint64(max(0, e.Rows-1))))
		f.table.Settle(false)
		if f.table.Textual() {
			return nil, &DamageError{File: filepath.Join(f.path, e.file()), Err: errors.New("it has no ids, and those of the folder are texts")}
		}
		return nil, nil
	}
	path := filepath.Join(f.path, e.idsFile())
	if err := e.IDs.check(path); err != nil {
		return nil, err
	}
	ids, err := dataset.SavedIDs(filepath.Join(f.path, e.file()), e.Rows)
	if err != nil {
		return nil, &DamageError{File: path, Err: err}
	}
	if ids == nil { // it was removed a moment ago
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if f.manifest.Texts && !ids.Textual() { // they look like numbers
		var texts dataset.IDsBuilder
		texts.BecomeTexts()
		for row := range int64(ids.Len()) {
			texts.AddText(ids.Text(row))
		}
		ids = texts.IDs()
	}
	f.named = true
	numbers, err := f.numbersOf(e, ids)
	if err != nil {
		return nil, err
	}
	if err := f.table.Restore(numbers, ids); err != nil {
		return nil, &DamageError{File: path, Err: err}
	}
	f.raise(ids)
	return numbers, nil
}

// numbersOf returns the numbers of rows with these ids: the ids themselves, unless there is a file of them.
func (f *Folder) numbersOf(e *segmentFile, ids *dataset.IDs) ([]int64, error) {
	numbers := make([]int64, e.Rows)
	if e.Numbers == nil {
		if ids.Textual() {
			return nil, &DamageError{File: filepath.Join(f.path, e.idsFile()), Err: errors.New("it has texts, but no numbers of them")}
		}
		for row := range numbers {
			numbers[row] = int64(ids.Number(int64(row)))
		}
		return numbers, nil
	}
	path := filepath.Join(f.path, e.numbersFile())
	if err := e.Numbers.check(path); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) != 8*e.Rows {
		return nil, &DamageError{File: path, Err: fmt.Errorf("%d bytes for %d rows", len(b), e.Rows)}
	}
	for row := range numbers {
		numbers[row] = int64(binary.LittleEndian.Uint64(b[8*row:]))
	}
	return numbers, nil
}

// writeNumbers writes what the rows of a segment are called: nothing if that is their row numbers.
func (f *Folder) writeNumbers(e *segmentFile, numbers []int64) error {
	return e.writeNumbers(f.disk, f.path, numbers, f.table.IDs(numbers))
}

// writeNumbers writes the numbers and ids of a segment of the folder at path.
func (e *segmentFile) writeNumbers(d disk, path string, numbers []int64, ids *dataset.IDs) error {
	counted, own := !ids.Textual(), !ids.Textual()
	for row, number := range numbers {
		counted = counted && number == int64(row)
		own = own && ids.Number(int64(row)) == uint64(number)
	}
	if counted && own {
		return nil
	}
	var b bytes.Buffer
	err := dataset.WriteSavedIDs(&b, filepath.Join(path, e.file()), ids)
	if err == nil {
		e.IDs, err = writeSideFile(d, filepath.Join(path, e.idsFile()), b.Bytes(), e.Rows)
	}
	if err != nil || own {
		return err
	}
	raw := make([]byte, 0, 8*len(numbers))
	for _, number := range numbers {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(number))
	}
	e.Numbers, err = writeSideFile(d, filepath.Join(path, e.numbersFile()), raw, e.Rows)
	return err
}

// writeSideFile writes a file of a segment.
func writeSideFile(d disk, path string, b []byte, rows int) (*sideFile, error) {
	if err := writeFile(d, path, b); err != nil {
		return nil, err
	}
	return sideFileOf(b, rows), nil
}

// readDeleted returns the rows of a segment that are deleted.
func (f *Folder) readDeleted(e *segmentFile) ([]uint32, error) {
	if e.Deleted == nil {
		return nil, nil
	}
	path := filepath.Join(f.path, e.deletedFile())
	if err := e.Deleted.check(path); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows := roaring.New()
	if err := rows.UnmarshalBinary(b); err != nil {
		return nil, &DamageError{File: path, Err: err}
	}
	if n := int(rows.GetCardinality()); n != e.Deleted.Rows {
		return nil, &DamageError{File: path, Err: fmt.Errorf("%d rows, not %d", n, e.Deleted.Rows)}
	}
	return rows.ToArray(), nil
}

// writeDeleted writes the rows of a segment that are deleted, ascending, unless the file is there. Rows are only ever added
// to them, and so their number says which they are.
func (f *Folder) writeDeleted(e *segmentFile, rows []uint32) error {
	if len(rows) == 0 || e.Deleted != nil && e.Deleted.Rows == len(rows) {
		return nil
	}
	set := roaring.BitmapOf(rows...)
	set.RunOptimize()
	b, err := set.ToBytes()
	if err != nil {
		return err
	}
	was := e.Deleted
	e.Deleted = sideFileOf(b, len(rows))
	if err := writeFile(f.disk, filepath.Join(f.path, e.deletedFile()), b); err != nil {
		e.Deleted = was
		return err
	}
	return nil
}
