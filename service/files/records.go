package files

import (
	"bytes"
	"encoding/json"
	"errors"

	"go.etcd.io/bbolt"

	"thresher/service/db"
	"thresher/service/problem"
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

func createBuckets(tx *bbolt.Tx) error {
	return db.CreateBuckets(tx, rootBucket, recordsBucket, orderBucket, keysBucket, holdsBucket, ownersBucket)
}

// bucket returns one of the buckets made by createBuckets.
func bucket(tx *bbolt.Tx, name string) *bbolt.Bucket {
	return db.Bucket(tx, rootBucket, name)
}

func eachFile(tx *bbolt.Tx, visit func(File)) error {
	return bucket(tx, recordsBucket).ForEach(func(id, text []byte) error {
		f, err := decode(string(id), text)
		if err == nil {
			visit(f)
		}
		return err
	})
}

// decode decodes the record of the named file.
func decode(name string, text []byte) (File, error) {
	var r record
	err := db.ReadJSON("file "+name, text, &r)
	return r.File, err
}

// orderKey returns the key of a file in the order.
func orderKey(tx *bbolt.Tx, id string) ([]byte, error) {
	var r record
	err := db.ReadJSON("file "+id, bucket(tx, recordsBucket).Get([]byte(id)), &r)
	return db.Key(r.Number), err
}

func getRecord(tx *bbolt.Tx, id string) (File, error) {
	text := bucket(tx, recordsBucket).Get([]byte(id))
	if text == nil {
		return File{}, Unknown(id)
	}
	return decode(id, text)
}

// Unknown returns the problem of a file that does not exist.
func Unknown(id string) *problem.Problem {
	return problem.New(problem.UnknownFile, "there is no file %q", id).In("file_id")
}

// hasRecord reports whether a file of this id exists.
func hasRecord(tx *bbolt.Tx, id string) bool { return bucket(tx, recordsBucket).Get([]byte(id)) != nil }

// putRecord records a new file as the newest.
func putRecord(tx *bbolt.Tx, f File) (text []byte, err error) {
	order := bucket(tx, orderBucket)
	n, err := order.NextSequence()
	if err != nil {
		return nil, err
	}
	if text, err = json.Marshal(record{f, n}); err != nil {
		return nil, err
	}
	return text, errors.Join(order.Put(db.Key(n), []byte(f.ID)), bucket(tx, recordsBucket).Put([]byte(f.ID), text))
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
	prefix := db.JoinKey(id, "")
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
