package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	for i := range m.Segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.checkSegment(&m.Segments[i]); err != nil {
			return err
		}
	}
	version, number := m.Version, m.Log
	for last := false; !last; number++ {
		_, err := os.Stat(filepath.Join(path, logFile(number+1)))
		last = errors.Is(err, fs.ErrNotExist)
		if err != nil && !last {
			return err
		}
		got, err := readLog(filepath.Join(path, logFile(number)), f.rowForm(), version, last, func(c *Change) error { return errors.Join(ctx.Err(), f.check(c)) })
		if err != nil {
			return err
		}
		version = got.next
	}
	return f.checkLast(number - 1)
}

// checkSegment reads the files of a segment.
func (f *Folder) checkSegment(e *segmentFile) error {
	path := filepath.Join(f.path, e.file())
	c, err := f.openCollection(path, e)
	if err != nil {
		return err
	}
	n, dim, metric, elem := c.N, c.Dim, c.Metric, c.Elem()
	if err := c.Close(); err != nil {
		return err
	}
	if elem != f.elem {
		return &DamageError{File: path, Err: fmt.Errorf("vectors of %v, not %v", elem, f.elem)}
	}
	if n != e.Rows || dim != f.dim || metric != f.metric {
		return &DamageError{File: path, Err: fmt.Errorf("%d vectors of dimension %d, %s, not %d of %d, %s", n, dim, metric, e.Rows, f.dim, f.metric)}
	}
	if _, err := f.readNumbers(e); err != nil {
		return err
	}
	if _, err := f.readDeleted(e); err != nil {
		return err
	}
	_, err = f.readColumns(e)
	return err
}
