package backup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// Source is a data folder whose databases this process has open, so that no other server uses it.
type Source struct {
	Dir string
	// Meta is the database whose records name the files of Folders; Others are further databases.
	// All of them lie in Dir.
	Meta    *bbolt.DB
	Others  []*bbolt.DB
	Folders []Folder
	// Files are names of further files in Dir, which may be missing.
	Files []string
	// Release is the version of the program.
	Release string
}

// Folder is a folder of a Source.
type Folder struct {
	Name string
	// Known returns which names of files and subfolders the records of a transaction describe. nil
	// means that all belong to the data, at any depth.
	Known func(tx *bbolt.Tx) (known func(name string) bool, err error)
	// First, if not "", is the name of the file of each subfolder that must not be newer than the
	// others, which may grow meanwhile. It is small.
	First string
	// Copy, if not nil, makes a subfolder at to that has what the one of a name holds now, in files that are not written to any more but
	// may share their bytes with it. done is false for a subfolder that nobody writes to: its files are linked as they are.
	Copy func(name, to string) (done bool, err error)
}

// databases lists all databases.
func (s *Source) databases() []*bbolt.DB { return append([]*bbolt.DB{s.Meta}, s.Others...) }

// expects reports whether an entry of Dir is one that a backup looks at. Names that begin with a dot
// are temporary.
func (s *Source) expects(name string) bool {
	if strings.HasPrefix(name, ".") {
		return true
	}
	for _, d := range s.databases() {
		if filepath.Base(d.Path()) == name {
			return true
		}
	}
	for _, f := range s.Folders {
		if f.Name == name {
			return true
		}
	}
	for _, f := range s.Files {
		if f == name || store.Unfinished(name, f) { // the second is what a start was killed at
			return true
		}
	}
	return false
}

// apart fails if one of two folders lies in the other. Both exist.
func apart(data, to string) error {
	a, err := resolved(data)
	if err != nil {
		return err
	}
	b, err := resolved(to)
	if err != nil {
		return err
	}
	for _, x := range [][2]string{{a, b}, {b, a}} {
		rel, err := filepath.Rel(x[0], x[1])
		if err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%w: data folder %s, folder of backups %s", ErrNested, a, b)
		}
	}
	return nil
}

// ErrNested says that the data folder and the folder of its backups lie one in the other.
var ErrNested = errors.New("a folder of backups lies neither in the data folder nor around it")

// resolved returns the absolute path of a folder without symbolic links.
func resolved(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
