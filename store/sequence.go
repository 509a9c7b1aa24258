package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"

	"go.etcd.io/bbolt"
)

// Key encodes a number as a key. Keys sort as their numbers do.
func Key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Number decodes a Key.
func Number(key []byte) uint64 { return binary.BigEndian.Uint64(key) }

// Sequence holds records in the order of their creation, numbered from 1: Records has them by
// number, IDs their numbers by id. It is valid for the transaction.
type Sequence struct{ Records, IDs *bbolt.Bucket }

// CheckID returns what is wrong with an entry of a bucket of IDs.
func CheckID(id, number []byte) error {
	if !Plain(id) || !IsNumber(number) {
		return errors.New("it names no record")
	}
	return nil
}

// Next returns the number of the next record.
func (s Sequence) Next() uint64 { return s.Records.Sequence() + 1 }

// Put adds or replaces the record of that number and id.
func (s Sequence) Put(n uint64, id string, text []byte) error {
	return errors.Join(
		s.Records.SetSequence(max(s.Records.Sequence(), n)),
		s.Records.Put(Key(n), text),
		s.IDs.Put([]byte(id), Key(n)))
}

// Get returns the record of an id, nil if there is none.
func (s Sequence) Get(id string) []byte {
	n := s.IDs.Get([]byte(id))
	if n == nil {
		return nil
	}
	return s.Records.Get(n)
}

// Remove deletes the record of that number and id.
func (s Sequence) Remove(n uint64, id string) error {
	return errors.Join(s.Records.Delete(Key(n)), s.IDs.Delete([]byte(id)))
}

// Before iterates over the records created before the record of an id, newest first; over all
// for the id "". found is false if there is no record of that id.
func (s Sequence) Before(id string) (entries iter.Seq2[[]byte, []byte], found bool) {
	if id == "" {
		return Backward(s.Records, nil), true
	}
	n := s.IDs.Get([]byte(id))
	return Backward(s.Records, n), n != nil
}

// Reindex makes IDs and the sequence number agree with the records, whose numbers and ids read
// tells. A record that lies under another number than its own is moved, if its own is free. A
// record that read cannot read keeps its place, and its id.
func (s Sequence) Reindex(read func(text []byte) (n uint64, id string, err error)) error {
	type move struct{ from, to, text []byte }
	var moves []move
	ids, unread := map[string][]byte{}, map[string]bool{}
	last := s.Records.Sequence()
	err := s.Records.ForEach(func(at, text []byte) error {
		n, id, err := read(text)
		own := Key(n)
		switch {
		case err != nil:
			unread[string(at)] = true
			return nil
		case bytes.Equal(own, at):
		case s.Records.Get(own) == nil:
			moves = append(moves, move{bytes.Clone(at), own, bytes.Clone(text)})
		default:
			own = bytes.Clone(at)
		}
		last = max(last, n)
		ids[id] = own
		return nil
	})
	for _, m := range moves {
		err = errors.Join(err, s.Records.Delete(m.from), s.Records.Put(m.to, m.text))
	}
	if last > s.Records.Sequence() {
		err = errors.Join(err, s.Records.SetSequence(last))
	}
	return errors.Join(err, s.reindex(ids, unread))
}

// reindex makes IDs hold ids, and those that it holds of numbers which are unread.
func (s Sequence) reindex(ids map[string][]byte, unread map[string]bool) error {
	var stale [][]byte
	err := s.IDs.ForEach(func(id, at []byte) error {
		switch {
		case bytes.Equal(ids[string(id)], at):
			delete(ids, string(id))
		case !unread[string(at)]:
			stale = append(stale, bytes.Clone(id))
		}
		return nil
	})
	for _, id := range stale {
		err = errors.Join(err, s.IDs.Delete(id))
	}
	for id, at := range ids {
		err = errors.Join(err, s.IDs.Put([]byte(id), at))
	}
	return err
}

// Backward iterates over the entries of a bucket before a key, last first; over all of them
// if the key is nil.
func Backward(b *bbolt.Bucket, before []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := b.Cursor()
		k, v := c.Last()
		if before != nil {
			c.Seek(before)
			k, v = c.Prev()
		}
		for ; k != nil && yield(k, v); k, v = c.Prev() {
		}
	}
}
