package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/internal/atomicfile"
	"thresher/service/api"
	"thresher/store"
)

// ErrTaken says that there is something where a backup is to be restored.
var ErrTaken = errors.New("there is something already")

// Find returns the folder of a backup: path itself or, if it is a folder of backups, the newest without
// damage in it.
func Find(path string) (string, error) {
	if _, err := os.Lstat(filepath.Join(path, descriptionName)); err == nil {
		return path, nil
	}
	all, err := folder{path}.list()
	if err != nil || len(all) == 0 {
		return path, err
	}
	for _, b := range all {
		if len(b.Damaged) == 0 {
			return filepath.Join(path, b.Name), nil
		}
	}
	return "", fmt.Errorf("all backups in %s are of damaged data; name one of them", path)
}

// Restore makes the data folder to of the backup from, which is not changed, and shares no file with
// it. to must not exist, or be an empty folder; it appears complete and flushed, or not at all.
func Restore(ctx context.Context, from, to string) (b api.Backup, err error) {
	if b, err = read(from); err != nil {
		return b, err
	}
	if to, err = filepath.Abs(to); err != nil {
		return b, err
	}
	if err := vacant(to); err != nil {
		return b, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return b, store.Full(err)
	}
	next, err := os.MkdirTemp(filepath.Dir(to), "."+filepath.Base(to)+".new-*")
	if err != nil {
		return b, store.Full(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(next))
		}
	}()
	if err := copyTree(ctx, from, next, descriptionName); err != nil {
		return b, err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return b, err
	}
	if err := os.Rename(next, to); err != nil {
		return b, err
	}
	return b, atomicfile.FlushFolder(filepath.Dir(to))
}

// vacant fails unless path does not exist or is an empty folder.
func vacant(path string) error {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s: %w (%s); a backup is restored to a folder that does not exist, or is empty", path, ErrTaken, entries[0].Name())
	}
	return err
}
