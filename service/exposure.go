package service

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// exposed are the files of a data folder that users other than the server's own can read.
type exposed struct {
	files int
	first string // one of them, relative to the folder
}

// The classes of users other than the owner, as the permissions to enter a folder.
const (
	groupEnters fs.FileMode = 0o010
	otherEnters fs.FileMode = 0o001
)

// findExposed finds the files of a data folder that other users can read: those which permit it,
// in folders that permit the same users to enter. What cannot be looked at is left out, because
// it may be removed meanwhile.
func findExposed(dir string) (e exposed) {
	if runtime.GOOS == "windows" { // where modes do not say who may read
		return e
	}
	e.walk(dir, "", groupEnters|otherEnters)
	return e
}

// walk looks at a folder, at a path below dir, that classes of users can reach.
func (e *exposed) walk(dir, at string, reach fs.FileMode) {
	info, err := os.Lstat(filepath.Join(dir, at))
	if err != nil || !info.IsDir() {
		return
	}
	if reach &= info.Mode(); reach == 0 {
		return
	}
	entries, err := os.ReadDir(filepath.Join(dir, at))
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := filepath.Join(at, entry.Name())
		if entry.IsDir() {
			e.walk(dir, path, reach)
			continue
		}
		info, err := entry.Info()
		// The permission to read is two bits above that to enter.
		if err != nil || !info.Mode().IsRegular() || info.Mode()>>2&reach == 0 {
			continue
		}
		if e.files++; e.first == "" {
			e.first = path
		}
	}
}

// warnOfExposed logs what other users can read of the data folder.
func (s *Server) warnOfExposed() {
	if e := findExposed(s.o.Dir); e.files > 0 {
		s.o.Log.Warn("other users of this machine can read files of the data folder, which thresher makes for its own user alone",
			"files", e.files, "first", e.first, "to end that", "chmod -R go-rwx "+s.o.Dir)
	}
}
