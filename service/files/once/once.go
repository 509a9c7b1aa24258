package once

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// keep is for how long a key is remembered.
const keep = 24 * time.Hour

// record is what is kept of a key.
type record struct {
	Fingerprint string    `json:"fingerprint"`
	Value       []byte    `json:"value"`
	At          time.Time `json:"at"`
}

// A bucket holds records under 'k' and the key, and under 't', the time in
// nanoseconds and the key nothing, for them to be forgotten in order.

// Find returns what was recorded under key, and whether anything was. If that was
// for a request of another fingerprint the error is a problem of kind KeyReused. b
// may be nil, and key "", which is no key.
func Find(b *bbolt.Bucket, key, fingerprint string) (value []byte, found bool, err error) {
	if b == nil || key == "" {
		return nil, false, nil
	}
	text := b.Get(append([]byte{'k'}, key...))
	if text == nil {
		return nil, false, nil
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, false, fmt.Errorf("record of idempotency key %q: %w", key, err)
	}
	if r.Fingerprint != fingerprint {
		return nil, false, problem.New(problem.KeyReused,
			"the key was used for another request at %s", r.At.UTC().Format(time.RFC3339)).In("Idempotency-Key")
	}
	return r.Value, true, nil
}

// Put records value under a key, in the place of what it finds there, and forgets the
// keys that are older than keep. "" is no key.
func Put(b *bbolt.Bucket, key, fingerprint string, value []byte, now time.Time) error {
	if key == "" {
		return nil
	}
	if err := forget(b, now.Add(-keep)); err != nil {
		return err
	}
	if former := b.Get(append([]byte{'k'}, key...)); former != nil {
		var r record
		if err := json.Unmarshal(former, &r); err != nil {
			return fmt.Errorf("record of idempotency key %q: %w", key, err)
		}
		if err := b.Delete(append(timed(r.At), key...)); err != nil {
			return err
		}
	}
	text, err := json.Marshal(record{fingerprint, value, now})
	if err != nil {
		return err
	}
	if err := b.Put(append([]byte{'k'}, key...), text); err != nil {
		return err
	}
	return b.Put(append(timed(now), key...), nil)
}

// timed is the prefix of keys recorded at a time.
func timed(t time.Time) []byte {
	return binary.BigEndian.AppendUint64([]byte{'t'}, uint64(t.UnixNano()))
}

// forget drops the keys recorded before a time.
func forget(b *bbolt.Bucket, before time.Time) error {
	end := timed(before)
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
