package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/store"
)

const (
	// formatName is the file of a data folder that states the folder's format. A folder without it is of format 1.
	formatName = "format.json"
	// format is that of the folders which this program writes. It rises with a change that makes an older program lose or
	// misread something.
	format = 1
)

// folderFormat is the content of formatName.
type folderFormat struct {
	Format int `json:"format"`
	// Program is the version of the program that gave the folder this format.
	Program string `json:"program"`
}

// NewerFormatError is the error of opening a data folder that a newer program wrote.
type NewerFormatError struct {
	Dir     string
	Format  int
	Program string // the version that wrote it
}

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("data folder %s has format %d, written by thresher %s; this program reads formats up to %d: use that version or a newer one, or a copy of the folder from before the upgrade",
		e.Dir, e.Format, e.Program, format)
}

// checkFormat returns a *NewerFormatError if a data folder is of a format that this program does not know, and whether the
// folder states its format.
func checkFormat(dir string) (stated bool, err error) {
	path := filepath.Join(dir, formatName)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	const longest = 4096
	text, err := io.ReadAll(io.LimitReader(file, longest))
	if err != nil {
		return false, err
	}
	var f folderFormat
	if err := json.Unmarshal(text, &f); err != nil || f.Format < 1 {
		return false, fmt.Errorf("%s does not state a format (%q): restore it from a copy, or remove it if no newer thresher has used the folder", path, text[:min(len(text), 80)])
	}
	if f.Format > format {
		return true, &NewerFormatError{dir, f.Format, f.Program}
	}
	return true, nil
}

// stateFormat writes the format of a data folder that does not state one, and that no other server has open.
func stateFormat(dir, program string) error {
	if stated, err := checkFormat(dir); stated || err != nil {
		return err
	}
	text, err := json.Marshal(folderFormat{format, program})
	if err != nil {
		return err
	}
	var disk store.Disk
	path := filepath.Join(dir, formatName)
	err = disk.Remove(path + ".next") // the file's name before it was complete, in earlier releases
	if err == nil {
		err = disk.Replace(path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	return nil
}
