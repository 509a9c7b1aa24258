package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Lost is the folder of what nobody knows and nobody removes. What was moved there is
// listed in its file ListName.
type Lost struct {
	Dir string
	// Data is the folder that names in the list are relative to.
	Data string
}

// LostBeside is the Lost of the data folder that dir lies in.
func LostBeside(dir string) Lost {
	data := filepath.Dir(dir)
	return Lost{Dir: filepath.Join(data, "lost+found"), Data: data}
}

// ListName is the file of a Lost that has a line of JSON for each file.
const ListName = "list.jsonl"

// Kept is a line of the list.
type Kept struct {
	At   time.Time `json:"at"`
	From string    `json:"from"` // relative to the data folder, as is To
	To   string    `json:"to"`
	Why  string    `json:"why"`
}

// Keep moves a file or folder to the folder of what is lost, under the first name that is free, and
// says in the list where it was and why it was moved.
func (d Disk) Keep(l Lost, path, why string) (Kept, error) {
	from, err := filepath.Rel(l.Data, path)
	if err != nil || !filepath.IsLocal(from) {
		return Kept{}, fmt.Errorf("%s is not in %s", path, l.Data)
	}
	to := filepath.Join(l.Dir, from)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return Kept{}, Full(err)
	}
	for n := 1; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return Kept{}, err
		}
		to = fmt.Sprintf("%s.%d", filepath.Join(l.Dir, from), n)
	}
	k := Kept{At: time.Now().UTC(), From: from, Why: why}
	if k.To, err = filepath.Rel(l.Data, to); err != nil {
		return Kept{}, err
	}
	// First the list: what it names too early is found where it says it was.
	if err := l.add(k); err != nil {
		return Kept{}, Full(err)
	}
	return k, d.Rename(path, to)
}

func (l Lost) add(k Kept) (err error) {
	line, err := json.Marshal(k)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(l.Dir, ListName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	return f.Sync()
}
