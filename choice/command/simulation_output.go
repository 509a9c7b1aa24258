package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thresher/internal/cli"
	"thresher/internal/plot"
)

// simulationOutput is the files of a simulation: tables that get each point as it is
// done, and pictures that are drawn at the end.
type simulationOutput struct {
	tables   []*rowFile
	pictures []string
}

// newSimulationOutput sorts paths by their extensions; head is the tables' first row.
func newSimulationOutput(a *app, paths, head []string) *simulationOutput {
	o := &simulationOutput{}
	for _, path := range paths {
		if plot.Drawn(path) {
			o.pictures = append(o.pictures, path)
		} else {
			o.tables = append(o.tables, &rowFile{app: a, path: path, head: head})
		}
	}
	return o
}

func (o *simulationOutput) add(row []string) error {
	for _, t := range o.tables {
		if err := t.add(row); err != nil {
			return err
		}
	}
	return nil
}

// finish closes the tables and, unless the simulation ended with an error, draws the pictures.
func (o *simulationOutput) finish(err error, charts func() []plot.Chart) error {
	for _, t := range o.tables {
		err = errors.Join(err, t.close())
	}
	for _, path := range o.pictures {
		if err == nil {
			err = plot.Write(path, charts()...)
		}
	}
	return err
}

// refuseOutputs checks in advance that the results of a long run can be written.
func refuseOutputs(force bool, paths []string) error {
	for i, path := range paths {
		if slices.ContainsFunc(paths[:i], func(other string) bool { return filepath.Clean(other) == filepath.Clean(path) }) {
			return fmt.Errorf("--out %s is given twice", path)
		}
		if path == cli.Stdio {
			continue
		}
		if end := strings.ToLower(filepath.Ext(path)); slices.Contains(otherPictures(), end) {
			return fmt.Errorf("--out %s: figures end in .png or .svg, not in %s", path, end)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return fmt.Errorf("--out %s: there is no folder %s", path, filepath.Dir(path))
		}
		if err := cli.RefuseExisting(force, path); err != nil {
			return err
		}
	}
	return nil
}

// otherPictures lists picture extensions that are no names of tables.
func otherPictures() []string {
	return []string{".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp", ".pdf", ".eps", ".ps"}
}
