package tournaments

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// sealName begins the checksum of a record.
const sealName = `,"crc32c":"`

// place returns the location of a record of a tournament in the database.
type place func(tx *bbolt.Tx, number []byte) (b *bbolt.Bucket, key []byte)

func (h *house) change(p place, with func([]byte) []byte) {
	h.t.Helper()
	err := h.db.Update(func(tx *bbolt.Tx) error {
		n, _ := bucket(tx, recordsBucket).Cursor().First()
		b, key := p(tx, n)
		return b.Put(key, with(bytes.Clone(b.Get(key))))
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// A changed digit in a record is detected, and is a problem of that tournament alone; records
// of early releases, without checksums, are replayed.
func TestFlippedDigits(t *testing.T) {
	places := map[string]place{
		"record": func(tx *bbolt.Tx, n []byte) (*bbolt.Bucket, []byte) { return bucket(tx, recordsBucket), n },
		"event": func(tx *bbolt.Tx, n []byte) (*bbolt.Bucket, []byte) {
			log := bucket(tx, gamesBucket).Bucket(n).Bucket([]byte(logBucket))
			key, _ := log.Cursor().First()
			return log, key
		},
		"rest": func(tx *bbolt.Tx, n []byte) (*bbolt.Bucket, []byte) {
			return bucket(tx, gamesBucket).Bucket(n), []byte(restKey)
		},
	}
	for name, p := range places {
		var log bytes.Buffer
		h := newHouse(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		id := h.create(online(4))
		other := h.create(online(3))
		h.playSome(id)
		if name == "rest" {
			h.Store.Close(t.Context()) // writes a snapshot
			h.reopen()
		}
		want := h.get(id)
		var whole []byte
		h.change(p, func(text []byte) []byte { whole = text; return text })
		at := bytes.LastIndex(whole, []byte(sealName))
		if at < 0 {
			t.Fatalf("%s has no checksum: %s", name, whole)
		}
		h.shut()
		h.open()
		h.change(p, func([]byte) []byte { return append(bytes.Clone(whole[:at]), '}') })
		h.reopen()
		if got := h.get(id); got.State.Duels != want.State.Duels {
			t.Errorf("%s without a checksum: %d duels", name, got.State.Duels)
		}
		for i, c := range whole {
			if c < '0' || c > '9' || i > at && i < at+len(sealName) {
				continue
			}
			bad := bytes.Clone(whole)
			bad[i] ^= 1
			h.change(p, func([]byte) []byte { return bad })
			h.reopen()
			_, err := h.Get(context.Background(), id)
			refused(t, err, Unplayable, "id", -1)
			if err != nil && !strings.Contains(err.Error(), id) {
				t.Errorf("%s: %v", name, err)
			}
			h.get(other)
			if page, err := h.List("", 0); err != nil || page.Data[0].ID != other {
				t.Errorf("%s: %+v, %v", name, page, err)
			}
		}
		if said := log.String(); (name == "record") != strings.Contains(said, "cannot be played") {
			t.Errorf("%s: %s", name, said)
		}
		if name == "record" {
			if err := h.Delete(context.Background(), id); err != nil {
				t.Errorf("what cannot be played cannot be deleted: %v", err)
			}
			if c := h.Counts(); c["running"] != 1 || c["done"] != 0 {
				t.Errorf("%v", c)
			}
			continue
		}
		h.change(p, func([]byte) []byte { return whole })
		h.reopen()
		if got := h.get(id); got.State.Duels != want.State.Duels {
			t.Errorf("%s as it was: %d duels", name, got.State.Duels)
		}
	}
}

// Lost parts of a tournament's records make that tournament unplayable, never another one or a new
// one; it can be deleted. What follows from other records is made again.
func TestLostParts(t *testing.T) {
	for name, c := range map[string]struct {
		lose   func(tx *bbolt.Tx, n []byte) error
		played bool
	}{
		"game": {func(tx *bbolt.Tx, n []byte) error { return bucket(tx, gamesBucket).DeleteBucket(n) }, false},
		"log": {func(tx *bbolt.Tx, n []byte) error {
			return bucket(tx, gamesBucket).Bucket(n).DeleteBucket([]byte(logBucket))
		}, false},
		"state": {func(tx *bbolt.Tx, n []byte) error { return bucket(tx, gamesBucket).Bucket(n).Delete([]byte(stateKey)) }, false},
		"rest":  {func(tx *bbolt.Tx, n []byte) error { return bucket(tx, gamesBucket).Bucket(n).Delete([]byte(restKey)) }, false},
		"ids": {func(tx *bbolt.Tx, _ []byte) error {
			root := tx.Bucket([]byte(rootBucket))
			err := errors.Join(root.DeleteBucket([]byte(idsBucket)), bucket(tx, recordsBucket).SetSequence(0))
			return errors.Join(err, Schema().Create(tx))
		}, true},
		"number": {func(tx *bbolt.Tx, n []byte) error {
			b := bucket(tx, recordsBucket)
			text := bytes.Clone(b.Get(n))
			return errors.Join(b.Delete(n), b.Put(store.Key(0), text))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, Options{})
			id := h.create(online(4))
			other := h.create(online(3))
			h.playSome(id)
			h.playSome(other)
			want, kept := h.get(id), h.get(other)
			h.Store.Close(t.Context()) // writes snapshots
			err := h.db.Update(func(tx *bbolt.Tx) error {
				n, _ := bucket(tx, recordsBucket).Cursor().First()
				return c.lose(tx, bytes.Clone(n))
			})
			if err != nil {
				t.Fatal(err)
			}
			verdict := func() store.Verdict {
				v := store.Intact
				if err := Check(t.Context(), h.db, func(i store.Item) {
					if i.Name == id {
						v = i.Verdict
					}
				}); err != nil {
					t.Error(err)
				}
				return v
			}
			if v := verdict(); v != store.Broken {
				t.Errorf("the check finds it %s", v)
			}
			h.reopen()
			if got := h.get(other); got.State.Duels != kept.State.Duels {
				t.Errorf("another has %d duels, it had %d", got.State.Duels, kept.State.Duels)
			}
			if c.played {
				if got := h.get(id); got.State.Duels != want.State.Duels || verdict() != store.Intact {
					t.Errorf("%d duels, it had %d; the check finds it %s", got.State.Duels, want.State.Duels, verdict())
				}
				third := h.create(online(3))
				if page, err := h.List("", 0); err != nil || len(page.Data) != 3 || page.Data[0].ID != third {
					t.Errorf("%+v, %v", page, err)
				}
				return
			}
			_, err = h.Get(t.Context(), id)
			refused(t, err, Unplayable, "id", -1)
			if err := h.Delete(t.Context(), id); err != nil {
				t.Error(err)
			}
			if page, err := h.List("", 0); err != nil || len(page.Data) != 1 {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
}
