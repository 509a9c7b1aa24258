package command

import (
	"encoding/csv"
	"io"
	"os"

	"thresher/internal/cli"
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
		if err := o.createFile(); err != nil {
			return err
		}
	}
	if err := o.rows.Write(row); err != nil {
		return err
	}
	o.rows.Flush()
	return o.rows.Error()
}

func (o *rowFile) createFile() error {
	var w io.Writer = o.app.Out
	if o.path != cli.Stdio {
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
