package serve

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/choice/serve/tournaments"
	"thresher/service/extension"
	"thresher/store"
)

// Judgments is what ExportJudgments has written.
type Judgments struct {
	tournaments.Exported
	// Unread are faults of the database, from which all that could be read was taken; nil if it is whole.
	Unread []string
	// Why says why the last calls were written as they were recorded; nil if they were not.
	Why error
}

// ExportJudgments writes what was judged in a tournament to w, as GET /v1/tournaments/{id}/judgments
// does, from a data folder, which no server may have open: then the error wraps store.ErrInUse. Nothing in
// it is changed. Of a damaged database it takes what can be read.
func ExportJudgments(ctx context.Context, dir, id string, w io.Writer) (j Judgments, err error) {
	meta, unread, done, err := readable(filepath.Join(dir, extension.MetaName))
	if err != nil {
		return j, err
	}
	defer func() { err = errors.Join(err, done()) }()
	j.Unread = unread
	p, err := tournaments.PrepareExport(ctx, meta, filepath.Join(dir, transcriptsName), id)
	if err != nil {
		return j, err
	}
	defer p.Close()
	j.Why = p.Why()
	j.Exported, err = p.Write(ctx, w)
	return j, err
}

// ContinueTournament creates a tournament that goes on from a damaged one (tournaments.Store.Continue) in a
// data folder that no server may have open: then the error wraps store.ErrInUse.
func ContinueTournament(ctx context.Context, dir, id string) (c tournaments.Continued, err error) {
	meta, err := openExisting(filepath.Join(dir, extension.MetaName))
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, meta.Close()) }()
	folder := filepath.Join(dir, transcriptsName)
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		folder = ""
	}
	s, err := tournaments.Open(meta, &tournaments.Options{Dir: folder})
	if err != nil {
		return c, err
	}
	defer s.Close(ended()) // which leaves the logs of other tournaments as they are
	return s.Continue(ctx, id)
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}

// readable opens a database or, if it is damaged or missing, one of all that can be read of it, which
// done removes.
func readable(path string) (bolt *bbolt.DB, unread []string, done func() error, err error) {
	bolt, err = openExisting(path)
	var d *store.Damaged
	switch {
	case err == nil:
		return bolt, nil, bolt.Close, nil
	case !errors.As(err, &d) && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil, err
	}
	box, err := os.MkdirTemp("", "thresher-export-")
	if err != nil {
		return nil, nil, nil, err
	}
	remove := func() error { return os.RemoveAll(box) }
	copied := filepath.Join(box, extension.MetaName)
	if d == nil {
		unread = []string{path + " is missing"}
	} else {
		s, err := store.Salvage(path, copied)
		if err != nil {
			return nil, nil, nil, errors.Join(err, remove())
		}
		unread = s.Lost
	}
	bolt, _, err = store.Open(copied, nil)
	if err != nil {
		return nil, nil, nil, errors.Join(err, remove())
	}
	return bolt, unread, func() error { return errors.Join(bolt.Close(), remove()) }, nil
}

// openExisting opens a database that is not empty.
func openExisting(path string) (*bbolt.DB, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	bolt, _, err := store.Open(path, nil)
	return bolt, err
}
