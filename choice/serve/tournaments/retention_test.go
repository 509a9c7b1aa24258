package tournaments

import (
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// playOut judges a tournament to its end.
func (h *house) playOut(id string) {
	h.t.Helper()
	for range 10_000 {
		issued, err := h.Next(h.t.Context(), id, 1, "")
		if ended(err) {
			return
		}
		if err != nil {
			h.t.Fatal(err)
		}
		for _, d := range issued.Duels {
			h.report(id, judged(d))
		}
	}
	h.t.Fatal("the tournament does not end")
}

func (h *house) expire(before time.Time) (told []string) {
	h.t.Helper()
	if err := h.Expire(h.t.Context(), before, func(id string) { told = append(told, id) }); err != nil {
		h.t.Fatal(err)
	}
	return told
}

// TestExpire: tournaments that ended before a time go; those that go on stay, however old they are, also
// one whose end was undone.
func TestExpire(t *testing.T) {
	h := newHouse(t, Options{})
	soon := online(2)
	soon.Horizon = of[int64](20)
	first, undone, running := h.create(soon), h.create(soon), h.create(soon)
	h.playOut(first)
	h.playOut(undone)
	if _, err := h.Undo(t.Context(), undone, 0, ""); err != nil {
		t.Fatal(err)
	}
	began := h.clock.time()
	h.clock.pass(time.Hour)
	second := h.create(soon)
	h.playOut(second)
	h.reopen()
	if told := h.expire(began.Add(-time.Minute)); told != nil {
		t.Errorf("none ended before that, and %v went", told)
	}
	if told := h.expire(began.Add(time.Minute)); !slices.Equal(told, []string{first}) {
		t.Errorf("%v went, not %s", told, first)
	}
	if told := h.expire(h.clock.time().Add(time.Minute)); !slices.Equal(told, []string{second}) {
		t.Errorf("%v went, not %s", told, second)
	}
	for _, id := range []string{undone, running} {
		if h.get(id).Done {
			t.Errorf("%s is done", id)
		}
		h.playOut(id)
	}
	if _, err := h.Get(t.Context(), first); problem.Of(err).Kind != UnknownTournament {
		t.Error(err)
	}
	if c := h.Counts(); c["done"] != 2 || c["running"] != 0 {
		t.Error(c)
	}
}

// TestExpireOfEarlierReleases: what does not say when it ended is kept from the first look on.
func TestExpireOfEarlierReleases(t *testing.T) {
	h := newHouse(t, Options{})
	soon := online(2)
	soon.Horizon = of[int64](20)
	id := h.create(soon)
	h.playOut(id)
	err := h.db.Update(func(tx *bbolt.Tx) error {
		r, err := findRecord(tx, id)
		if err != nil {
			return err
		}
		r.EndedAt = 0
		return r.save(tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	h.reopen()
	h.clock.pass(1000 * time.Hour)
	seen := h.clock.time()
	if told := h.expire(seen.Add(-time.Hour)); told != nil {
		t.Errorf("%v went, and may have ended a moment ago", told)
	}
	if told := h.expire(seen.Add(-time.Second)); told != nil {
		t.Errorf("%v went, before it was kept for a while", told)
	}
	if told := h.expire(seen.Add(time.Second)); !slices.Equal(told, []string{id}) {
		t.Errorf("%v went, not %s", told, id)
	}
}
