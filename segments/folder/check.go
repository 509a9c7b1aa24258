package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"thresher/segments"
)

// Check reads a folder that nobody writes completely and returns what is wrong with it: a *DamageError that names file and offset, or
// an error of the system. It changes nothing, and needs no backend. A last write that is not whole was never acknowledged,
// and is no damage.
func Check(ctx context.Context, path string) error {
	m, err := readManifest(path)
	if err != nil {
		return err
	}
	f := &Folder{path: path, o: Options{ReadOnly: true, Verify: VerifyNow}, readOnly: true}
	if err := f.describe(m); err != nil {
		return err
	}
	all := make([]segments.Listed, len(m.Segments))
	for i := range m.Segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		if all[i], err = f.checkSegment(&m.Segments[i]); err != nil {
			return err
		}
	}
	if err := segments.CheckDistinct(all); err != nil {
		return &DamageError{File: path, Err: err}
	}
	apply := func(c *Change) error {
		err := errors.Join(ctx.Err(), f.check(c))
		if err == nil && c.Rows != nil { // the first write says what ids are
			_, err = f.table.Assign(c.IDs)
		}
		return err
	}
	version, number := m.Version, m.Log
	for last := false; !last; number++ {
		_, err := os.Stat(filepath.Join(path, logFile(number+1)))
		last = errors.Is(err, fs.ErrNotExist)
		if err != nil && !last {
			return err
		}
		got, err := readLog(filepath.Join(path, logFile(number)), f.rowForm(), version, last, apply)
		if err != nil {
			return err
		}
		version = got.next
	}
	return f.checkLast(number - 1)
}

// checkSegment reads the files of a segment, and returns its numbers.
func (f *Folder) checkSegment(e *segmentFile) (l segments.Listed, err error) {
	path := filepath.Join(f.path, e.file())
	c, err := f.openCollection(path, e)
	if err != nil {
		return l, err
	}
	n, dim, metric, elem, origin := c.N, c.Dim, c.Metric, c.Elem(), slices.Clone(c.Origin)
	if err := c.Close(); err != nil {
		return l, err
	}
	if elem != f.elem {
		return l, &DamageError{File: path, Err: fmt.Errorf("vectors of %v, not %v", elem, f.elem)}
	}
	if n != e.Rows || dim != f.dim || metric != f.metric {
		return l, &DamageError{File: path, Err: fmt.Errorf("%d vectors of dimension %d, %s, not %d of %d, %s", n, dim, metric, e.Rows, f.dim, f.metric)}
	}
	if !slices.Equal(origin, f.origin) {
		return l, &DamageError{File: path, Err: errors.New("its vectors are relative to another origin than the folder's")}
	}
	l.N = n
	if l.IDs, err = f.readNumbers(e); err != nil {
		return l, err
	}
	if l.Deleted, err = f.readDeleted(e); err != nil {
		return l, err
	}
	if err := checkListed(path, l); err != nil {
		return l, err
	}
	_, err = f.readColumns(e)
	return l, err
}
