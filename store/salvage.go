package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"thresher/internal/atomicfile"
)

// Salvaged describes what could be read of a damaged database.
type Salvaged struct {
	Buckets, Keys int
	// Lost lists the faults, at most maxFaults.
	Lost []string

	pages int // faults of pages, the others being of records
}

// maxFaults bounds the list of faults of a database.
const maxFaults = 1000

func (s *Salvaged) add(err error) {
	if len(s.Lost) < maxFaults {
		s.Lost = append(s.Lost, err.Error())
	}
}

// Mend replaces a damaged database by one made from what can be read of it, without records of
// which a check says that they are damaged. Before that it calls keep, which gives the file at
// path, unchanged until then, a second name. A process that dies meanwhile leaves the damaged
// database or the other one at path. The result is nil if the database is not damaged. A file
// that another process has open wraps ErrInUse.
func Mend(path string, keep func(*Damaged) error, checks ...CheckRecord) (*Salvaged, error) {
	f, info, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // which unlocks it once the other has its name
	var d *Damaged
	if err := checkFile(f, checks, true); !errors.As(err, &d) {
		return nil, err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(err, fmt.Errorf("%s is %w, which has just mended it", path, ErrInUse))
	}
	if err := keep(d); err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new-*"))
	for _, unfinished := range left { // by a process that died
		err = errors.Join(err, os.Remove(unfinished))
	}
	if err != nil {
		return nil, err
	}
	s, err := salvage(f, info.Size(), path, checks)
	return &s, err
}

// Salvage makes a database at to from what can be read of the one at from, which is not changed. An
// error wraps ErrInUse if another process has that open.
func Salvage(from, to string) (Salvaged, error) {
	f, info, err := openLocked(from)
	if err != nil {
		return Salvaged{}, err
	}
	defer f.Close()
	return salvage(f, info.Size(), to, nil)
}

// salvage makes a database at to from what can be read of f, and replaces what is there. It uses
// the header from which most can be read; what depends on missing or damaged pages is lost, and
// values are copied completely or not at all.
func salvage(f *os.File, size int64, to string, checks []CheckRecord) (Salvaged, error) {
	best := Salvaged{}
	var keep *meta
	metas, err := readMetas(f)
	if err != nil {
		best.add(err)
	}
	for i := range metas {
		s, err := survey(f, size, metas[i], checks, nil)
		if err != nil {
			return Salvaged{}, err
		}
		switch {
		case keep == nil:
			best, keep = s, &metas[i]
		case best.pages > 0 && s.Keys > best.Keys:
			s.Lost = append(best.Lost, s.Lost...) // a header's pages are not overwritten during the next transaction
			best, keep = s, &metas[i]
		}
	}
	if lost := lostHeader(metas); lost != nil {
		best.add(lost)
	}
	w, err := atomicfile.Create(to, 0o600)
	if err != nil {
		return Salvaged{}, err
	}
	defer w.Discard()
	db, err := bbolt.Open(w.Name(), 0o600, &bbolt.Options{NoSync: true, NoGrowSync: true})
	if err != nil {
		return Salvaged{}, err
	}
	if keep != nil {
		_, err = survey(f, size, *keep, checks, db)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return Salvaged{}, fmt.Errorf("%s: %w", to, err)
	}
	return best, w.Commit(true)
}

// batchKeys is the number of keys in a transaction of a copy.
const batchKeys = 10_000

// survey reads what is below a header, and copies it into db unless that is nil.
func survey(f *os.File, size int64, m meta, checks []CheckRecord, db *bbolt.DB) (s Salvaged, err error) {
	t, err := newTree(f, size, m)
	if err != nil {
		s.pages++
		s.add(err)
		return s, nil
	}
	c := copier{db: db}
	s.read(t, checks, &c)
	return s, errors.Join(t.walk(), c.commit())
}

// read makes the walk of t count in s what it finds, and copy it by c.
func (s *Salvaged) read(t *tree, checks []CheckRecord, c *copier) {
	t.broken = func(err error) error {
		s.pages++
		s.add(err)
		return nil
	}
	whole := func(path [][]byte, key, value []byte) bool {
		bucket := string(bytes.Join(path, []byte("/")))
		for _, check := range checks {
			if err := check(bucket, key, value); err != nil {
				s.add(fmt.Errorf("%s %q: %w", bucket, key, err))
				return false
			}
		}
		return true
	}
	t.bucket = func(path [][]byte, sequence uint64) error {
		if last := len(path) - 1; !whole(path[:last], path[last], nil) {
			return errSkip
		}
		s.Buckets++
		return c.bucket(path, sequence)
	}
	t.found = func(path [][]byte, key, value []byte) error {
		if !whole(path, key, value) {
			return nil
		}
		s.Keys++
		return c.found(path, key, value)
	}
}

// copier copies the contents of a tree into db, unless that is nil.
type copier struct {
	db *bbolt.DB
	tx *bbolt.Tx
	n  int
	// at is the bucket of path, nil before the first.
	path [][]byte
	at   *bbolt.Bucket
}

func (c *copier) commit() error {
	if c.tx == nil {
		return nil
	}
	err := c.tx.Commit()
	c.tx, c.at, c.n = nil, nil, 0
	return err
}

// enter makes path, which is not empty, the current path and creates its buckets.
func (c *copier) enter(path [][]byte) (err error) {
	if c.n++; c.n > batchKeys {
		if err := c.commit(); err != nil {
			return err
		}
	}
	if c.tx == nil {
		if c.tx, err = c.db.Begin(true); err != nil {
			return err
		}
	}
	same := len(path) == len(c.path)
	for i := 0; same && i < len(path); i++ {
		same = bytes.Equal(path[i], c.path[i])
	}
	if c.at != nil && same {
		return nil
	}
	c.path = nil
	for i, name := range path {
		c.path = append(c.path, bytes.Clone(name))
		if i == 0 {
			c.at, err = c.tx.CreateBucketIfNotExists(c.path[0])
		} else {
			c.at, err = c.at.CreateBucketIfNotExists(c.path[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) bucket(path [][]byte, sequence uint64) error {
	if c.db == nil {
		return nil
	}
	if err := c.enter(path); err != nil {
		return err
	}
	return c.at.SetSequence(sequence)
}

func (c *copier) found(path [][]byte, key, value []byte) error {
	if c.db == nil || len(path) == 0 || len(key) == 0 {
		return nil // bbolt does not store such keys
	}
	if err := c.enter(path); err != nil {
		return err
	}
	return c.at.Put(bytes.Clone(key), bytes.Clone(value))
}
