package slates

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// The bucket "collections" has one bucket for each collection, which holds: settings; the
// model of all states; counts; slates by id, which begins with the time; states by user; logs
// by user and number; idempotency keys.
func collectionsBucket() []byte { return []byte("collections") }

const (
	settingsRecord = "settings"
	modelRecord    = "model"
	countsRecord   = "counts"
	slatesBucket   = "slates"
	statesBucket   = "states"
	logsBucket     = "logs"
	keysBucket     = "keys"
)

// records are the records of a collection in a transaction.
type records struct {
	name string
	*bbolt.Bucket
}

// findRecords returns the records of a collection, nil if there are none.
func findRecords(tx *bbolt.Tx, name string) *records {
	b := tx.Bucket(collectionsBucket()).Bucket([]byte(name))
	if b == nil {
		return nil
	}
	return &records{name, b}
}

// create returns the records of a collection, and creates them if needed.
func create(tx *bbolt.Tx, name string) (*records, error) {
	b, err := tx.Bucket(collectionsBucket()).CreateBucketIfNotExists([]byte(name))
	for _, sub := range []string{slatesBucket, statesBucket, logsBucket, keysBucket} {
		if err == nil {
			_, err = b.CreateBucketIfNotExists([]byte(sub))
		}
	}
	return &records{name, b}, err
}

// complete creates what is missing of the buckets of all collections, and returns their names.
func complete(tx *bbolt.Tx) (names []string, err error) {
	root, err := tx.CreateBucketIfNotExists(collectionsBucket())
	if err != nil {
		return nil, err
	}
	err = root.ForEachBucket(func(name []byte) error { names = append(names, string(name)); return nil })
	for _, name := range names {
		if err == nil {
			_, err = create(tx, name)
		}
	}
	return names, err
}

// CheckRecord is a store.CheckRecord of what can be made again: a damaged record of another kind
// stays, and is an error for those it concerns.
func CheckRecord(bucket string, key, value []byte) error {
	above, name, within := strings.Cut(bucket, "/") // the path is that of a collection's bucket, or of one in it
	switch {
	case within && strings.Contains(name, "/") && value == nil:
		return errors.New("it is a bucket")
	case value == nil:
		return nil
	case !within:
		return errors.New("it is not a bucket")
	case above == string(collectionsBucket()) && !strings.Contains(name, "/") && string(key) == countsRecord:
		_, err := unsealed(key, value)
		return err
	}
	return nil
}

func (r *records) sub(name string) *bbolt.Bucket { return r.Bucket.Bucket([]byte(name)) }

// model describes what all states of a collection have in common.
type model struct {
	dim    int
	lambda float64
}

// counts are the numbers of slates and of users with a state.
type counts struct{ slates, users int64 }

func (r *records) model() (m model, found bool, err error) {
	err = r.read(modelRecord, &found, func(in *reader) {
		m.dim, m.lambda = int(in.uvarint()), in.float()
	})
	return m, found, err
}

func (r *records) setModel(m model) error {
	key := []byte(modelRecord)
	b := binary.AppendUvarint([]byte{recordVersion}, uint64(m.dim))
	return r.Put(key, sealed(key, appendFloats(b, m.lambda)))
}

func (r *records) counts() (c counts, err error) {
	err = r.read(countsRecord, new(bool), func(in *reader) {
		c.slates, c.users = int64(in.uvarint()), int64(in.uvarint())
	})
	return c, err
}

func (r *records) setCounts(c counts) error {
	key := []byte(countsRecord)
	b := binary.AppendUvarint([]byte{recordVersion}, uint64(c.slates))
	return r.Put(key, sealed(key, binary.AppendUvarint(b, uint64(c.users))))
}

// settings returns the settings that were put, or the defaults.
func (r *records) settings() (*Settings, error) {
	var text string
	found := false
	if r != nil {
		if err := r.read(settingsRecord, &found, func(in *reader) { text = in.text() }); err != nil {
			return nil, err
		}
	}
	if !found {
		text = "{}"
	}
	s, err := DecodeSettings([]byte(text), 0)
	if err != nil {
		return nil, r.damaged(settingsRecord, err)
	}
	return s, nil
}

func (r *records) setSettings(text []byte) error {
	key := []byte(settingsRecord)
	return r.Put(key, sealed(key, appendText([]byte{recordVersion}, string(text))))
}

// read reads one of the records that exist once in a collection.
func (r *records) read(name string, found *bool, take func(*reader)) error {
	text := r.Get([]byte(name))
	if *found = text != nil; !*found {
		return nil
	}
	in, err := unsealed([]byte(name), text)
	if err == nil {
		take(in)
		err = in.end()
	}
	if err != nil {
		return r.damaged(name, err)
	}
	return nil
}

// damaged returns the error of a record that cannot be read.
func (r *records) damaged(what string, err error) error {
	return fmt.Errorf("slates of collection %s: record of %s: %v", r.name, what, err)
}

// slate reads a slate issued after a time.
func (r *records) slate(id string, after time.Time) (*issuedSlate, error) {
	unknown := problem.New(UnknownSlate, "slate %q does not exist or has expired", jsonbody.Clip(id)).In("slate_id")
	if r == nil {
		return nil, unknown
	}
	text := r.sub(slatesBucket).Get([]byte(id))
	if text == nil {
		return nil, unknown
	}
	h := &issuedSlate{}
	if err := h.decode([]byte(id), text); err != nil {
		return nil, r.damaged("slate "+id, err)
	}
	if h.at.Before(after) {
		return nil, unknown
	}
	return h, nil
}

func (r *records) setSlate(id string, h *issuedSlate) error {
	return r.sub(slatesBucket).Put([]byte(id), h.encode([]byte(id)))
}

const slatePrefix = "slate-"

// newSlateID returns an id that cannot be guessed and that sorts after those of earlier
// milliseconds.
func newSlateID(at time.Time) string {
	b := make([]byte, 10)
	rand.Read(b) // never fails
	return slateTime(at) + hex.EncodeToString(b)
}

// slateTime is the prefix of the ids of slates of a time.
func slateTime(at time.Time) string { return fmt.Sprintf("%s%012x", slatePrefix, at.UnixMilli()) }

// logKey is the key of feedback number seq of a user; seq 0 sorts before all.
func logKey(user string, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(appendText(nil, user), seq)
}

// logOf visits the log of a user after a number, in order.
func (r *records) logOf(user string, behind uint64, visit func(seq uint64, key []byte, f *feedback) error) error {
	prefix := appendText(nil, user)
	c := r.sub(logsBucket).Cursor()
	for k, v := c.Seek(logKey(user, behind+1)); len(k) == len(prefix)+8 && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		seq := binary.BigEndian.Uint64(k[len(prefix):])
		if behind++; seq != behind {
			return r.damaged(fmt.Sprintf("feedback %d of user %q", behind, jsonbody.Clip(user)), errors.New("it is missing"))
		}
		var f feedback
		if err := f.decode(k, v); err != nil {
			return r.damaged(fmt.Sprintf("feedback %d of user %q", seq, jsonbody.Clip(user)), err)
		}
		if err := visit(seq, k, &f); err != nil {
			return err
		}
	}
	return nil
}
