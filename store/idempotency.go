package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// KeepKeys is how long an idempotency key is remembered.
const KeepKeys = 24 * time.Hour

// keyRecord is the record of an idempotency key.
type keyRecord struct {
	Fingerprint string    `json:"fingerprint"`
	Value       []byte    `json:"value"`
	At          time.Time `json:"at"`
}

// KeyReusedError says that an idempotency key was used for another request.
type KeyReusedError struct{ At time.Time } // when it was

func (e *KeyReusedError) Error() string {
	return "the key was used for another request at " + e.At.UTC().Format(time.RFC3339)
}

// A bucket of idempotency keys has two entries for each key: 'k' and the key holds the
// keyRecord; 't', the time in nanoseconds and the key holds nothing, and serves to remove old
// keys, oldest first.

// FindKey returns the value recorded under an idempotency key, and whether there is one that is not
// older than KeepKeys now; the zero time finds a key of any age. A key recorded with another
// fingerprint is a *KeyReusedError. The key "" means that the client sent none and is never
// found; b may be nil.
func FindKey(b *bbolt.Bucket, key, fingerprint string, now time.Time) (value []byte, found bool, err error) {
	if b == nil || key == "" {
		return nil, false, nil
	}
	text := b.Get(append([]byte{'k'}, key...))
	if text == nil {
		return nil, false, nil
	}
	var r keyRecord
	if err := readKey(key, text, &r); err != nil {
		return nil, false, err
	}
	if found, err = MatchKey(r.At, r.Fingerprint, fingerprint, now); !found { // the next PutKey removes an old one
		return nil, false, err
	}
	return r.Value, true, nil
}

// MatchKey reports whether an idempotency key that was used at a time, with a fingerprint that was recorded, is remembered now.
// If it is, and the fingerprint is another, that is a *KeyReusedError.
func MatchKey(at time.Time, recorded, fingerprint string, now time.Time) (found bool, err error) {
	if at.Before(now.Add(-KeepKeys)) {
		return false, nil
	}
	if recorded != fingerprint {
		return false, &KeyReusedError{at}
	}
	return true, nil
}

// AdoptKey records a value under an idempotency key that was used at a time, as another place has it, unless it is older than KeepKeys now or was
// used since.
func AdoptKey(b *bbolt.Bucket, key, fingerprint string, value []byte, at, now time.Time) error {
	if at.Before(now.Add(-KeepKeys)) {
		return nil
	}
	if text := b.Get(append([]byte{'k'}, key...)); text != nil {
		var r keyRecord
		if err := readKey(key, text, &r); err != nil {
			return err
		}
		if r.At.After(at) {
			return nil
		}
	}
	return PutKey(b, key, fingerprint, value, at)
}

// PutKey records a value under an idempotency key, replacing an existing one, and removes
// keys older than KeepKeys. It belongs in the transaction that records the result, with a
// fingerprint of the request: a client that repeats the request after a lost answer or a
// crash then finds the first result. The key "" records nothing.
func PutKey(b *bbolt.Bucket, key, fingerprint string, value []byte, now time.Time) error {
	if key == "" {
		return nil
	}
	if err := forgetKeys(b, now.Add(-KeepKeys)); err != nil {
		return err
	}
	if former := b.Get(append([]byte{'k'}, key...)); former != nil {
		var r keyRecord
		if err := readKey(key, former, &r); err != nil {
			return err
		}
		if err := b.Delete(append(keyTime(r.At), key...)); err != nil {
			return err
		}
	}
	if err := PutJSON(b, append([]byte{'k'}, key...), keyRecord{fingerprint, value, now}); err != nil {
		return err
	}
	return b.Put(append(keyTime(now), key...), nil)
}

func readKey(key string, text []byte, r *keyRecord) error {
	return ReadJSON(fmt.Sprintf("idempotency key %q", key), text, r)
}

// CheckKey returns what is wrong with an entry of a bucket of idempotency keys.
func CheckKey(entry, value []byte) error {
	const timed = 1 + 8
	switch {
	case len(entry) > 1 && entry[0] == 'k' && bytes.IndexByte(entry, 0) < 0:
		return readKey(string(entry[1:]), value, &keyRecord{})
	case len(entry) > timed && entry[0] == 't' && bytes.IndexByte(entry[timed:], 0) < 0 && len(value) == 0:
		return nil
	}
	return errors.New("it is no entry of an idempotency key")
}

// keyTime is the prefix of the entries of a time.
func keyTime(t time.Time) []byte {
	return binary.BigEndian.AppendUint64([]byte{'t'}, uint64(t.UnixNano()))
}

// forgetKeys removes the keys recorded before a time.
func forgetKeys(b *bbolt.Bucket, before time.Time) error {
	end := keyTime(before)
	var old [][]byte
	c := b.Cursor()
	for k, _ := c.Seek([]byte{'t'}); k != nil && string(k) < string(end); k, _ = c.Next() {
		old = append(old, append([]byte(nil), k...))
	}
	for _, k := range old {
		if err := b.Delete(k); err != nil {
			return err
		}
		if err := b.Delete(append([]byte{'k'}, k[len(end):]...)); err != nil {
			return err
		}
	}
	return nil
}
