// Package lostfound moves files that the service does not recognise, or that are damaged, to the folder
// lost+found of its data folder, and lists there where each came from. Nothing is deleted.
package lostfound

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"thresher/service/durable"
)

// Folder is the folder lost+found of a data folder.
type Folder struct {
	data string
}

// In returns the lost+found of a data folder.
func In(data string) Folder { return Folder{data} }

// Path returns the folder of the moved files.
func (f Folder) Path() string { return filepath.Join(f.data, "lost+found") }

// List returns the path of the file that has one line of JSON, a Moved, for each file.
func (f Folder) List() string { return filepath.Join(f.Path(), "list.jsonl") }

// Moved is a line of the list.
type Moved struct {
	At   time.Time `json:"at"`
	From string    `json:"from"` // relative to the data folder, as is To
	To   string    `json:"to"`
	Why  string    `json:"why"`
}

// Move moves a file or folder of the data folder to lost+found, under the first free name,
// and lists its former path and the reason.
func (f Folder) Move(d durable.Disk, path, why string) (Moved, error) {
	m, to, err := f.place(path, why)
	if err != nil {
		return Moved{}, err
	}
	return m, d.Rename(path, to)
}

// Keep does as Move, but the file keeps its former name, too.
func (f Folder) Keep(d durable.Disk, path, why string) (Moved, error) {
	m, to, err := f.place(path, why)
	if err != nil {
		return Moved{}, err
	}
	return m, d.Link(path, to)
}

// place lists a file or folder under its new path, to.
func (f Folder) place(path, why string) (m Moved, to string, err error) {
	from, err := filepath.Rel(f.data, path)
	if err != nil || !filepath.IsLocal(from) {
		return Moved{}, "", fmt.Errorf("%s is not in %s", path, f.data)
	}
	to = filepath.Join(f.Path(), from)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return Moved{}, "", durable.Full(err)
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
	return m, to, durable.Full(f.add(m))
}

// add appends a line to the list and flushes it.
func (f Folder) add(m Moved) (err error) {
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
