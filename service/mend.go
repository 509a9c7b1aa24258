package service

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"thresher/store"
)

// A database is an index of what lies in the data folder, where each thing has a note of its own.
// So damage of a database never keeps a server from starting: the database is kept in lost+found
// and rebuilt from what can be read of it, and what its parts then find in the folder is added.

// MendedDatabase is a damaged database that was rebuilt from what could be read of it.
type MendedDatabase struct {
	Name    string   `json:"name"`
	MovedTo string   `json:"moved_to"` // the damaged file
	Buckets int      `json:"buckets"`
	Keys    int      `json:"keys"`
	Lost    []string `json:"lost"` // what was damaged
}

// topLevel is a store.CheckRecord: outside of the buckets there is nothing.
func topLevel(bucket string, _, value []byte) error {
	if bucket == "" && value != nil {
		return errors.New("it is not a bucket")
	}
	return nil
}

// mending opens a database by open, and if that finds it damaged once more after mending it. What
// was mended is nil if nothing was.
func (x Extensions) mending(dir, name string, log *slog.Logger, open func() error) (*MendedDatabase, error) {
	err := open()
	var d *store.Damaged
	if !errors.As(err, &d) {
		return nil, err
	}
	m, err := x.mend(dir, name, log)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%s), and another could not be made: %w", d.Path, d.Faults[0], err)
	}
	return m, open()
}

// mend rebuilds a damaged database.
func (x Extensions) mend(dir, name string, log *slog.Logger) (*MendedDatabase, error) {
	path := filepath.Join(dir, name)
	m := &MendedDatabase{Name: name}
	s, err := store.Mend(path, func(d *store.Damaged) error {
		kept, err := store.LostFoundOf(dir).Keep(store.Disk{}, path, "damaged: "+d.Faults[0])
		m.MovedTo = kept.To
		return err
	}, x.checksOf(name)...)
	if err != nil || s == nil {
		return nil, err
	}
	m.Buckets, m.Keys, m.Lost = s.Buckets, s.Keys, s.Lost
	log.Error("a database was damaged: it was rebuilt from what can be read of it", "database", name, "kept", m.MovedTo, "keys", m.Keys, "faults", len(m.Lost))
	for _, fault := range m.Lost {
		log.Error("a part of a database was damaged", "database", name, "part", fault)
	}
	return m, x.mended(name, path)
}
