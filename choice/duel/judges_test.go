package duel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/philox"
	"thresher/internal/race"
)

// Ties are settled by fair coins: the results of duels that are all ties have no preference,
// and every algorithm may take them. A false alarm has probability 1e-7 (6 sigma is 2e-9).
func TestTiesAreFair(t *testing.T) {
	const seeds, duels = 40, 50
	for name, d := range map[string]Design{"anytime": {Delta: 1e-40}, "beat": {Algorithm: BeatTheMean, Horizon: 1e6}, "knockout": {Algorithm: Knockout, Epsilon: .1, Delta: .1}} {
		wins, all := 0., 0.
		for seed := range uint64(seeds) {
			a := begin(t, Config{Arms: names(2), Design: d, Seed: seed, Order: RandomOrder}, nil)
			for range duels {
				next, err := a.Next(1)
				if err != nil {
					t.Fatal(name, err)
				}
				if _, err := a.Report(Result{Duel: next[0].ID, AWon: true, Tie: true}); err != nil {
					t.Fatal(err)
				}
			}
			s := a.State()
			if d := s.Standings[0]; name == "anytime" {
				wins, all = wins+float64(d.Wins), all+float64(d.Duels)
			} else if s.Lean != nil {
				wins, all = wins+(s.Lean.Estimate+.5)*float64(s.Lean.Duels), all+float64(s.Lean.Duels)
			}
			arms, pairs := a.Ties()
			if name == "anytime" && (s.Ties != duels || arms[0] != duels || arms[1] != duels || len(pairs) != 1 || pairs[0] != PairTies{0, 1, duels}) {
				t.Fatalf("%d, %v, %v", s.Ties, arms, pairs)
			}
		}
		if math.Abs(wins-all/2) > 6*math.Sqrt(all/4) {
			t.Errorf("%s: %g of %g ties are wins", name, wins, all)
		}
	}
}

// The first verdict counts: a tie is no win and no loss.
func TestTieStatus(t *testing.T) {
	a := begin(t, Config{Arms: names(3), Design: Design{Delta: .1}, Seed: 1, Order: RandomOrder}, nil)
	next, err := a.Next(2)
	if err != nil {
		t.Fatal(err)
	}
	id := next[1].ID
	for _, x := range []struct {
		r    Result
		want Status
	}{
		{Result{Duel: id, Tie: true}, Accepted}, {Result{Duel: id, Tie: true, AWon: true}, Repeated},
		{Result{Duel: id, AWon: true}, Conflicting}, {Result{Duel: id}, Conflicting},
	} {
		receipts, err := a.Report(x.r)
		if err != nil || receipts[0].Status != x.want {
			t.Errorf("%+v: %v, %v; want %s", x.r, receipts, err, x.want)
		}
	}
	for _, name := range []string{strings.Repeat("é", MaxJudgeName+1), "\xff"} {
		if _, err := a.Report(Result{Duel: next[0].ID, Judge: name}); err == nil {
			t.Errorf("judge %.9q", name)
		}
		if _, err := a.NextFor(name, 1); err == nil {
			t.Errorf("next for %.9q", name)
		}
		if a.Skip(name, next[0].ID) == nil {
			t.Errorf("skip of %.9q", name)
		}
	}
}

// A skipped duel goes to another judge at once, and to the same one after others.
func TestSkip(t *testing.T) {
	a := begin(t, Config{Arms: names(4), Design: Design{Delta: 1e-9}, Seed: 1, Order: RandomOrder}, nil)
	next := func(judge string) Duel {
		t.Helper()
		d, err := a.NextFor(judge, 1)
		if err != nil || len(d) != 1 {
			t.Fatal(d, err)
		}
		return d[0]
	}
	first := next("ann")
	if err := a.Skip("ann", first.ID); err != nil {
		t.Fatal(err)
	}
	a = reborn(t, a, 1, nil)
	a = reborn(t, a, 0, nil)
	if d := next("ann"); d.ID != first.ID+1 {
		t.Errorf("%+v was skipped, then came %+v", first, d)
	}
	if d := next("bob"); d != first {
		t.Errorf("another judge gets %+v, not %+v", d, first)
	}
	if err := a.Skip("bob", first.ID); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for next("ann") != first {
		seen++
	}
	if seen != skipFor {
		t.Errorf("it came again after %d more", seen)
	}
	if _, err := a.Report(Result{Duel: first.ID}); err != nil {
		t.Fatal(err)
	}
	if err := a.Skip("ann", first.ID); err != nil {
		t.Error(err) // it has a result
	}
	if err := a.Skip("ann", 1<<40); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	// With two arms in a sweep there is no other duel.
	a = begin(t, Config{Arms: names(2), Design: Design{Delta: 1e-9, Testing: Sweep}, Seed: 1}, nil)
	only := next("")
	for range 20 {
		if err := a.Skip("", only.ID); err != nil {
			t.Fatal(err)
		}
		if d := next(""); d != only {
			t.Fatalf("%+v", d)
		}
	}
}

// The records of judges are those of what they said.
func TestJudges(t *testing.T) {
	a := begin(t, Config{Arms: names(3), Design: Design{Delta: 1e-40}, Seed: 1, Order: RandomOrder}, nil)
	if a.Judges() != nil {
		t.Error("there are judges before the first")
	}
	said := map[string]int64{}
	for i := range 300 {
		next, err := a.Next(1)
		if err != nil {
			t.Fatal(err)
		}
		d := next[0]
		r := Result{Duel: d.ID, AWon: d.A < d.B, Judge: []string{"ann", "bob", "contrary", ""}[i/2%4]}
		if r.Judge == "contrary" {
			r.AWon = !r.AWon
		}
		r.Tie = r.Judge == "bob" && i%3 == 1
		said[r.Judge]++
		if _, err := a.Report(r); err != nil {
			t.Fatal(err)
		}
		if i%100 == 50 {
			a = reborn(t, a, i/100%2, nil)
		}
	}
	j := a.Judges()
	if len(j.Judges) != 3 || j.Unlisted != 0 || len(j.Disputed) == 0 {
		t.Fatalf("%+v", j)
	}
	for _, x := range j.Judges {
		if x.Judgments != said[x.Judge] || x.Lean == nil || x.Lean.Duels != x.Judgments || x.Agreement == nil {
			t.Errorf("%+v, of %d", x, said[x.Judge])
		}
		if g := x.Agreement; g != nil && !(g.Low <= g.Rate && g.Rate <= g.High) {
			t.Errorf("%+v", g)
		}
	}
	if c := j.Judges[2]; c.Judge != "contrary" || c.Agreement.Rate != 0 || c.Agreement.Low != 0 {
		t.Errorf("%+v", c)
	}
	if b := j.Judges[1]; b.Ties < 20 || b.Ties != a.State().Ties {
		t.Errorf("%+v, %d ties", b, a.State().Ties)
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Restore(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(j, b.Judges()); diff != "" {
		t.Error(diff)
	}
	if plain, _, _ := strings.Cut(string(text), `,"crc32c"`); json.Unmarshal([]byte(plain+"}"), b) != nil {
		t.Error("not restored without its checksum")
	}
	for what, old := range map[string]string{`"name":"bob"`: `"name":"ann"`, `"pairs":[[0,1,`: `"pairs":[[1,1,`, `"judged":76`: `"judged":75`} {
		plain, _, _ := strings.Cut(string(text), `,"crc32c"`) // without its checksum
		bad := strings.Replace(plain+"}", what, old, 1)
		if _, err := Restore([]byte(bad), nil); err == nil || !strings.Contains(string(text), what) {
			t.Errorf("%s for %s is restored", old, what)
		}
	}
}

// Memory is bounded: what is beyond the limits is counted, and not kept.
func TestJudgesAreBounded(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	var b ballots
	for i := range maxJudges + 5 {
		b.add(fmt.Sprint("judge ", i), pair{0, 1}, 0, true)
	}
	for i := range maxPairs {
		b.add("judge 0", pair{1, 2 + i}, 1, false)
	}
	if len(b.judges) != maxJudges || b.pairs != maxPairs || b.unlisted != 5+maxJudges {
		t.Errorf("%d judges, %d pairs, %d unlisted", len(b.judges), b.pairs, b.unlisted)
	}
	again, err := b.save().load(maxPairs+2, 1<<20)
	if err != nil || again.pairs != b.pairs || again.unlisted != b.unlisted {
		t.Error(err, again.pairs, again.unlisted)
	}
	var x ties
	for i := range maxPairs + 7 {
		x.count(&pendingDuel{B: 1 + i, Tie: true}, maxPairs+8)
	}
	if x.unlisted != 7 || x.all != maxPairs+7 || len(x.pairs) != maxPairs {
		t.Errorf("%d of %d", x.unlisted, x.all)
	}
	y, err := x.save().load(maxPairs+8, x.all)
	if err != nil || y.all != x.all {
		t.Error(err, y.all)
	}
}

// The interval of the rate of agreement misses the true rate with probability 5% at most.
func TestAgreementIntervals(t *testing.T) {
	trials := trials(400)
	r := rand.New(philox.New(11, 0))
	for _, c := range []struct{ ann, bob, tie float64 }{{.9, .9, 0}, {.5, .8, .3}, {1, 1, 0}, {.99, .97, 0}} {
		missed := 0
		for range trials {
			var b ballots
			say := func(name string, p pair, x float64) {
				switch u := r.Float64(); {
				case u < c.tie:
					b.add(name, p, 2, true)
				case r.Float64() < x:
					b.add(name, p, 0, true)
				default:
					b.add(name, p, 1, true)
				}
			}
			for i := range 5 {
				for range 3 {
					say("ann", pair{i, i + 1}, c.ann)
				}
				for range 2 + i {
					say("bob", pair{i, i + 1}, c.bob)
				}
			}
			truth := c.tie*c.tie + (1-c.tie)*(1-c.tie)*(c.ann*c.bob+(1-c.ann)*(1-c.bob))
			if g := b.report(false).Judges[0].Agreement; g.Compared != 14 || truth < g.Low-slack || truth > g.High+slack {
				missed++
			}
		}
		atMost(t, fmt.Sprint(c), missed, trials, .05)
	}
}
