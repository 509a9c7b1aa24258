package db

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/bbolt"

	"thresher/internal/atomicfile"
)

// Salvaged describes what Salvage could read.
type Salvaged struct {
	Buckets, Keys int
	// Lost lists the first sixteen faults.
	Lost []string
}

// Salvage makes a database at to, which must not exist, from what can be read of the one at
// from, which is not changed. It uses the header from which most can be read; what depends on
// missing or damaged pages is lost, and values are copied completely or not at all. The
// caller ensures that from is not in use.
func Salvage(from, to string) (Salvaged, error) {
	f, err := os.Open(from)
	if err != nil {
		return Salvaged{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Salvaged{}, err
	}
	var best Salvaged
	var keep *meta
	metas, err := readMetas(f)
	if err != nil {
		best.Lost = []string{err.Error()}
	}
	for i := range metas {
		s, err := survey(f, info.Size(), metas[i], nil)
		if err != nil {
			return Salvaged{}, err
		}
		switch {
		case keep == nil:
			best, keep = s, &metas[i]
		case len(best.Lost) > 0 && s.Keys > best.Keys:
			s.Lost = append(best.Lost, s.Lost...) // a header's pages are not overwritten during the next transaction
			best, keep = s, &metas[i]
		}
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
		_, err = survey(f, info.Size(), *keep, db)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return Salvaged{}, fmt.Errorf("%s: %w", to, err)
	}
	return best, w.Commit(false)
}

// mostLost bounds the list of faults.
const mostLost = 16

// batchKeys is the number of keys in a transaction of a copy.
const batchKeys = 10_000

// survey reads what is below a header, and copies it into db unless that is nil.
func survey(f *os.File, size int64, m meta, db *bbolt.DB) (s Salvaged, err error) {
	t, err := newTree(f, size, m)
	if err != nil {
		return Salvaged{Lost: []string{err.Error()}}, nil
	}
	t.broken = func(err error) error {
		if len(s.Lost) < mostLost {
			s.Lost = append(s.Lost, err.Error())
		}
		return nil
	}
	t.bucket = func([][]byte, uint64) error { s.Buckets++; return nil }
	t.found = func([][]byte, []byte, []byte) error { s.Keys++; return nil }
	if db == nil {
		return s, t.walk()
	}
	c := copier{db: db}
	t.bucket, t.found = c.bucket, c.found
	return s, errors.Join(t.walk(), c.commit())
}

// copier copies the contents of a tree.
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
	if err := c.enter(path); err != nil {
		return err
	}
	return c.at.SetSequence(sequence)
}

func (c *copier) found(path [][]byte, key, value []byte) error {
	if len(path) == 0 || len(key) == 0 {
		return nil // bbolt does not store such keys
	}
	if err := c.enter(path); err != nil {
		return err
	}
	return c.at.Put(bytes.Clone(key), bytes.Clone(value))
}
