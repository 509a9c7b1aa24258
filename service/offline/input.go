package offline

import (
	"os"
	"path/filepath"

	"thresher/dataset"
	"thresher/service/files"
)

// inputName returns the name of the link to the input, with the extension of its format.
func (rec *record) inputName() string {
	name := "input"
	format, zipped := dataset.FormatOf(rec.InputName)
	if rec.Matrix && format != dataset.Unknown {
		name += format.Extension()
		if zipped {
			name += ".gz"
		}
	}
	return name
}

// excludeLink and candidatesLink return the names of the links to the files of lists.
func (rec *record) excludeLink() string    { return "exclude" + files.Suffix(rec.ExcludeName) }
func (rec *record) candidatesLink() string { return "candidates" + files.Suffix(rec.CandidatesName) }

// listFile is a file of lists that a batch names.
type listFile struct {
	id    string
	name  *string // the client's
	field string  // of the Spec
	link  func() string
}

// lists returns the files of lists of the batch.
func (rec *record) lists() []listFile {
	var all []listFile
	if g := rec.Batch.Goals; g != nil && g.ExcludeFileID != "" {
		all = append(all, listFile{g.ExcludeFileID, &rec.ExcludeName, excludeField, rec.excludeLink})
	}
	if g := rec.Batch.Goals; g != nil && g.CandidatesFileID != "" {
		all = append(all, listFile{g.CandidatesFileID, &rec.CandidatesName, candidatesField, rec.candidatesLink})
	}
	return all
}

// link makes the folder of the batch, with links to its input and its lists.
func (j *job) link(rec *record) error {
	path, _, err := j.m.store.Path(rec.Batch.InputFileID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(j.m.dir, j.id), 0o700); err != nil {
		return err
	}
	if err := j.m.o.disk.FlushFolder(j.m.dir); err != nil {
		return err
	}
	if err := j.linkInput(path, j.path(rec.inputName())); err != nil {
		return err
	}
	for _, l := range rec.lists() {
		path, _, err := j.m.store.Path(l.id)
		if err != nil {
			return err
		}
		if err := j.linkInput(path, j.path(l.link())); err != nil {
			return err
		}
	}
	return nil
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
