package tournaments

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/store"
)

// logged counts the events in the log of a tournament.
func (h *house) logged(id string) (n int) {
	h.t.Helper()
	err := h.db.View(func(tx *bbolt.Tx) error {
		r, err := findRecord(tx, id)
		if err != nil {
			return err
		}
		saved, err := r.texts(tx)
		n = len(saved.events)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// damage changes the first event of a tournament, and returns the changed text.
func (h *house) damage(id string) (text []byte) {
	h.t.Helper()
	err := h.db.Update(func(tx *bbolt.Tx) error {
		r, err := findRecord(tx, id)
		if err != nil {
			return err
		}
		game, err := r.game(tx)
		if err != nil {
			return err
		}
		log := game.Bucket([]byte(logBucket))
		var e event
		if err := store.Unseal(log.Get(store.Key(1)), &e); err != nil {
			return err
		}
		e.Count = 2
		if text, err = store.Seal(e); err != nil {
			return err
		}
		return log.Put(store.Key(1), text)
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// playSome plays some duels of a tournament.
func (h *house) playSome(id string) {
	for range 5 {
		for _, d := range h.next(id, 1) {
			h.report(id, judged(d))
		}
	}
}

// TestCloseLeavesNothingToReplay: Close snapshots also tournaments that are not in memory; a
// damaged one is not changed.
func TestCloseLeavesNothingToReplay(t *testing.T) {
	var log bytes.Buffer
	h := newHouse(t, Options{Memory: footprint(4), Log: slog.New(slog.NewTextHandler(&log, nil))})
	var ids []string
	for range 4 {
		ids = append(ids, h.create(online(4)))
	}
	for _, id := range ids[1:] {
		h.playSome(id)
	}
	other := ids[3]
	text := h.damage(other)
	h.reopen()
	want := map[string]Tournament{}
	for _, id := range ids[:3] {
		want[id] = h.get(id)
	}
	if n := h.logged(ids[1]); n != 10 {
		t.Fatalf("%d events are in the log", n)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	h.Store.Close(gone) // a Close without time loses nothing
	h.reopen()
	if n := h.logged(ids[1]); n != 10 {
		t.Fatalf("%d events are in the log", n)
	}
	log.Reset()
	h.Store.Close(t.Context())
	h.Store.Close(t.Context())
	if said := log.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, other) || !strings.Contains(said, "call 1 does not go") {
		t.Errorf("it says %s", said)
	}
	h.reopen()
	for _, id := range ids[:3] {
		if n := h.logged(id); n > 0 {
			t.Errorf("%d events are left to replay", n)
		}
		if d := cmp.Diff(want[id], h.get(id)); d != "" {
			t.Error(d)
		}
		h.playSome(id) // later events follow it
		want[id] = h.get(id)
	}
	h.reopen()
	for _, id := range ids[:3] {
		if d := cmp.Diff(want[id], h.get(id)); d != "" || h.logged(id) != 10 {
			t.Errorf("%d events, %s", h.logged(id), d)
		}
	}
	err := h.db.View(func(tx *bbolt.Tx) error {
		r, err := findRecord(tx, other)
		if err != nil {
			return err
		}
		saved, err := r.texts(tx)
		if err == nil && (len(saved.events) != 10 || !bytes.Equal(saved.events[0], text)) {
			t.Errorf("of what cannot be read %d events are left", len(saved.events))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
