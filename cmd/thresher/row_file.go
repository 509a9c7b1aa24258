package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rowFile is a CSV file created with its first row; each row is written at once, because some
// take minutes to compute.
type rowFile struct {
	app  *app
	path string
	head []string
	file *os.File // nil for standard output
	rows *csv.Writer
}

func (o *rowFile) add(row []string) error {
	if o.rows == nil {
		if err := o.begin(); err != nil {
			return err
		}
	}
	if err := o.rows.Write(row); err != nil {
		return err
	}
	o.rows.Flush()
	return o.rows.Error()
}

func (o *rowFile) begin() error {
	var w io.Writer = o.app.out
	if o.path != stdio {
		f, err := os.Create(o.path)
		if err != nil {
			return err
		}
		o.file, w = f, f
	}
	o.rows = csv.NewWriter(w)
	return o.rows.Write(o.head)
}

func (o *rowFile) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// refuseOutputs checks in advance that the results of a long run can be written.
func refuseOutputs(force bool, paths []string) error {
	for i, path := range paths {
		if slices.ContainsFunc(paths[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(path) }) {
			return fmt.Errorf("--out %s is given twice", path)
		}
		if path == stdio {
			continue
		}
		if end := strings.ToLower(filepath.Ext(path)); slices.Contains(otherPictures(), end) {
			return fmt.Errorf("--out %s: figures end in .png or .svg, not in %s", path, end)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return fmt.Errorf("--out %s: there is no folder %s", path, filepath.Dir(path))
		}
		if err := refuseExisting(force, path); err != nil {
			return err
		}
	}
	return nil
}

// otherPictures lists picture extensions that are no names of tables.
func otherPictures() []string {
	return []string{".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".pdf", ".eps", ".ps"}
}
