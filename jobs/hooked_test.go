package jobs

import "errors"

// hooked calls hook at every step of a storage. An error from hook replaces the step's own;
// the steps "wrote half", "saved" and "created" come after something was done, for errors
// that strike late.
type hooked struct {
	storage
	hook func(op, path string) error
}

func (h hooked) exists(path string) (bool, error) {
	if err := h.hook("exists", path); err != nil {
		return false, err
	}
	return h.storage.exists(path)
}

func (h hooked) output(path string, flag int) (file, error) {
	if err := h.hook("output", path); err != nil {
		return nil, err
	}
	f, err := h.storage.output(path, flag)
	return hookedFile{f, path, h.hook}, err
}

func (h hooked) create(path string, s state, replace bool) error {
	if err := h.hook("create", path); err != nil {
		return err
	}
	return errors.Join(h.storage.create(path, s, replace), h.hook("created", path))
}

func (h hooked) open(path string) (journal, state, error) {
	if err := h.hook("open", path); err != nil {
		return nil, state{}, err
	}
	j, s, err := h.storage.open(path)
	return hookedJournal{j, path, h.hook}, s, err
}

func (h hooked) remove(path string) error {
	if err := h.hook("remove", path); err != nil {
		return err
	}
	return h.storage.remove(path)
}

type hookedFile struct {
	file
	path string
	hook func(op, path string) error
}

func (f hookedFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.hook("write", f.path); err != nil {
		return 0, err
	}
	half := len(p) / 2
	n, err := f.file.WriteAt(p[:half], off)
	if err == nil {
		err = f.hook("wrote half", f.path)
	}
	if err != nil {
		return n, err
	}
	m, err := f.file.WriteAt(p[half:], off+int64(half))
	return n + m, err
}

func (f hookedFile) Truncate(size int64) error {
	if err := f.hook("truncate", f.path); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

func (f hookedFile) Sync() error {
	if err := f.hook("sync", f.path); err != nil {
		return err
	}
	return f.file.Sync()
}

type hookedJournal struct {
	journal
	path string
	hook func(op, path string) error
}

func (j hookedJournal) save(s state) error {
	if err := j.hook("save", j.path); err != nil {
		return err
	}
	return errors.Join(j.journal.save(s), j.hook("saved", j.path))
}
