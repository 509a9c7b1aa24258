package catalog

import (
	"context"
	"io"
	"os"
	"strconv"

	"thresher/dataset"
	"thresher/service/problem"
)

// maxRead is the largest source, in bytes, whose ids are read before the change is accepted;
// those of larger sources are read by the build.
const maxRead = 64 << 20

// refuseTaken refuses rows whose ids already exist in the previous version, as far as they can be
// checked while the sender waits.
func (s *staged) refuseTaken(ctx context.Context, from *opened, src *Source) error {
	if src.IDs != nil {
		return from.ids.without(src.IDs)
	}
	if src.IDColumn == "" || s.origin.File == "" {
		return nil
	}
	path := s.arriving(s.origin.File)
	if info, err := os.Stat(path); err != nil || info.Size() > maxRead {
		return err
	}
	end, err := s.c.startReading(ctx)
	if err != nil {
		return err
	}
	defer end()
	return describedAs(s.c.collides(ctx, from, s.origin, path), s.origin, path)
}

func describedAs(err error, o *origin, path string) error {
	if err == nil {
		return nil
	}
	return describe(err, o, path)
}

// collides reads the ids of a source and refuses one that the version already has. It does
// not read the coordinates.
func (c *Catalog) collides(ctx context.Context, from *opened, o *origin, path string) error {
	r, err := dataset.Open(path, c.options(o))
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]float32, r.Dim()*max(1, (1<<16)/r.Dim()))
	for at := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf)
		for i, id := range r.IDs() {
			if row, ok := from.ids.rowOfText(id); ok && i < n {
				return taken(at+i, from.ids, row)
			}
		}
		at += n
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// taken returns the problem of new row number row, whose id an existing row has.
func taken(row int, ids *RowIDs, there int64) error {
	id := ids.Name(there)
	if ids.kind == Strings {
		id = strconv.Quote(clip(id))
	}
	return problem.New(problem.InvalidValue, "row %d has the id %s, which the collection has already, at row %d", row, id, there).At("ids", row)
}
