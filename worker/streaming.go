package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"thresher/collection"
	"thresher/dataset"
)

// streamed builds a collection of files of vectors, which are read as one, as thresher build does, in a file that has no name, so that the
// worker's own memory holds neither rows nor codes. The ids are nil unless opt asks for them; layout says
// which columns made the vectors, and o.Coordinates is set to their names; values given in float64 are kept so
// if o.Elem says it, else rounded. The file is in
// the folder for temporary files or, where there is none or it has no room, in memory.
func streamed(ctx context.Context, files []string, opt *dataset.Options, o *collection.Options) (c *collection.Collection, ids *dataset.IDs, layout dataset.Layout, err error) {
	c, ids, layout, err = streamInto(ctx, temporaryFile, files, opt, o)
	if lacksRoom(err) {
		var again error
		c, ids, layout, again = streamInto(ctx, func() (*os.File, error) { return newShared(0) }, files, opt, o)
		if again != nil {
			return nil, nil, layout, errors.Join(err, again)
		}
		return c, ids, layout, nil
	}
	return c, ids, layout, err
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
func streamInto(ctx context.Context, create func() (*os.File, error), files []string, opt *dataset.Options, o *collection.Options) (c *collection.Collection, ids *dataset.IDs, layout dataset.Layout, err error) {
	r, err := dataset.OpenFiles(files, opt)
	if err != nil {
		return nil, nil, layout, err
	}
	defer r.Close()
	f, err := create()
	if err != nil {
		return nil, nil, layout, errors.Join(errNoPlace, err)
	}
	layout = dataset.LayoutOf(r)
	o.Coordinates = layout.Coordinates()
	src := &namedRows{Reader: r, wide: o.Elem}
	c, err = collection.CreateIn(ctx, f, src.source(), o)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if runtime.GOOS == "windows" {
		os.Remove(f.Name()) // a failure leaves it to the system's cleanup
	}
	switch {
	case err == nil && src.ids.Len() > 0:
		ids := src.ids.IDs()
		if err = dataset.CheckIDs(strings.Join(files, ","), ids); err == nil {
			return c, ids, layout, nil
		}
		err = errors.Join(dataset.Placed(r, err), c.Close())
	case err == nil:
		return c, nil, layout, nil
	case src.ended && src.rows == 0:
		err = &dataset.Error{File: files[0], Row: -1, Column: -1, Err: dataset.ErrNoRows}
	case c != nil:
		err = errors.Join(err, c.Close())
	}
	return nil, nil, layout, err
}

// namedRows is a reader that keeps the ids of the rows that were read.
type namedRows struct {
	dataset.Reader
	wide  dataset.Elem // in which values given in float64 are kept
	rows  int
	ended bool
	ids   dataset.IDsBuilder
}

func (s *namedRows) Read(dst []float32) (int, error) { return s.note(s.Reader.Read(dst)) }

// note keeps what a read of n rows says.
func (s *namedRows) note(n int, err error) (int, error) {
	s.rows += n
	s.ended = s.ended || err == io.EOF
	for _, id := range s.IDs() {
		s.ids.Add(id)
	}
	return n, err
}

// source returns the rows in the type in which they are kept.
func (s *namedRows) source() collection.Source {
	if typed, ok := dataset.KeptAs(s.Reader, s.wide); ok {
		return namedTyped{s, typed}
	}
	return s
}

// namedTyped are namedRows that are kept in another type than float32.
type namedTyped struct {
	*namedRows
	typed dataset.TypedReader
}

func (s namedTyped) Elem() dataset.Elem { return s.typed.Elem() }

// ReadTyped is that of dataset.TypedReader.
func (s namedTyped) ReadTyped(dst []byte) (int, error) { return s.note(s.typed.ReadTyped(dst)) }

// Origin and Change are those of the reader.
func (s *namedRows) Origin() []float64      { return dataset.OriginOf(s.Reader) }
func (s *namedRows) Change() dataset.Change { return dataset.ChangeOf(s.Reader) }

var _ collection.Rounded = (*namedRows)(nil)
