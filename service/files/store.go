package files

import (
	"context"
	"errors"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// Options configure a Store; nil means no limits.
type Options struct {
	MaxBytes int64 // of one file; 0 is no limit
	Total    int64 // bytes of all files together; 0 is no limit
}

// Store holds files. It is safe for concurrent use.
type Store struct{ db *bbolt.DB }

var errUnwritten = errors.New("not written yet")

// Open takes over dir, which is the store's own and is created if missing, and its
// bucket of db, which stays the caller's.
func Open(dir string, db *bbolt.DB, o *Options) (*Store, error) { return nil, errUnwritten }

// Create stores what r holds. key, if not "", is the idempotency key: the same
// file under the same key gets the first one's record, another is refused.
// Errors of r are returned wrapped.
func (s *Store) Create(ctx context.Context, name, purpose, key string, r io.Reader) (File, error) {
	return File{}, errUnwritten
}

// Adopt takes over a complete file by renaming it; path lies on the file system of
// the store. Under a key that has been used it returns the first one's record, whether
// or not path is still there, and removes path.
func (s *Store) Adopt(ctx context.Context, path, name, purpose, key string) (File, error) {
	return File{}, errUnwritten
}

// Get describes a file.
func (s *Store) Get(id string) (File, error) { return File{}, errUnwritten }

// List describes up to limit files, newest first, from the one behind after on, "" being
// the start; of one purpose unless that is "". more says that others follow.
func (s *Store) List(after string, limit int, purpose string) (list []File, more bool, err error) {
	return nil, false, errUnwritten
}

// Open opens a file for reading; the caller closes it.
func (s *Store) Open(id string) (*os.File, File, error) { return nil, File{}, errUnwritten }

// Path is where a file lies, for readers that want a name; hold it meanwhile.
func (s *Store) Path(id string) (string, File, error) { return "", File{}, errUnwritten }

// Delete removes a file, unless it is held.
func (s *Store) Delete(id string) error { return errUnwritten }

// Hold keeps a file from being deleted, durably, until owner releases.
func (s *Store) Hold(id, owner string) error { return errUnwritten }

// Release drops all holds of owner, of which there may be none.
func (s *Store) Release(owner string) error { return errUnwritten }

// Owners lists who holds files, of those whose name begins with prefix.
func (s *Store) Owners(prefix string) ([]string, error) { return nil, errUnwritten }
