package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/service/api"
	"thresher/service/backup"
	"thresher/service/jsonbody"
	"thresher/store"
)

// lostFoundName is the folder of unrecognised files, store.LostFound.
const lostFoundName = "lost+found"

// backupRoutes are the routes of backups.
func (s *Server) backupRoutes() []route {
	const path = "/v1/backup"
	return []route{
		{method: http.MethodPost, pattern: path, scope: write, handle: s.postBackup},
		{method: http.MethodGet, pattern: path, scope: write, handle: s.getBackups},
		{method: http.MethodPost, pattern: path + "/cancel", scope: write, handle: s.cancelBackup},
	}
}

// takesNothing refuses a body other than an empty object.
func (s *Server) takesNothing(r *request) error {
	if r.ContentLength == 0 {
		return nil
	}
	_, err := decodeJSON(s, r.Request, func(text []byte) (any, error) { return nil, jsonbody.Decode(text, nil) })
	return err
}

func (s *Server) postBackup(r *request, w http.ResponseWriter) error {
	if err := s.takesNothing(r); err != nil {
		return err
	}
	begun, err := s.backups.Start(r.client())
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/backup")
	return writeJSON(w, http.StatusAccepted, begun)
}

func (s *Server) getBackups(_ *request, w http.ResponseWriter) error {
	state, err := s.backups.State()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, state)
}

func (s *Server) cancelBackup(r *request, w http.ResponseWriter) error {
	if err := s.takesNothing(r); err != nil {
		return err
	}
	ended, err := s.backups.Cancel(r.Context(), r.client())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, ended)
}

// IdleFolder is a data folder that no server has open, for backups of it by another program.
type IdleFolder struct {
	*backup.Runner
	databases []*bbolt.DB
}

// OpenIdle opens a data folder for backups to o.Folder. If a server has it open the error wraps
// store.ErrInUse. release is the version of the program. The caller calls Close.
func (x Extensions) OpenIdle(dir string, o Backups, release string, log *slog.Logger) (_ *IdleFolder, err error) {
	if err := IsDataFolder(dir); err != nil {
		return nil, err
	}
	f := &IdleFolder{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.closeDatabases())
		}
	}()
	for _, name := range append([]string{metaName}, x.databases()...) {
		path := filepath.Join(dir, name)
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && name != metaName {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not the data folder of a server: %w", dir, err)
		}
		d, _, err := store.Open(path, nil)
		if err != nil {
			return nil, err
		}
		f.databases = append(f.databases, d)
	}
	source := x.backupSource(dir, release)
	source.Meta, source.Others = f.databases[0], f.databases[1:]
	if f.Runner, err = backup.NewRunner(source, backup.Options{Folder: o.Folder, Keep: o.Keep, Check: x.Check}, log); err != nil {
		return nil, err
	}
	return f, nil
}

// Close cancels the backup being made, and closes the databases.
func (f *IdleFolder) Close() error {
	f.Runner.Close()
	return f.closeDatabases()
}

func (f *IdleFolder) closeDatabases() error {
	var err error
	for _, d := range f.databases {
		err = errors.Join(err, d.Close())
	}
	return err
}

// RestoreBackup makes the data folder to of a backup, or of the newest without damage in a folder of
// backups, and reports the state of everything in it. to must not exist, or be an empty folder.
func (x Extensions) RestoreBackup(ctx context.Context, from, to string, tell func(store.Item)) (api.Backup, error) {
	from, err := backup.Find(from)
	if err != nil {
		return api.Backup{}, err
	}
	if _, err := checkFormat(from); err != nil {
		return api.Backup{}, err
	}
	b, err := backup.Restore(ctx, from, to)
	if err != nil {
		return b, err
	}
	return b, x.Check(ctx, to, tell)
}
