package files

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
	"thresher/store"
)

// The bucket "files" holds: records by id; the order, ids by an increasing number;
// idempotency keys; holds by id and owner, and by owner and id.
const (
	rootBucket    = "files"
	recordsBucket = "records"
	orderBucket   = "order"
	keysBucket    = "keys"
	holdsBucket   = "holds"
	ownersBucket  = "owners"
)

// record is a File in the database, and its position in the order.
type record struct {
	File
	Number uint64 `json:"number"`
}

// Schema is that of the files' records.
func Schema() store.Schema {
	return store.Schema{Root: rootBucket, Buckets: []store.Entries{
		{Name: recordsBucket, Check: checkFile}, {Name: orderBucket, Check: checkPlace}, {Name: keysBucket, Check: store.CheckKey},
		{Name: holdsBucket, Check: checkHold}, {Name: ownersBucket, Check: checkOwner},
	}}
}

// bucket returns one of the buckets of the schema.
func bucket(tx *bbolt.Tx, name string) *bbolt.Bucket {
	return store.Bucket(tx, rootBucket, name)
}

// These return what is wrong with an entry of the bucket of that name.

func checkFile(key, text []byte) error {
	r, err := readRecord(key, text)
	if err == nil && r.ID != string(key) {
		err = fmt.Errorf("it is that of %q", r.ID)
	}
	return err
}

func checkPlace(key, id []byte) error {
	if !store.IsNumber(key) || !validID(id) {
		return errors.New("it names no file")
	}
	return nil
}

func checkHold(key, _ []byte) error {
	if id, owner, _ := store.CutKey(key); !validID(id) || !store.Plain(owner) {
		return errors.New("it names no file and owner")
	}
	return nil
}

func checkOwner(key, _ []byte) error {
	if owner, id, _ := store.CutKey(key); !validID(id) || !store.Plain(owner) {
		return errors.New("it names no owner and file")
	}
	return nil
}

// validID reports whether an id has the form of those of files.
func validID(id []byte) bool {
	return bytes.HasPrefix(id, []byte(idPrefix)) && store.Plain(id)
}

// readRecord reads the record of a file of this id.
func readRecord(id, text []byte) (r record, err error) {
	return r, store.ReadJSON("file "+string(id), text, &r)
}

// eachRecord visits the records of all files.
func eachRecord(tx *bbolt.Tx) iter.Seq2[record, error] {
	return store.Each(bucket(tx, recordsBucket), readRecord)
}

// arrange makes the order agree with the records, and returns the places in it of files that have
// no record, which are free from then on.
func arrange(tx *bbolt.Tx) (free map[string]uint64, err error) {
	order := bucket(tx, orderBucket)
	last := order.Sequence()
	ids := map[string]string{} // by the key of the place
	for r, err := range eachRecord(tx) {
		if err != nil {
			return nil, err
		}
		ids[string(store.Key(r.Number))] = r.ID
		last = max(last, r.Number)
	}
	free = map[string]uint64{}
	var stale [][]byte
	err = order.ForEach(func(at, id []byte) error {
		switch {
		case ids[string(at)] == string(id):
			delete(ids, string(at))
			return nil
		case !hasRecord(tx, string(id)):
			free[string(id)] = store.Number(at)
		}
		stale = append(stale, bytes.Clone(at))
		return nil
	})
	for _, at := range stale {
		err = errors.Join(err, order.Delete(at))
	}
	for at, id := range ids {
		err = errors.Join(err, order.Put([]byte(at), []byte(id)))
	}
	if last > order.Sequence() {
		err = errors.Join(err, order.SetSequence(last))
	}
	return free, err
}

// orderKey returns the key of a file in the order.
func orderKey(tx *bbolt.Tx, id string) ([]byte, error) {
	r, err := readRecord([]byte(id), bucket(tx, recordsBucket).Get([]byte(id)))
	return store.Key(r.Number), err
}

func getRecord(tx *bbolt.Tx, id string) (File, error) {
	text := bucket(tx, recordsBucket).Get([]byte(id))
	if text == nil {
		return File{}, Unknown(id)
	}
	r, err := readRecord([]byte(id), text)
	return r.File, err
}

// Unknown returns the problem of a file that does not exist.
func Unknown(id string) *problem.Problem {
	return problem.New(problem.UnknownFile, "there is no file %q", id).In("file_id")
}

// hasRecord reports whether a file of this id exists.
func hasRecord(tx *bbolt.Tx, id string) bool { return bucket(tx, recordsBucket).Get([]byte(id)) != nil }

// putRecord records a new file at a place of the order, 0 for the newest.
func putRecord(tx *bbolt.Tx, f File, n uint64) (text []byte, err error) {
	order := bucket(tx, orderBucket)
	if n == 0 || order.Get(store.Key(n)) != nil {
		if n, err = order.NextSequence(); err != nil {
			return nil, err
		}
	}
	if text, err = store.Seal(record{f, n}); err != nil {
		return nil, err
	}
	return text, errors.Join(order.Put(store.Key(n), []byte(f.ID)), bucket(tx, recordsBucket).Put([]byte(f.ID), text))
}

func removeRecord(tx *bbolt.Tx, id string) error {
	at, err := orderKey(tx, id)
	if err != nil {
		return err
	}
	return errors.Join(bucket(tx, orderBucket).Delete(at), bucket(tx, recordsBucket).Delete([]byte(id)))
}

// holderOf returns an owner that holds a file, or "".
func holderOf(tx *bbolt.Tx, id string) string {
	prefix := store.JoinKey(id, "")
	k, _ := bucket(tx, holdsBucket).Cursor().Seek(prefix)
	owner, ok := bytes.CutPrefix(k, prefix)
	if !ok {
		return ""
	}
	return string(owner)
}

// refuseHeld refuses a change of a file that is held.
func refuseHeld(tx *bbolt.Tx, id string) error {
	if owner := holderOf(tx, id); owner != "" {
		return problem.New(problem.Conflict, "file %s is in use by %s", id, owner).In("file_id")
	}
	return nil
}
