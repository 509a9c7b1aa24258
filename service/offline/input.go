package offline

import (
	"os"
	"path/filepath"

	"thresher/dataset"
)

// inputName is the link to the input, with the extension that tells its format.
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

// extension is one that dataset.FormatOf tells f by.
func extension(f dataset.Format) string {
	switch f {
	case dataset.Arrow:
		return "arrow"
	case dataset.ArrowStream:
		return "arrows"
	}
	return string(f)
}

// link makes the folder of the batch with its input in it.
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

// linkInput gives the file at path a second name, unless it has it. Where there are no
// links it is copied; what has the name is complete.
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
	part := j.path("input.part") // may be there since a crash
	if err := disk.Remove(part); err != nil {
		return err
	}
	if err := disk.Copy(j.ctx, path, part); err != nil {
		return err
	}
	return disk.Rename(part, input)
}
