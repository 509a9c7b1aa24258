package duel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/philox"
	"thresher/internal/race"
)

func names(k int) []string {
	arms := make([]string, k)
	for i := range arms {
		arms[i] = fmt.Sprintf("arm %d", i)
	}
	return arms
}

// clockAt is a clock that only the test advances.
type clockAt struct{ now time.Time }

func newClock() *clockAt { return &clockAt{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clockAt) time() time.Time { return c.now }

func begin(t testing.TB, c Config, clock func() time.Time) *Tournament {
	t.Helper()
	tournament, err := New(c, clock)
	if err != nil {
		t.Fatal(err)
	}
	return tournament
}

// designs are small enough to end after few duels.
func designs() map[string]Design {
	return map[string]Design{
		"beat strict":     {Algorithm: BeatTheMean, Horizon: 400, Testing: Strict},
		"beat sweep":      {Algorithm: BeatTheMean, Horizon: 400, Testing: Sweep},
		"beat wide":       {Algorithm: BeatTheMean, Horizon: 3000, Gamma: 1.2},
		"beat pac":        {Algorithm: BeatTheMean, Epsilon: .49, Delta: .9},
		"beat pac sweep":  {Algorithm: BeatTheMean, Epsilon: .49, Delta: .9, Testing: Sweep},
		"anytime":         {Delta: .2},
		"anytime sweep":   {Delta: .2, Testing: Sweep},
		"anytime near":    {Epsilon: .1, Delta: .01},
		"anytime online":  {Horizon: 150, Testing: Sweep},
		"anytime budget":  {Delta: 1e-6, Horizon: 40},
		"filter 1":        {Algorithm: InterleavedFilter1, Horizon: 300},
		"filter 2":        {Algorithm: InterleavedFilter2, Horizon: 300, Testing: Sweep},
		"thompson strict": {Algorithm: DoubleThompson, Horizon: 120},
		"thompson sweep":  {Algorithm: DoubleThompson, Horizon: 120, Testing: Sweep},
		"knockout":        {Algorithm: Knockout, Epsilon: .4, Delta: .5},
		"knockout sweep":  {Algorithm: Knockout, Epsilon: .4, Delta: .5, Testing: Sweep},
	}
}

// judge decides duels by their number alone.
func judge(seed uint64, f *Preferences, d Duel) Result {
	return Result{Duel: d.ID, AWon: rand.New(philox.New(seed, d.ID)).Float64() < f.At(d.A, d.B)}
}

// A tournament that is saved and restored between any two calls, as JSON or in binary,
// does what one that stays in memory does, whatever is asked, reported twice, late, in
// another order or after its lease.
func TestSavedTournamentsGoOn(t *testing.T) {
	race.Skip(t, "one goroutine")
	for name, d := range designs() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				k := rapid.IntRange(2, 7).Draw(t, "k")
				clock := newClock()
				c := Config{Arms: names(k), Design: d, Seed: rapid.Uint64().Draw(t, "seed"), Lease: time.Minute}
				if rapid.Bool().Draw(t, "random") {
					c.Order = RandomOrder
				}
				whole, err := New(c, clock.time)
				if err != nil {
					t.Fatal(err)
				}
				saved, err := New(c, clock.time)
				if err != nil {
					t.Fatal(err)
				}
				f := Constant(k, .45)
				var out []Duel
				longest := 40
				if testing.Short() {
					longest = 20
				}
				for range rapid.IntRange(1, longest).Draw(t, "steps") {
					saved = reborn(t, saved, rapid.IntRange(0, 2).Draw(t, "form"), clock.time)
					switch rapid.IntRange(0, 5).Draw(t, "op") {
					case 0:
						clock.now = clock.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)
					case 1:
						whole.Recall()
						saved.Recall()
					default:
						count := rapid.IntRange(1, 9).Draw(t, "count")
						a, errA := whole.Next(count)
						b, errB := saved.Next(count)
						if diff := cmp.Diff(a, b); diff != "" || !errors.Is(errB, errA) {
							t.Fatalf("%v, %v: duels (-whole +saved)\n%s", errA, errB, diff)
						}
						out = append(out, a...)
					}
					if len(out) == 0 {
						continue
					}
					var results []Result
					for range rapid.IntRange(0, 6).Draw(t, "results") {
						results = append(results, judge(c.Seed, f, out[rapid.IntRange(max(0, len(out)-12), len(out)-1).Draw(t, "which")]))
					}
					a, errA := whole.Report(results...)
					b, errB := saved.Report(results...)
					if diff := cmp.Diff(a, b); diff != "" || fmt.Sprint(errA) != fmt.Sprint(errB) {
						t.Fatalf("%v, %v: receipts (-whole +saved)\n%s", errA, errB, diff)
					}
					if diff := cmp.Diff(whole.State(), saved.State()); diff != "" {
						t.Fatalf("state (-whole +saved)\n%s", diff)
					}
				}
			})
		})
	}
}

// reborn saves and restores: 0 as JSON, 1 in binary, 2 not at all.
func reborn(t rapid.TB, from *Tournament, form int, clock func() time.Time) *Tournament {
	var data []byte
	var err error
	switch form {
	case 0:
		data, err = json.Marshal(from)
	case 1:
		data, err = from.MarshalBinary()
	default:
		return from
	}
	if err != nil {
		t.Fatal(err)
	}
	to, err := Restore(data, clock)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return to
}

// finish plays a tournament to its end, asking for count duels at a time and reporting
// them in a random order.
func finish(t testing.TB, tournament *Tournament, f *Preferences, count int, order *rand.Rand) State {
	t.Helper()
	seed := tournament.Config().Seed + 1000
	for {
		duels, err := tournament.Next(count)
		if errors.Is(err, ErrEnded) {
			return tournament.State()
		}
		if err != nil || len(duels) == 0 {
			t.Fatalf("%d duels, %v", len(duels), err)
		}
		order.Shuffle(len(duels), func(i, j int) { duels[i], duels[j] = duels[j], duels[i] })
		for _, d := range duels {
			if _, err := tournament.Report(judge(seed, f, d)); err != nil && !errors.Is(err, ErrWithdrawn) {
				t.Fatal(err)
			}
		}
	}
}

// With sweeps neither the size of requests nor the order of reports changes anything; one
// who always waits for each result sees the same with either testing.
func TestOrderOfReports(t *testing.T) {
	f := Constant(6, .45)
	for name, d := range designs() {
		if d.Testing != Sweep {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := Config{Arms: names(6), Design: d, Seed: 5}
			want := finish(t, begin(t, c, nil), f, 1, rand.New(philox.New(1, 1)))
			for _, count := range []int{2, 5, 100} {
				got := finish(t, begin(t, c, nil), f, count, rand.New(philox.New(2, uint64(count))))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%d at a time (-one by one)\n%s", count, diff)
				}
			}
		})
	}
}

func TestEveryDesignEnds(t *testing.T) {
	f := Constant(6, .45)
	for name, d := range designs() {
		t.Run(name, func(t *testing.T) {
			tournament := begin(t, Config{Arms: names(6), Design: d, Seed: 3}, nil)
			s := finish(t, tournament, f, 3, rand.New(philox.New(1, 1)))
			if !s.Done || s.End == "" || s.Open+s.Waiting != 0 {
				t.Errorf("%+v", s)
			}
			unproven := d.Algorithm == InterleavedFilter2       // with the tight radius
			anytime := tournament.Config().Algorithm == Anytime // guarantees what it can when the horizon is reached
			if (s.Guarantee == nil) != (s.End == HorizonReached || unproven) && !anytime {
				t.Errorf("guarantee %+v at %q", s.Guarantee, s.End)
			}
			if len(s.Active)+len(s.Eliminated) != 6 || !slices.Contains(s.Active, s.Leader) {
				t.Errorf("active %v, leader %d, eliminated %+v", s.Active, s.Leader, s.Eliminated)
			}
			if s.Leader != 0 {
				t.Errorf("arm %d wins; arm 0 beats all others with .95", s.Leader)
			}
		})
	}
}

func TestLeases(t *testing.T) {
	clock := newClock()
	tournament := begin(t, Config{Arms: names(3), Design: Design{Algorithm: BeatTheMean, Horizon: 1000, Testing: Sweep}, Seed: 1, Lease: time.Minute}, clock.time)
	next := func(count int) []Duel {
		t.Helper()
		d, err := tournament.Next(count)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	report := func(want Status, r Result) {
		t.Helper()
		got, err := tournament.Report(r)
		if err != nil || got[0].Status != want {
			t.Fatalf("duel %d: %v, %v; want %s", r.Duel, got, err, want)
		}
	}
	first := next(2)
	if len(first) != 2 || first[0].ID != 1 || first[1].ID != 2 || !first[0].Expires.Equal(clock.now.Add(time.Minute)) {
		t.Fatalf("%+v", first)
	}
	clock.now = clock.now.Add(59 * time.Second)
	if d := next(9); len(d) != 1 || d[0].ID != 3 {
		t.Fatalf("within the lease: %+v", d)
	}
	if d := next(9); len(d) != 0 {
		t.Fatalf("all are out: %+v", d)
	}
	if s := tournament.State(); s.Open != 3 || s.Waiting != 0 {
		t.Fatalf("%+v", s)
	}
	clock.now = clock.now.Add(time.Second)
	again := next(9)
	if len(again) != 2 || again[0].ID != 1 || again[0].A != first[0].A || again[0].B != first[0].B || again[1].ID != 2 {
		t.Fatalf("after the lease: %+v, was %+v", again, first)
	}
	clock.now = clock.now.Add(time.Hour)
	report(Accepted, Result{Duel: 2, AWon: true}) // late, and the first result
	report(Repeated, Result{Duel: 2, AWon: true})
	report(Conflicting, Result{Duel: 2, AWon: false})
	if d, ok := tournament.Duel(2); !ok || d.A != first[1].A || d.B != first[1].B || !d.Expires.Equal(again[1].Expires) {
		t.Fatalf("%+v, %v; was %+v", d, ok, again[1])
	}
	if s := tournament.State(); s.Waiting != 1 || s.Duels != 0 || s.Open != 0 {
		t.Fatalf("%+v", s)
	}
	report(Accepted, Result{Duel: 3, AWon: false})
	tournament.Recall()
	report(Accepted, Result{Duel: 1, AWon: false}) // recalled, not issued again
	report(Settled, Result{Duel: 1, AWon: true})
	report(Settled, Result{Duel: 2, AWon: false})
	for _, id := range []uint64{2, 4} { // settled, not issued
		if d, ok := tournament.Duel(id); ok {
			t.Fatalf("%+v is open", d)
		}
	}
	if s := tournament.State(); s.Duels != 3 || s.Waiting != 0 {
		t.Fatalf("%+v", s)
	}
}

// Without a lease a duel stays with its judge until it is recalled.
func TestNoLease(t *testing.T) {
	clock := newClock()
	tournament := begin(t, Config{Arms: names(2), Design: Design{Algorithm: DoubleThompson, Horizon: 10}}, clock.time)
	first, err := tournament.Next(1)
	if err != nil || len(first) != 1 || !first[0].Expires.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	clock.now = clock.now.Add(1000 * time.Hour)
	if d, err := tournament.Next(1); err != nil || len(d) != 0 {
		t.Fatalf("%+v, %v", d, err)
	}
	tournament.Recall()
	if d, err := tournament.Next(1); err != nil || len(d) != 1 || d[0].ID != first[0].ID {
		t.Fatalf("%+v, %v", d, err)
	}
}

// Duels issued ahead are withdrawn when an earlier result eliminates an arm; repeating an
// accepted report is no error.
func TestWithdrawnDuels(t *testing.T) {
	c := Config{Arms: names(8), Design: Design{Algorithm: BeatTheMean, Horizon: 10000}, Seed: 1}
	f := Constant(8, .5)
	tournament := begin(t, c, nil)
	var answered []Result // before they were withdrawn
	for len(tournament.withdrawn) < 2 {
		past := len(tournament.withdrawn)
		duels, err := tournament.Next(4)
		if err != nil {
			t.Fatal(err)
		}
		// All but the first are answered, and wait for it.
		var rest []Result
		for _, d := range duels[1 : len(duels)-1] {
			rest = append(rest, judge(1, f, d))
		}
		if _, err := tournament.Report(rest...); err != nil {
			t.Fatal(err)
		}
		first, last := judge(1, f, duels[0]), judge(1, f, duels[len(duels)-1])
		// A waiting duel keeps its answer, even if this very report withdraws it.
		receipts, err := tournament.Report(append(rest, first)...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range receipts[:len(rest)] {
			if r.Status != Repeated {
				t.Errorf("%+v of %+v, which is repeated", r, rest[i])
			}
		}
		before, err := json.Marshal(tournament)
		if err != nil {
			t.Fatal(err)
		}
		receipts, err = tournament.Report(last)
		if len(tournament.withdrawn) == past {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if out := tournament.withdrawn[past]; !errors.Is(err, ErrWithdrawn) || !strings.Contains(err.Error(), fmt.Sprintf("%q was eliminated", c.Arms[out.Arm])) {
			t.Fatalf("%v, %v", receipts, err)
		}
		if after, err := json.Marshal(tournament); err != nil || string(after) != string(before) {
			t.Errorf("the refused report changed the state, %v", err)
		}
		answered = append(answered, rest...)
	}
	// What was answered before is void, not an error.
	for _, r := range answered {
		receipts, err := tournament.Report(r)
		if err != nil || receipts[0].Status != Void {
			t.Errorf("%v, %v", receipts, err)
		}
	}
}

func TestBadReports(t *testing.T) {
	tournament := begin(t, Config{Arms: names(3), Design: Design{Algorithm: BeatTheMean, Horizon: 1000, Testing: Sweep}, Seed: 1}, nil)
	duels, err := tournament.Next(2)
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(tournament)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []uint64{0, 3, 4, 1 << 60} { // 3 is drawn and not issued
		receipts, err := tournament.Report(Result{Duel: duels[0].ID, AWon: true}, Result{Duel: id, AWon: true})
		if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), fmt.Sprintf("duel %d:", id)) || receipts != nil {
			t.Errorf("duel %d: %v, %v", id, receipts, err)
		}
	}
	if d, ok := tournament.Duel(3); ok {
		t.Errorf("%+v is open, and was not handed out", d)
	}
	if _, err := tournament.Next(0); err == nil {
		t.Error("no duels asked for, and no error")
	}
	after, err := json.Marshal(tournament)
	if err != nil || string(before) != string(after) {
		t.Errorf("%v; state before and after\n%s\n%s", err, before, after)
	}
}

func TestBadConfigs(t *testing.T) {
	good := Design{Algorithm: BeatTheMean, Horizon: 100}
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Arms: []string{"a"}, Design: good}, "1 arms"},
		{Config{Arms: []string{"a", ""}, Design: good}, "arm 1 has no name"},
		{Config{Arms: []string{"a", "b", "a"}, Design: good}, `arms 0 and 2 are both "a"`},
		{Config{Arms: []string{"a", "Am\xe9lie"}, Design: good}, `arm 1, "Am\xe9lie", is not UTF-8`},
		{Config{Arms: []string{"a", "b"}, Design: good, Lease: -1}, "lease -1ns is not in"},
		{Config{Arms: []string{"a", "b"}, Design: good, Lease: math.MaxInt64}, "is not in [0, 876000h0m0s]"},
		{Config{Arms: []string{"a", "b"}, Design: Design{Algorithm: BeatTheMean, Delta: 2, Epsilon: .1}}, "delta 2"},
	} {
		if _, err := New(c.config, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
		}
	}
}

// TestCheckForetells asserts that Check changes nothing and returns what Report then
// makes of a result, of any duel at any time.
func TestCheckForetells(t *testing.T) {
	race.Skip(t, "one goroutine")
	for name, d := range designs() {
		t.Run(name, func(t *testing.T) {
			tournament := begin(t, Config{Arms: names(6), Design: d, Seed: 1}, nil)
			r, f := rand.New(rand.NewPCG(1, 1)), Constant(6, .4)
			seen := map[Status]int{}
			for range trials(3000) {
				if _, err := tournament.Next(1 + r.IntN(4)); errors.Is(err, ErrEnded) {
					break
				}
				// Mostly duels in flight; some are settled, some not drawn yet.
				id := tournament.issued + 2 - min(uint64(r.IntN(10)), tournament.issued+2)
				result := judge(1, f, Duel{ID: id, A: 0, B: 1})
				result.AWon = result.AWon != (r.IntN(4) == 0)
				before, err := tournament.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				foretold, refused := tournament.Check(result)
				if after, err := tournament.MarshalBinary(); err != nil || string(after) != string(before) {
					t.Fatalf("duel %d: Check changed the state, %v", id, err)
				}
				receipts, err := tournament.Report(result)
				if fmt.Sprint(err) != fmt.Sprint(refused) || errors.Is(err, ErrUnknown) != errors.Is(refused, ErrUnknown) {
					t.Fatalf("duel %d: %v, foretold %v", id, err, refused)
				}
				if err == nil && receipts[0].Status != foretold {
					t.Fatalf("duel %d: %v, foretold %v", id, receipts[0].Status, foretold)
				}
				seen[foretold]++
			}
			if seen[Accepted] == 0 || seen[""] == 0 || seen[Settled]+seen[Repeated]+seen[Void] == 0 {
				t.Errorf("only %v", seen)
			}
		})
	}
}
