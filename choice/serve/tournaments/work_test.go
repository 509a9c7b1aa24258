package tournaments

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// thompson returns a tournament of k arms that does not end, and that draws almost only duels
// of an arm against itself once it is certain.
func thompson(k int) Spec {
	spec := online(k)
	spec.Algorithm, spec.Horizon = string(duel.DoubleThompson), of[int64](9e15)
	return spec
}

// TestCoinsEnd: a call that draws only duels of an arm against itself ends without duels;
// decided duels stay decided, and the same call continues from there.
func TestCoinsEnd(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(thompson(2))
	ask := func() Duels {
		t.Helper()
		issued, err := h.Next(context.Background(), id, 1, "key")
		if err != nil {
			t.Fatal(err)
		}
		return issued
	}
	for range 18 { // every call takes twice as many coins as the previous one
		duels := h.next(id, 1)
		if len(duels) == 0 {
			break
		}
		h.report(id, duel.Result{Duel: duels[0].ID, AWon: duels[0].A == "arm 0"})
	}
	before := h.get(id).State.Duels
	if before < maxCoins {
		t.Fatalf("after %d duels the tournament is not sure yet", before)
	}
	for n := int64(1); n <= 3; n++ {
		issued := ask()
		if len(issued.Duels) > 0 || issued.Done {
			t.Fatalf("%+v", issued)
		}
		if got := h.get(id).State.Duels; got != before+n*maxCoins {
			t.Errorf("after %d calls %d duels were decided, want %d", n, got-before, n*maxCoins)
		}
	}
	want := h.get(id)
	h.reopen()
	if got := h.get(id); !reflect.DeepEqual(got, want) {
		t.Errorf("opened again %+v, was %+v", got, want)
	}
}

// TestWorkOfOneCall: if a draw takes long, a call decides fewer duels.
func TestWorkOfOneCall(t *testing.T) {
	spec := thompson(2)
	config, err := checkSpec(&spec, 2)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGame(config)
	if err != nil {
		t.Fatal(err)
	}
	g.cost = maxWork / 3
	for range 1000 {
		duels, coins, err := g.draw("", 1, time.Unix(1, 0))
		if err != nil || coins > 4 {
			t.Fatalf("%d coins, %v", coins, err)
		}
		for _, d := range duels {
			if _, err := g.apply([]duel.Result{{Duel: d.ID, AWon: d.A == 0}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWorkGivesWay: the log is replaced by a snapshot once a replay takes long.
func TestWorkGivesWay(t *testing.T) {
	h := newHouse(t, Options{logBytes: 1 << 20})
	id := h.create(thompson(5))
	d := h.next(id, 1)[0]
	l := h.memory.live[id]
	if l.kept != 0 || l.game.work != 5*5 {
		t.Fatalf("a snapshot of %d bytes, and work of %d", l.kept, l.game.work)
	}
	l.game.work = maxReplay
	h.report(id, judged(d))
	if l.kept == 0 || l.game.work != 0 {
		t.Fatalf("a snapshot of %d bytes, and work of %d", l.kept, l.game.work)
	}
	want := h.get(id)
	h.reopen()
	if got := h.get(id); !reflect.DeepEqual(got, want) {
		t.Errorf("opened again %+v, was %+v", got, want)
	}
	if l := h.memory.live[id]; l.kept == 0 || l.logged > 0 || l.game.work > 0 {
		t.Errorf("the log has %d bytes and takes %d, the snapshot %d", l.logged, l.game.work, l.kept)
	}
}

// TestReplayHoldsNothingUp: a replay uses copies, made in a transaction that has ended.
func TestReplayHoldsNothingUp(t *testing.T) {
	for _, logBytes := range []int{1, 1 << 20} {
		var h *house
		replays := 0
		h = newHouse(t, Options{logBytes: logBytes, step: func(stage string) {
			if stage != "replay" {
				return
			}
			replays++
			if n := h.db.Stats().OpenTxN; n != 0 {
				t.Errorf("%d transactions are under way", n)
			}
		}})
		id := h.create(online(3))
		h.report(id, judged(h.next(id, 1)[0]))
		want := h.get(id)
		h.reopen()
		if got := h.get(id); !reflect.DeepEqual(got, want) || replays != 2 {
			t.Errorf("after %d replays %+v, was %+v", replays, got, want)
		}
		var saved *texts
		var r *record
		if err := h.db.View(func(tx *bbolt.Tx) (err error) {
			if r, err = findRecord(tx, id); err == nil {
				saved, err = r.texts(tx)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		h.shut() // records that are not copied are invalid
		if _, err := saved.replay(t.Context(), r, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestSweepsOfThompson: the work of drawing a sweep in one call is bounded.
func TestSweepsOfThompson(t *testing.T) {
	spec := thompson(maxSwept)
	spec.Testing = string(duel.Sweep)
	if _, err := checkSpec(&spec, 512); err != nil {
		t.Error(err)
	}
	spec.Arms = arms(maxSwept + 1)
	_, err := checkSpec(&spec, 512)
	refused(t, err, problem.OverLimit, "arms", -1)
	spec.Testing = string(duel.Strict)
	if _, err := checkSpec(&spec, 512); err != nil {
		t.Error(err)
	}
}

// TestGreatestGamma: the radius is a number in JSON.
func TestGreatestGamma(t *testing.T) {
	h := newHouse(t, Options{})
	spec := online(2)
	spec.Gamma = of[float64](maxGamma)
	id := h.create(spec)
	for range 6 {
		for _, d := range h.next(id, 1) {
			if _, err := json.Marshal(h.report(id, judged(d))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if text, err := json.Marshal(h.get(id)); err != nil || h.get(id).State.Radius < 1e9 {
		t.Errorf("%s, %v", text, err)
	}
}

// waited is a context that is cancelled after it was checked once.
type waited struct {
	context.Context
	seen bool
}

func (w *waited) Err() error {
	if w.seen {
		return context.Canceled
	}
	w.seen = true
	return nil
}

// TestCanceledMeanwhile: a call whose client has gone when it gets the tournament does
// nothing.
func TestCanceledMeanwhile(t *testing.T) {
	h := newHouse(t, Options{})
	id := h.create(online(3))
	d := h.next(id, 1)[0]
	want := h.get(id)
	if _, err := h.Next(&waited{Context: t.Context()}, id, 1, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := h.Report(&waited{Context: t.Context()}, id, []duel.Result{judged(d)}, false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := h.get(id); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, was %+v", got, want)
	}
}
