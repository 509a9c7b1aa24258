package tournaments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/duel"
	"thresher/service/problem"
)

// model is a tournament of package duel, played as a Store should.
type model struct {
	*duel.Tournament
	arms []string
	won  map[uint64]bool // accepted results
	keys map[string][]duel.Duel
	out  []duel.Duel // all issued duels, by the ids that clients see
	// shown are the ids of duels that clients see, by those of the tournament less one; used is the
	// greatest ever.
	shown []uint64
	used  uint64
}

func newModel(t rapid.TB, s Spec, c *clock) *model {
	config, err := checkSpec(&s, duel.MaxArms)
	if err != nil {
		t.Fatal(err)
	}
	tournament, err := duel.New(config, c.time)
	if err != nil {
		t.Fatal(err)
	}
	if err := tournament.KeepUndo(keptUndo); err != nil {
		t.Fatal(err)
	}
	return &model{Tournament: tournament, arms: config.Arms, won: map[uint64]bool{}, keys: map[string][]duel.Duel{}}
}

// next draws duels one at a time, with coins in between.
func (m *model) next(count int, key string) ([]duel.Duel, error) {
	if before, ok := m.keys[key]; ok {
		return before, nil
	}
	var duels []duel.Duel
	tossed := false
	for again := true; again; {
		again = false
		more, err := m.Tournament.Next(count - len(duels))
		if err != nil && !tossed {
			return nil, err
		}
		var coins []duel.Result
		for _, d := range more {
			if d.A == d.B {
				coins = append(coins, m.Coin(d))
			} else {
				duels = append(duels, d)
			}
		}
		if len(coins) > 0 {
			tossed = true
			m.take(coins...)
			duels = slices.DeleteFunc(duels, func(d duel.Duel) bool { return errors.Is(m.check(d.ID), duel.ErrWithdrawn) })
			again = len(duels) < count
		}
	}
	m.number()
	if key != "" && (m.State().Done || len(duels) > 0) {
		m.keys[key] = duels
	}
	m.out = append(m.out, m.see(duels)...)
	return duels, nil
}

// number gives new duels their ids.
func (m *model) number() {
	for uint64(len(m.shown)) < m.Drawn() {
		m.used++
		m.shown = append(m.shown, m.used)
	}
}

// see returns duels with the ids that clients see.
func (m *model) see(duels []duel.Duel) []duel.Duel {
	duels = slices.Clone(duels)
	for i := range duels {
		duels[i].ID = m.shown[duels[i].ID-1]
	}
	return duels
}

// of returns the tournament's id of a duel, 0 if it was never drawn or was taken back.
func (m *model) of(shown uint64) uint64 { return uint64(slices.Index(m.shown, shown) + 1) }

// undo takes back the last report, and returns the ids of its duels until then.
func (m *model) undo() ([]uint64, error) {
	results, err := m.Undo()
	if err != nil {
		return nil, err
	}
	m.shown = m.shown[:m.Drawn()]
	var undone []uint64
	for _, r := range results {
		undone = append(undone, m.shown[r.Duel-1])
		m.used++
		m.shown[r.Duel-1] = m.used
		delete(m.won, r.Duel)
	}
	for id := range m.won {
		if id > m.Drawn() {
			delete(m.won, id)
		}
	}
	for key, duels := range m.keys {
		if len(duels) == 0 || slices.ContainsFunc(duels, func(d duel.Duel) bool { return d.ID > m.Drawn() }) {
			delete(m.keys, key)
		}
	}
	return undone, nil
}

// view is the state as clients see it.
func (m *model) view(standings bool) State {
	v := viewState(m.arms, m.State(), standings)
	v.Undoable = []uint64{}
	for _, r := range m.Undoable() {
		v.Undoable = append(v.Undoable, m.shown[r.Duel-1])
	}
	return v
}

func (m *model) check(id uint64) error {
	_, err := m.Check(duel.Result{Duel: id})
	return err
}

// checkShown is check of a duel by the id that clients see.
func (m *model) checkShown(shown uint64) (uint64, error) {
	id := m.of(shown)
	if id == 0 && shown > 0 && shown <= m.used {
		return 0, duel.ErrWithdrawn
	}
	return id, m.check(id)
}

func (m *model) take(results ...duel.Result) []duel.Receipt {
	receipts, err := m.Tournament.Report(results...)
	if err != nil {
		panic(err) // an error of the test
	}
	for _, r := range results {
		m.won[r.Duel] = r.AWon
	}
	return receipts
}

// refusal returns the problem of a list of results that is refused, and its index.
func (m *model) refusal(results []duel.Result, lenient bool) (problem.Kind, int) {
	here := map[uint64]bool{}
	for i, r := range results {
		id, err := m.checkShown(r.Duel)
		first, known := m.won[id]
		if won, ok := here[r.Duel]; ok {
			first, known = won, true
		}
		switch {
		case errors.Is(err, duel.ErrUnknown):
			return problem.UnknownDuel, i
		case err != nil && !lenient:
			return problem.DuelWithdrawn, i
		case err == nil && known && first != r.AWon && !lenient:
			return problem.Conflict, i
		case err == nil && !known:
			here[r.Duel] = r.AWon
		}
	}
	return "", -1
}

// report applies the results of a list that is not refused.
func (m *model) report(results []duel.Result) []Receipt {
	var fresh []duel.Result
	receipts := make([]Receipt, len(results))
	for i, r := range results {
		receipts[i].DuelID = r.Duel
		id, err := m.checkShown(r.Duel)
		r.Duel = id
		again := slices.IndexFunc(fresh, func(f duel.Result) bool { return f.Duel == r.Duel })
		var status duel.Status
		if err == nil {
			status, err = m.Check(r)
		}
		switch {
		case err != nil:
			status = duel.Void
		case again >= 0 && fresh[again].AWon == r.AWon:
			status = duel.Repeated
		case again >= 0:
			status = duel.Conflicting
		case status == duel.Accepted:
			fresh = append(fresh, r)
			status = ""
		case m.won[r.Duel] != r.AWon:
			status = duel.Conflicting
		}
		receipts[i].Status = string(status)
	}
	if len(fresh) == 0 {
		return receipts
	}
	taken := m.take(fresh...)
	for i := range receipts {
		if receipts[i].Status == "" {
			receipts[i].Status, taken = string(taken[0].Status), taken[1:]
		}
	}
	return receipts
}

// designs returns a tournament of every algorithm and mode.
func designs() []Spec {
	return []Spec{
		{Mode: string(duel.PAC), Delta: of(.3)},
		{Mode: string(duel.PAC), Epsilon: of(.1), Delta: of(.01), Testing: string(duel.Sweep)},
		{Mode: string(duel.Online), Horizon: of[int64](300)},
		{Mode: string(duel.Online), Horizon: of[int64](300), Algorithm: string(duel.BeatTheMean)},
		{Mode: string(duel.Online), Horizon: of[int64](5000), Algorithm: string(duel.BeatTheMean), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Epsilon: of(.4), Delta: of(.3), Algorithm: string(duel.BeatTheMean), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Epsilon: of(.4), Delta: of(.3), Algorithm: string(duel.Knockout)},
		{Mode: string(duel.Online), Horizon: of[int64](1000), Algorithm: string(duel.InterleavedFilter2)},
		{Mode: string(duel.Online), Horizon: of[int64](300), Algorithm: string(duel.DoubleThompson), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Delta: of(.3), Algorithm: string(duel.Rank)},
		{Mode: string(duel.PAC), Delta: of(.3), Epsilon: of(.2), Top: of(1), Algorithm: string(duel.Rank), Testing: string(duel.Sweep)},
		{Mode: string(duel.PAC), Delta: of(.3), Horizon: of[int64](200), Algorithm: string(duel.Copeland)},
	}
}

// TestAsIfInMemory plays random sequences of calls with restarts, evictions, keys, expired
// leases and invalid results of every kind, and compares each answer and the whole state with
// a tournament in memory.
func TestAsIfInMemory(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		spec := rapid.SampledFrom(designs()).Draw(r, "design")
		spec.Arms = arms(rapid.IntRange(2, 9).Draw(r, "arms"))
		spec.LeaseSeconds = of(60.)
		spec.Seed = of(rapid.Uint64().Draw(r, "seed"))
		h := newHouse(t, Options{logBytes: rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(r, "log"), Memory: footprint(9) + 1})
		id := h.create(spec)
		other := h.create(online(9))
		m := newModel(r, spec, h.clock)
		ctx, ends := context.Background(), 0
		for range rapid.IntRange(1, 40).Draw(r, "calls") {
			switch at := rapid.IntRange(0, 12).Draw(r, "call"); {
			case at == 0:
				if ends++; ends%2 == 0 { // otherwise it is killed
					h.Store.Close(ctx)
				}
				h.reopen()
			case at == 1:
				h.get(other) // both do not fit into memory
			case at == 2:
				h.clock.pass(time.Duration(rapid.IntRange(1, 100).Draw(r, "seconds")) * time.Second)
			case at == 3:
				h.playOn(r, id, m, seen)
			case at == 4 && rapid.Bool().Draw(r, "undo"):
				h.undoOnce(r, id, m, seen)
			case at < 8:
				count := rapid.IntRange(1, 8).Draw(r, "count")
				key := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(r, "key")
				if key != "" {
					key += string(rune('0' + count)) // another count under the key would be refused
				}
				want, refusal := m.next(count, key)
				got, err := h.Next(ctx, id, count, key)
				if refusal != nil {
					refused(r, err, problem.TournamentEnded, "", -1)
					seen["ended"]++
					break
				}
				if err != nil {
					r.Fatal(err)
				}
				if d := cmp.Diff(viewDuels(m.arms, &numbers{}, m.see(want)), got.Duels); d != "" || got.Done != m.State().Done {
					r.Fatalf("done %t, duels:\n%s", got.Done, d)
				}
			default:
				h.tell(r, id, m, seen)
			}
			compare(r, h, id, m)
		}
		h.shut()
	})
	for _, what := range []string{"ended", "undone", "none to undo", "another's", "a winner undone", string(problem.UnknownDuel), string(problem.DuelWithdrawn), string(problem.Conflict),
		string(duel.Accepted), string(duel.Repeated), string(duel.Conflicting), string(duel.Settled), string(duel.Void)} {
		if seen[what] == 0 && !testing.Short() {
			t.Errorf("no history has %s: %v", what, seen)
		}
	}
	t.Log(seen)
}

// playOn judges many duels, a few at a time, half of them late, when they may have been
// withdrawn.
func (h *house) playOn(r *rapid.T, id string, m *model, seen map[string]int) {
	count := rapid.IntRange(1, 9).Draw(r, "at a time")
	var late []duel.Result
	for range rapid.IntRange(1, 100).Draw(r, "rounds") {
		duels, err := m.next(count, "")
		if err != nil {
			return
		}
		got := h.next(id, count)
		if d := cmp.Diff(viewDuels(m.arms, &numbers{}, m.see(duels)), got); d != "" {
			r.Fatal(d)
		}
		results := late
		late = nil
		for _, d := range m.see(duels) {
			results = append(results, duel.Result{Duel: d.ID, AWon: d.A < d.B})
		}
		results, late = results[:(len(results)+1)/2], results[(len(results)+1)/2:]
		if len(results) == 0 {
			h.clock.pass(time.Hour) // leases of the others expire
			continue
		}
		reported, err := h.Report(context.Background(), id, results, true)
		if err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(m.report(results), reported.Receipts); d != "" {
			r.Fatal(d)
		}
		for _, x := range reported.Receipts {
			seen[string(x.Status)]++
		}
	}
}

// undoOnce undoes the last report: under a key and repeatedly, of a named duel or whichever it is.
func (h *house) undoOnce(r *rapid.T, id string, m *model, seen map[string]int) {
	ctx := context.Background()
	last := m.Undoable()
	if len(last) == 0 {
		_, err := h.Undo(ctx, id, 0, "")
		refused(r, err, problem.Conflict, "", -1)
		seen["none to undo"]++
		return
	}
	shown := m.shown[last[0].Duel-1]
	if _, err := h.Undo(ctx, id, m.used+9, ""); err == nil {
		r.Fatal("the judgment of another duel was undone")
	} else {
		refused(r, err, problem.Conflict, "duel_id", -1)
		seen["another's"]++
	}
	if m.State().Done {
		seen["a winner undone"]++
	}
	key := rapid.SampledFrom([]string{"", "undo"}).Draw(r, "undo key") + fmt.Sprint(m.used)
	if key[0] != 'u' {
		key = ""
	}
	want, err := m.undo()
	if err != nil {
		r.Fatal(err)
	}
	for range 2 {
		got, err := h.Undo(ctx, id, shown*uint64(rapid.IntRange(0, 1).Draw(r, "named")), key)
		if err != nil {
			r.Fatal(err)
		}
		if d := cmp.Diff(want, got.UndoneDuels) + cmp.Diff(m.view(false), got.TournamentState); d != "" {
			r.Fatal(d)
		}
		if key == "" {
			break
		}
	}
	seen["undone"]++
}

// tell reports results, mostly of issued duels.
func (h *house) tell(r *rapid.T, id string, m *model, seen map[string]int) {
	var results []duel.Result
	for range rapid.IntRange(1, 6).Draw(r, "results") {
		if len(m.out) == 0 || rapid.IntRange(0, 60).Draw(r, "stray") == 0 {
			results = append(results, duel.Result{Duel: rapid.Uint64Range(0, uint64(len(m.out)+20)).Draw(r, "id")})
			continue
		}
		last := min(len(m.out), rapid.SampledFrom([]int{4, 8, 20, 1000}).Draw(r, "recent"))
		d := m.out[len(m.out)-rapid.IntRange(1, last).Draw(r, "duel")]
		at := slices.IndexFunc(m.out, func(d duel.Duel) bool {
			_, err := m.checkShown(d.ID)
			return errors.Is(err, duel.ErrWithdrawn)
		})
		if at >= 0 && rapid.Bool().Draw(r, "withdrawn") {
			d = m.out[at]
		}
		result := duel.Result{Duel: d.ID, AWon: d.A < d.B}
		result.AWon = result.AWon != (rapid.IntRange(0, 20).Draw(r, "lie") == 0)
		results = append(results, result)
	}
	lenient := rapid.Bool().Draw(r, "lenient")
	kind, index := m.refusal(results, lenient)
	got, err := h.Report(context.Background(), id, results, lenient)
	if kind != "" {
		refused(r, err, kind, "duel_id", index)
		seen[string(kind)]++
		return
	}
	if err != nil {
		r.Fatal(err)
	}
	want := m.report(results)
	if d := cmp.Diff(want, got.Receipts); d != "" {
		r.Fatal(d)
	}
	if d := cmp.Diff(m.view(false), got.TournamentState); d != "" {
		r.Fatal(d)
	}
	for _, x := range want {
		seen[string(x.Status)]++
	}
}

// compare compares the tournament as clients see it and its state.
func compare(r *rapid.T, h *house, id string, m *model) {
	if d := cmp.Diff(m.view(true), *h.get(id).State); d != "" {
		r.Fatal(d)
	}
	l, err := h.acquire(context.Background(), id)
	if err != nil {
		r.Fatal(err)
	}
	got, err := l.game.tournament.MarshalBinary()
	if err := errors.Join(err, h.release(context.Background(), l)); err != nil {
		r.Fatal(err)
	}
	want, err := m.MarshalBinary()
	if err != nil || string(got) != string(want) {
		r.Fatalf("%v; the states are\n%q\n%q", err, got, want)
	}
}
