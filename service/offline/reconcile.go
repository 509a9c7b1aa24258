package offline

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thresher/store"
)

// Found returns what Open found.
func (m *Manager) Found() store.Found { return m.found }

// reconcile compares the folder with the database: a batch that the database does not know is
// recorded from its note, and so is the end of a batch that the database records as
// unfinished. Folders of batches without a note are moved to lost+found.
func (m *Manager) reconcile() error {
	known := map[string]*record{}
	if err := m.ledger.each(func(rec *record) error { known[rec.Batch.ID] = rec; return nil }); err != nil {
		return err
	}
	notes, folders, err := m.list()
	if err == nil {
		err = m.o.disk.Sweep(m.dir, func(name string) bool { return !store.Unfinished(name, idPrefix) })
	}
	if err != nil {
		return err
	}
	for id, rec := range known {
		if !slices.Contains(notes, id) {
			if err := m.ledger.putNote(rec); err != nil {
				return err
			}
		}
	}
	var strange []*record
	for _, id := range notes {
		rec, err := m.ledger.readNote(id)
		switch was := known[id]; {
		case err != nil && was != nil:
			m.o.Log.Warn("a damaged note was written again", "batch", id, "reason", err)
			err = m.ledger.putNote(was)
		case err != nil:
			err = m.moveToLostFound(id+noteSuffix, err.Error())
		case was == nil:
			known[id] = rec
			strange = append(strange, rec)
		case rec.Batch.Status.Final() && !was.Batch.Status.Final(): // the database is older
			rec.Seq = was.Seq
			err = m.ledger.save(rec)
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(strange, func(a, b *record) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Batch.CreatedAt, b.Batch.CreatedAt))
	})
	for _, rec := range strange {
		if err := m.adopt(rec); err != nil {
			return err
		}
	}
	for _, id := range folders {
		if known[id] == nil {
			if err := m.moveToLostFound(id, "the folder of a batch that the database does not know"); err != nil {
				return err
			}
		}
	}
	return nil
}

// list lists the batches with notes and those with folders.
func (m *Manager) list() (notes, folders []string, err error) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		id, noted := strings.CutSuffix(e.Name(), noteSuffix)
		switch {
		case !strings.HasPrefix(e.Name(), idPrefix):
		case noted && e.Type().IsRegular():
			notes = append(notes, id)
		case e.IsDir():
			folders = append(folders, e.Name())
		}
	}
	return notes, folders, nil
}

// adopt records a batch described by its note. An unfinished batch continues if what it needs
// still exists; otherwise it has failed, and its folder is kept.
func (m *Manager) adopt(rec *record) error {
	id := rec.Batch.ID
	if !rec.Batch.Status.Final() {
		if err := m.regain(rec); err != nil {
			rec.Batch.Status, rec.Batch.Errors = Failed, listed(err)
			now := m.o.Now().Unix()
			rec.Batch.FailedAt = &now
			m.o.Log.Error("a restored batch cannot continue", "batch", id, "error", err)
			if err := errors.Join(m.releaseInputs(id), m.moveToLostFound(id, "of a batch that cannot go on: "+err.Error())); err != nil {
				return err
			}
		}
	}
	if err := m.ledger.insert(rec); err != nil {
		return err
	}
	m.found.Adopted = append(m.found.Adopted, id)
	m.o.Log.Warn("a batch missing from the database was restored", "batch", id, "status", rec.Batch.Status)
	return m.ledger.putNote(rec)
}

// regain holds and pins what a batch needs.
func (m *Manager) regain(rec *record) error {
	if err := m.hold(rec); err != nil {
		return err
	}
	for _, p := range rec.Batch.Collections {
		if err := m.library.pinAgain(p.Name, p.Version, rec.Batch.ID); err != nil {
			return err
		}
	}
	return nil
}

// moveToLostFound moves a file or folder to lost+found, if it exists.
func (m *Manager) moveToLostFound(name, why string) error {
	return m.found.Move(m.o.disk, m.o.Log, filepath.Join(m.dir, name), why)
}
