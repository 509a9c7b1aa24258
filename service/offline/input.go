package offline

import (
	"os"
	"path/filepath"

	"thresher/dataset"
)

// inputName returns the name of the link to the input, with the extension of its format.
func (rec *record) inputName() string {
	name := "input"
	format, zipped := dataset.FormatOf(rec.InputName)
	if rec.Matrix && format != dataset.Unknown {
		name += "." + extension(format)
		if zipped {
			name += ".gz"
		}
	}
	return name
}

// extension returns the file name extension of a format.
func extension(f dataset.Format) string {
	switch f {
	case dataset.Arrow:
		return "arrow"
	case dataset.ArrowStream:
		return "arrows"
	}
	return string(f)
}

// link makes the folder of the batch, with a link to its input.
func (j *job) link(rec *record) error {
	path, _, err := j.m.store.Path(rec.Batch.InputFileID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(j.m.dir, j.id), 0o755); err != nil {
		return err
	}
	if err := j.m.o.disk.FlushFolder(j.m.dir); err != nil {
		return err
	}
	return j.linkInput(path, j.path(rec.inputName()))
}

// linkInput gives the file at path a second name, unless it exists. Where hard links are not
// supported the file is copied; a file with the name is complete.
func (j *job) linkInput(path, input string) error {
	if _, err := os.Lstat(input); err == nil {
		return nil
	}
	disk := j.m.o.disk
	err := disk.At("link", input)
	if err == nil {
		err = os.Link(path, input)
	}
	if err == nil {
		return nil
	}
	part := j.path("input.part") // may be left over from a crash
	if err := disk.Remove(part); err != nil {
		return err
	}
	if err := disk.Copy(j.ctx, path, part); err != nil {
		return err
	}
	return disk.Rename(part, input)
}
