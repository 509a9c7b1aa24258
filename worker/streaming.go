package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"

	"thresher/collection"
	"thresher/dataset"
)

// streamed builds a collection of a file of vectors as thresher build does, in a file that has no name, so that the
// worker's own memory holds neither rows nor codes. The ids are nil unless opt asks for them; columns says
// which made the vectors, and o.Coordinates is set to their names. The file is in
// the folder for temporary files or, where there is none or it has no room, in memory.
func streamed(ctx context.Context, path string, opt *dataset.Options, o *collection.Options) (c *collection.Collection, ids []string, columns string, err error) {
	c, ids, columns, err = streamInto(ctx, temporaryFile, path, opt, o)
	if lacksRoom(err) {
		var again error
		c, ids, columns, again = streamInto(ctx, func() (*os.File, error) { return newShared(0) }, path, opt, o)
		if again != nil {
			return nil, nil, "", errors.Join(err, again)
		}
		return c, ids, columns, nil
	}
	return c, ids, columns, err
}

// errNoPlace means that a file for a collection cannot be made.
var errNoPlace = errors.New("there is no place for the collection")

// lacksRoom reports whether another place may have the room that one lacks.
func lacksRoom(err error) bool {
	return errors.Is(err, errNoPlace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// temporaryFile returns an empty file, whose name is gone where open files can lose theirs.
func temporaryFile() (*os.File, error) {
	f, err := os.CreateTemp("", "thresher-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil && runtime.GOOS != "windows" {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// streamInto builds a collection in a new file.
func streamInto(ctx context.Context, create func() (*os.File, error), path string, opt *dataset.Options, o *collection.Options) (c *collection.Collection, ids []string, columns string, err error) {
	r, err := dataset.Open(path, opt)
	if err != nil {
		return nil, nil, "", err
	}
	defer r.Close()
	f, err := create()
	if err != nil {
		return nil, nil, "", errors.Join(errNoPlace, err)
	}
	layout := dataset.LayoutOf(r)
	columns, o.Coordinates = layout.String(), layout.Coordinates()
	src := &namedRows{Reader: r}
	c, err = collection.CreateIn(ctx, f, src, o)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if runtime.GOOS == "windows" {
		os.Remove(f.Name()) // a failure leaves it to the system's cleanup
	}
	switch {
	case err == nil && src.ids != nil:
		if err = dataset.CheckIDs(path, src.ids); err == nil {
			return c, src.ids, columns, nil
		}
		err = errors.Join(err, c.Close())
	case err == nil:
		return c, nil, columns, nil
	case src.ended && src.rows == 0:
		err = &dataset.Error{File: path, Row: -1, Column: -1, Err: dataset.ErrNoRows}
	case c != nil:
		err = errors.Join(err, c.Close())
	}
	return nil, nil, "", err
}

// namedRows is a reader that keeps the ids of the rows that were read.
type namedRows struct {
	dataset.Reader
	rows  int
	ended bool
	ids   []string
}

func (s *namedRows) Read(dst []float32) (int, error) {
	n, err := s.Reader.Read(dst)
	s.rows += n
	s.ended = s.ended || err == io.EOF
	s.ids = append(s.ids, s.IDs()...)
	return n, err
}

// Origin and Change are those of the reader.
func (s *namedRows) Origin() []float64      { return dataset.OriginOf(s.Reader) }
func (s *namedRows) Change() dataset.Change { return dataset.ChangeOf(s.Reader) }

var _ collection.Rounded = (*namedRows)(nil)
