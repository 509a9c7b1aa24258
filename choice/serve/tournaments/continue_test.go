package tournaments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/service/problem"
	"thresher/store"
)

// eventAt returns the place of the record of a call of the first tournament.
func eventAt(n uint64) place {
	return func(tx *bbolt.Tx, number []byte) (*bbolt.Bucket, []byte) {
		return bucket(tx, gamesBucket).Bucket(number).Bucket([]byte(logBucket)), store.Key(n)
	}
}

func restOf(tx *bbolt.Tx, number []byte) (*bbolt.Bucket, []byte) {
	return bucket(tx, gamesBucket).Bucket(number), []byte(restKey)
}

// spoil damages a record of the first tournament, which is read again when it is used.
func (h *house) spoil(p place) {
	h.t.Helper()
	h.change(p, func(text []byte) []byte {
		text[len(text)/2] ^= 1
		return text
	})
	h.reopen()
}

// stateOf returns the state of a tournament without what depends on the time.
func (h *house) stateOf(id string) State {
	h.t.Helper()
	s := *h.get(id).State
	s.Open = 0 // of leases that have not expired
	return s
}

// TestContinue: a tournament with a damaged record goes on in another one from the last call before which
// nothing is missing: the one before the damaged record or, if the transcript has that call, the last of
// all. The other one is what the damaged one was after that call, has its transcript, and plays on.
func TestContinue(t *testing.T) {
	race.Skip(t, "a store's goroutines are those of TestConcurrentJudges")
	const calls = 60
	for _, c := range []struct {
		name          string
		logged, block int // bytes of a log before it is a snapshot, and of a block of the transcript
		settle        bool
		damage        place
		hole          float64 // where the transcript is damaged too, as a fraction of it; 0 for nowhere
		taken         uint64
		what          string
	}{
		{"start", 1 << 20, 1 << 20, false, eventAt(1), 0, 0, "call 1: its record is damaged"},
		{"middle", 1 << 20, 1 << 20, false, eventAt(31), 0, 30, "call 31: its record is damaged"},
		{"end", 1 << 20, 1 << 20, false, eventAt(calls), 0, calls - 1, "call 60: its record is damaged"},
		{"start, told", 1 << 20, 200, false, eventAt(1), 0, calls, ""},
		{"middle, told", 1 << 20, 200, false, eventAt(31), 0, calls, ""},
		{"start, told and damaged there", 1 << 20, 200, false, eventAt(1), .02, 0, "call 1: its record is damaged"},
		{"middle, told, and the transcript damaged before", 1 << 20, 200, false, eventAt(31), .02, calls, ""},
		{"goes differently", 1 << 20, 1 << 20, false, eventAt(31), 0, 30, "call 31: checksum"},
		{"goes differently, the call before", 1 << 20, 1 << 20, false, eventAt(30), 0, 29, "call 30: checksum"},
		{"goes differently, told", 1 << 20, 200, false, eventAt(31), 0, 30, "call 31: checksum"},
		{"end, after a snapshot, and the transcript damaged amid", 300, 200, false, eventAt(calls), .5, calls - 1, "call 60: its record is damaged"},
		{"snapshot", 300, 200, true, restOf, 0, calls, ""},
		{"snapshot, and the transcript damaged before", 300, 200, true, restOf, .02, 0, "call 1: its record is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t, Options{Dir: t.TempDir(), logBytes: c.logged, blockBytes: c.block})
			course := newCourse(h, 7)
			states := []State{h.stateOf(course.id)}
			for range calls {
				course.step()
				states = append(states, h.stateOf(course.id))
			}
			if c.settle {
				h.Close(t.Context())
				h.reopen()
			}
			if _, err := h.Continue(t.Context(), course.id); problem.Of(err).Kind != problem.Conflict {
				t.Fatalf("one that can be played: %v", err)
			}
			if c.hole > 0 {
				path := h.transcriptPath(course.id)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				text[int(c.hole*float64(len(text)))] ^= 1
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h.o.blockBytes = 1 << 20 // the new transcript has other blocks
			if strings.HasSuffix(c.what, ": checksum") {
				h.change(c.damage, func(text []byte) []byte {
					var e event
					if err := store.Unseal(text, &e); err != nil {
						t.Fatal(err)
					}
					e.Sum ^= 1
					sealed, err := store.Seal(e)
					if err != nil {
						t.Fatal(err)
					}
					return sealed
				})
				h.reopen()
			} else {
				h.spoil(c.damage)
			}
			before := export(t, h.db, h.o.Dir, course.id)
			did, err := h.Continue(t.Context(), course.id)
			if did.Taken != c.taken || did.Recorded != calls || (did.Why == nil) != (c.what == "") || did.Why != nil && !strings.HasPrefix(did.Why.Error(), c.what) {
				t.Fatalf("%d of %d calls, %v; %v", did.Taken, did.Recorded, did.Why, err)
			}
			_, refusal := h.Get(t.Context(), course.id)
			refused(t, refusal, Unplayable, "id", -1)
			if d := cmp.Diff(before, export(t, h.db, h.o.Dir, course.id), cmp.AllowUnexported(exported{})); d != "" {
				t.Errorf("the damaged one has changed: %s", d)
			}
			if c.taken == 0 {
				if refused(t, err, Unplayable, "id", -1); !strings.Contains(fmt.Sprint(err), "nothing of it can be taken over") {
					t.Error(err)
				}
				if left, err := os.ReadDir(h.o.Dir); err != nil || len(left) > 1 {
					t.Error(left, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			id := did.Tournament.ID
			if d := cmp.Diff(states[c.taken], h.stateOf(id)); d != "" || id == course.id {
				t.Errorf("%s is not as it was: %s", id, d)
			}
			if page, err := h.List("", 0); err != nil || len(page.Data) != 2 || page.Data[0].ID != id {
				t.Errorf("%+v, %v", page, err)
			}
			course.id, course.open, course.want = id, nil, course.want[:c.taken]
			course.r = rand.New(rand.NewPCG(draws.Seed(), 8))
			for i := range 60 {
				course.step()
				if i == 30 {
					h.reopen()
				}
			}
			e := export(t, h.db, h.o.Dir, id)
			e.adds(t, c.taken+60)
			if e.end.Lost > 0 && c.hole == 0 || e.end.Lost > before.end.Lost {
				t.Errorf("lost are %+v, and of the damaged one %+v", e.lost, before.lost)
			}
			if len(e.lost) == 0 {
				course.same(e)
			}
		})
	}
}

// TestContinueRefuses: of a tournament that nobody knows, and of one whose record is damaged, nothing is
// taken over; a context that has ended ends it.
func TestContinueRefuses(t *testing.T) {
	h := newHouse(t, Options{Dir: t.TempDir()})
	if _, err := h.Continue(t.Context(), "tournament_x"); problem.Of(err).Kind != UnknownTournament {
		t.Error(err)
	}
	id := h.create(online(4))
	if _, err := h.Continue(t.Context(), id); problem.Of(err).Kind != problem.Conflict {
		t.Errorf("one without calls: %v", err)
	}
	h.playSome(id)
	h.spoil(eventAt(2))
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := h.Continue(ended, id); err == nil {
		t.Error("it went on")
	}
	h.spoil(func(tx *bbolt.Tx, n []byte) (*bbolt.Bucket, []byte) { return bucket(tx, recordsBucket), n })
	_, err := h.Continue(t.Context(), id)
	refused(t, err, Unplayable, "id", -1)
}

// TestRetellingCompares: a call that a transcript tells otherwise than it goes is an error.
func TestRetellingCompares(t *testing.T) {
	spec := online(4)
	config, err := checkSpec(&spec, 10)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGame(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.draw("ann", 2, newClock().time()); err != nil {
		t.Fatal(err)
	}
	said := g.told
	for name, change := range map[string]func(c *told){
		"as it was":   func(*told) {},
		"another arm": func(c *told) { c.Issued[0].A = 3 - c.Issued[0].A },
		"more duels":  func(c *told) { c.Issued = append(c.Issued, c.Issued[0]) },
		"coins":       func(c *told) { c.Coins++ },
	} {
		c := said
		c.Issued = slices.Clone(said.Issued)
		change(&c)
		fresh, err := newGame(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh.retell(&c); (err == nil) != (name == "as it was") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
