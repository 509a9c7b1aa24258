package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// LostFound is the folder lost+found of a data folder, to which files are moved that nobody recognises, or
// that are damaged. A list there says where each came from. Nothing is deleted.
type LostFound struct {
	data string
}

// LostFoundOf returns the lost+found of a data folder.
func LostFoundOf(data string) LostFound { return LostFound{data} }

// Path returns the folder of the moved files.
func (f LostFound) Path() string { return filepath.Join(f.data, "lost+found") }

// List returns the path of the file that has one line of JSON, a Moved, for each file.
func (f LostFound) List() string { return filepath.Join(f.Path(), "list.jsonl") }

// Moved is a line of the list.
type Moved struct {
	At   time.Time `json:"at"`
	From string    `json:"from"` // relative to the data folder, as is To
	To   string    `json:"to"`
	Why  string    `json:"why"`
}

// Move moves a file or folder of the data folder to lost+found, under the first free name,
// and lists its former path and the reason.
func (f LostFound) Move(d Disk, path, why string) (Moved, error) {
	m, to, err := f.place(path, why)
	if err != nil {
		return Moved{}, err
	}
	return m, d.Rename(path, to)
}

// Keep does as Move, but the file keeps its former name, too.
func (f LostFound) Keep(d Disk, path, why string) (Moved, error) {
	m, to, err := f.place(path, why)
	if err != nil {
		return Moved{}, err
	}
	return m, d.Link(path, to)
}

// place lists a file or folder under its new path, to.
func (f LostFound) place(path, why string) (m Moved, to string, err error) {
	from, err := filepath.Rel(f.data, path)
	if err != nil || !filepath.IsLocal(from) {
		return Moved{}, "", fmt.Errorf("%s is not in %s", path, f.data)
	}
	to = filepath.Join(f.Path(), from)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return Moved{}, "", Full(err)
	}
	for n := 1; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return Moved{}, "", err
		}
		to = fmt.Sprintf("%s.%d", filepath.Join(f.Path(), from), n)
	}
	m = Moved{At: time.Now().UTC(), From: from, Why: why}
	if m.To, err = filepath.Rel(f.data, to); err != nil {
		return Moved{}, "", err
	}
	// The list is written first: after a crash between the two, a listed file is still
	// found where the list says it was.
	return m, to, Full(f.add(m))
}

// add appends a line to the list and flushes it.
func (f LostFound) add(m Moved) (err error) {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	list, err := os.OpenFile(f.List(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	if _, err := list.Write(append(line, '\n')); err != nil {
		return err
	}
	return list.Sync()
}

// Found lists what was found in a folder of the data folder that the database does not say.
type Found struct {
	Adopted []string // names or ids of things that were recorded again
	Kept    []Moved
	Missing []string // names or ids of things that are recorded, and whose files are not there
}

// Move moves a file or folder to lost+found, unless it is missing, and says so in the log. It lies in a
// folder of the data folder.
func (f *Found) Move(d Disk, log *slog.Logger, path, why string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m, err := LostFoundOf(filepath.Dir(filepath.Dir(path))).Move(d, path, why)
	if err != nil {
		return err
	}
	f.Kept = append(f.Kept, m)
	log.Warn("an unrecognised file was moved", "from", m.From, "to", m.To, "reason", why)
	return nil
}
