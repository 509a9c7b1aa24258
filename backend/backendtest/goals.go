package backendtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// Goals checks the fields of a goal that say which atoms may be returned (Ceiling, Exclude, From)
// or are scored first (Candidates), each by itself and mixed with the others. Answers are compared
// with the ranking of all atoms: it comes from a dense scan with a plain goal, which is compared with
// the oracle, and holds the exact scores that ceilings are compared with. The cases of a Part are the
// two collections of each set, in the order of the sets; in a Part, and with -short, every ladder is searched, and
// the further checks take turns: of four consecutive ladders each is checked in one other way.
func Goals(t *testing.T, open func() backend.Backend, p Part) {
	inTurn := p.Of > 1 || testing.Short()
	for k, s := range goalSets() {
		if testing.Short() && k%2 == 0 && p.Of <= 1 {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			b := opened(t, open)
			all := kinds(k) // a metric, and float32 coordinates in a basis or nothing but rows
			for i, opt := range []collection.Options{all[(k+1)%3], all[3+k%3]} {
				if !p.has(2*k + i) {
					continue
				}
				x := newGoalCases(t, b, &s, opt)
				for turn, l := range Ladders(x.c, never) {
					name := fmt.Sprintf("%v, %v, %s", x.c.Metric, x.c.Basis, l.Name)
					got, _, err := l.Search(context.Background(), x.r, x.queries, x.goals)
					if unsupportedLook(err, &l) {
						continue
					}
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					for j := range got {
						if err := x.check(j, &got[j], &l); err != nil {
							t.Fatalf("%s, %s: %v", name, x.name(j), err)
						}
					}
					for n, check := range []func(){
						func() { x.checkAlone(t, name, got, &l) },
						func() { x.checkStops(t, name, &l) },
						func() { x.checkFloors(t, name, &l) },
						func() { x.checkLeaving(t, name, got, &l) },
					} {
						if !inTurn || (turn+p.I)%4 == n {
							check()
						}
					}
				}
			}
		})
	}
}

// goalSets are the sets of Goals: without ties, with many, with norms that decay, so that first looks
// end early, one of less than a panel, and counts, of which hardly any is not zero, so that nearly all
// scores of a query are.
func goalSets() []Set {
	r := vectors.Rand(12)
	sets := []Set{
		{Name: "gaussian", Dim: 144, Rows: vectors.Gaussian(r, 700, 144)},
		{Name: "ties", Dim: 80, Rows: vectors.Ties(r, 500, 80)},
		{Name: "power-law", Dim: 272, Rows: vectors.PowerLaw(r, 1100, 272)},
		{Name: "fewer than a panel", Dim: 100, Rows: vectors.Gaussian(r, 40, 100)},
	}
	for k := range sets {
		s := &sets[k]
		s.Queries = append(slices.Clone(s.Row(s.N()/3)), vectors.Gaussian(r, 1, s.Dim)...)
	}
	return append(sets, sparseCounts(r))
}

// sparseCounts is a set of rows with at most two coordinates that are not zero, but 1, 2 or 3. One query is a row;
// the other has one such coordinate, so that most goals want more atoms than have a score above zero.
func sparseCounts(r *rand.Rand) Set {
	const dim, n = 96, 400
	s := Set{Name: "sparse counts", Dim: dim, Rows: vectors.Sparse(r, n, dim, 2)}
	for i, v := range s.Rows {
		if v != 0 {
			s.Rows[i] = float32(1 + r.IntN(3))
		}
	}
	s.Queries = append(slices.Clone(s.Row(n/3)), make([]float32, dim)...)
	s.Queries[dim+dim/2] = 1
	return s
}

// goalCases are goals over one collection, with the ranking that says what their answers are.
type goalCases struct {
	goalSet
	s        *Set
	c        *collection.Collection
	r        backend.Resident
	o        *Oracle
	names    []string
	rankings []backend.Answer // by query of the Set: all atoms, best first
}

func newGoalCases(t *testing.T, b backend.Backend, s *Set, opt collection.Options) *goalCases {
	t.Helper()
	c := build(t, s, opt)
	x := &goalCases{s: s, c: c, r: loadResident(t, b, c), o: NewOracle(c)}
	n := s.N()
	plain := backend.Goal{K: n, Floor: math.Inf(-1), Allowed: n, Ceiling: math.Inf(1)}
	for j := range s.M() {
		scan := Ladder{Dense: true}
		q := backend.Queries{M: 1, Dim: s.Dim, Data: s.Query(j)}
		got, _, err := scan.Search(context.Background(), x.r, q, []backend.Goal{plain})
		if err != nil {
			t.Fatal(err)
		}
		if ds := x.o.Explain(s.Query(j), plain, got[0], x.o.Answer(s.Query(j), plain)); Count(ds, Tie) < len(ds) {
			t.Fatal(ds)
		}
		x.rankings = append(x.rankings, got[0])
	}
	x.addCases(vectors.Rand(uint64(n)))
	return x
}

// name describes goal j for messages.
func (x *goalCases) name(j int) string { return fmt.Sprintf("goal %d (%s)", j, x.names[j]) }

// addCases adds goals of each field in turn, and then of all fields mixed.
func (x *goalCases) addCases(rng *rand.Rand) {
	n := x.c.N
	for j := range x.s.M() {
		fields := x.fieldsOf(j, rng)
		for i, f := range fields { // each with a third of the K for each query
			k := []int{10, 1, 0}[(i+j)%3]
			x.addCase(j, fmt.Sprintf("%s, K %d", f.name, k), k, f.set)
		}
		x.addCase(j, "K all", n, nil)
		for range 16 {
			var some []goalField
			for range 2 + rng.IntN(4) {
				some = append(some, fields[rng.IntN(len(fields))])
			}
			name := ""
			for _, f := range some {
				name += f.name + ", "
			}
			k := []int{0, 1, 3, 10, n}[rng.IntN(5)]
			x.addCase(j, fmt.Sprintf("%sK %d", name, k), k, func(g *backend.Goal) {
				for _, f := range some {
					f.set(g)
				}
			})
		}
	}
}

// goalField sets one field of a goal.
type goalField struct {
	name string
	set  func(*backend.Goal)
}

// fieldsOf returns values of each field for query j.
func (x *goalCases) fieldsOf(j int, rng *rand.Rand) []goalField {
	var all []goalField
	add := func(name string, set func(*backend.Goal)) { all = append(all, goalField{name, set}) }
	n, ranked := x.c.N, x.rankings[j]
	atoms := func(ids []int64) []uint32 {
		out := make([]uint32, len(ids))
		for k, id := range ids {
			out[k] = uint32(x.o.Internal(int(id)))
		}
		slices.Sort(out)
		return out
	}
	those := func(keep func(i int) bool) (out []uint32) {
		for i := range n {
			if keep(i) {
				out = append(out, uint32(i))
			}
		}
		return out
	}
	panel := (n - 1) / 64 / 2
	for name, list := range map[string][]uint32{
		"none": nil, "the best": atoms(ranked.IDs[:1]), "the last": {uint32(n - 1)},
		"the best 20": atoms(ranked.IDs[:20]), "every third": those(func(i int) bool { return i%3 == 1 }),
		"a panel": those(func(i int) bool { return i/64 == panel }), "the first panel": those(func(i int) bool { return i < 64 }),
		"all but one": those(func(i int) bool { return i != n/2 }), "all": those(func(int) bool { return true }),
	} {
		add("exclude "+name, func(g *backend.Goal) { g.Exclude = list })
	}
	for _, from := range []int{0, 1, 63, 64, 65, n/2 + 7, n - 1, n} {
		add(fmt.Sprintf("from %d", min(from, n)), func(g *backend.Goal) { g.From = min(from, n) })
	}
	for name, list := range map[string][]uint32{
		"one": atoms(ranked.IDs[3:4]), "the best 10": atoms(ranked.IDs[:10]), "the best 30": atoms(ranked.IDs[:30]),
		"the worst 12": atoms(ranked.IDs[n-12:]), "7 anywhere": atoms(ranked.IDs)[n/5 : n/5+7],
		"half": those(func(i int) bool { return i%2 == 0 }), "all": those(func(int) bool { return true }),
	} {
		add("candidates "+name, func(g *backend.Goal) { g.Candidates = list })
	}
	scores := ranked.Scores
	between := func(rank int) float64 { return scores[rank] + (scores[rank-1]-scores[rank])/2 }
	for name, ceiling := range map[string]float64{
		"above all": math.Nextafter(scores[0], math.Inf(1)), "the best score": scores[0], "just below the best": math.Nextafter(scores[0], math.Inf(-1)),
		"the 6th score": scores[5], "between ranks": between(min(35, n-1)), "the middle score": scores[n/2],
		"the last score": scores[n-1], "below all": math.Nextafter(scores[n-1], math.Inf(-1)), "far below all": -1e200,
	} {
		add("ceiling "+name, func(g *backend.Goal) { g.Ceiling = ceiling })
	}
	add("ceiling the middle score, few better", func(g *backend.Goal) { g.Ceiling, g.MaxBetter = scores[n/2], .01 })
	add("exclude the best half, few better", func(g *backend.Goal) { g.Exclude, g.MaxBetter = atoms(ranked.IDs[:n/2]), .01 })
	for name, floor := range map[string]float64{"the 8th score": scores[7], "between ranks": between(n / 2)} {
		add("floor "+name, func(g *backend.Goal) { g.Floor = floor })
	}
	share := 2 + rng.IntN(8)
	half, _ := x.o.Filter(func(row int) bool { return row*7919%10 < share })
	few, _ := x.o.Filter(func(row int) bool { return row%40 == 2 })
	for name, f := range map[string]*backend.Filter{"filter of many": half, "filter of few": few} {
		add(name, func(g *backend.Goal) { g.Filter = f })
		add(name+", gathered", func(g *backend.Goal) { g.Filter, g.Gather = f, true })
	}
	slices.SortFunc(all, func(a, b goalField) int { return strings.Compare(a.name, b.name) })
	return all
}

// addCase adds a goal of query j after removing the candidates that it does not allow.
func (x *goalCases) addCase(j int, name string, k int, set func(*backend.Goal)) {
	g := backend.Goal{K: min(k, x.c.N), Floor: math.Inf(-1), Ceiling: math.Inf(1)}
	if set != nil {
		set(&g)
	}
	var candidates []uint32
	for _, i := range g.Candidates {
		if x.o.allows(&g, int(x.c.Order[i])) {
			candidates = append(candidates, i)
		}
	}
	g.Candidates = candidates
	for row := range x.c.N {
		if x.o.allows(&g, row) {
			g.Allowed++
		}
	}
	x.names = append(x.names, name)
	x.of = append(x.of, j)
	x.queries.M, x.queries.Dim = x.queries.M+1, x.s.Dim
	x.queries.Data = append(x.queries.Data, x.s.Query(j)...)
	x.goals = append(x.goals, g)
	x.want = append(x.want, x.rightAnswer(j, &g))
}

// rightAnswer derives the answer to goal g of query j from the ranking of all atoms.
func (x *goalCases) rightAnswer(j int, g *backend.Goal) backend.Answer {
	var a backend.Answer
	for rank, id := range x.rankings[j].IDs {
		score := x.rankings[j].Scores[rank]
		if score < g.Floor || score > g.Ceiling || !x.o.allows(g, int(id)) {
			continue
		}
		if g.K > 0 && len(a.IDs) == g.K {
			break
		}
		a.IDs, a.Scores = append(a.IDs, id), append(a.Scores, score)
	}
	return a
}

// check compares the answer of an uninterrupted search to goal j with the right one, and its figures
// with what the goal allows.
func (x *goalCases) check(j int, got *backend.Answer, l *Ladder) error {
	g := &x.goals[j]
	if err := x.sameAnswer(got, &x.want[j]); err != nil {
		return err
	}
	if !got.Complete() {
		return fmt.Errorf("open up to %g", got.OpenBound)
	}
	if got.Random && !l.Random {
		return fmt.Errorf("random")
	}
	if err := checkReports(got, x.c.N); err != nil {
		return err
	}
	given := len(g.Candidates)
	if g.K == 0 {
		given = 0
	}
	scored := min(1, given) // at least a sample
	if len(got.Looks) > 0 && got.Looks[0].Seen > g.Allowed-scored {
		return fmt.Errorf("the first look saw %d atoms of %d allowed, %d of them candidates", got.Looks[0].Seen, g.Allowed, given)
	}
	if got.RowsScored < scored {
		return fmt.Errorf("%d rows scored, there are %d candidates", got.RowsScored, given)
	}
	if !got.Dense && got.RowsScored > g.Allowed {
		return fmt.Errorf("%d rows scored, though only %d atoms are allowed", got.RowsScored, g.Allowed)
	}
	if l.Dense {
		rows := x.c.N
		if g.Filter != nil && g.Gather {
			rows = g.Filter.Len()
		}
		if got.RowsScored != rows+given || got.Pulls != int64(rows+given)*int64(x.c.Dim) {
			return fmt.Errorf("%d rows scored with %d pulls, want %d and %d candidates", got.RowsScored, got.Pulls, rows, given)
		}
	}
	if len(l.Looks) > 0 && l.Looks[0].Rep.ForFirstLook() && len(got.Looks) > 0 {
		if first := got.Looks[0]; first.Seen+first.Disallowed > x.c.N-g.From/strip*strip {
			return fmt.Errorf("the first look read %d atoms of %d from %d on", first.Seen+first.Disallowed, x.c.N, g.From)
		}
	}
	return nil
}

// sameAnswer returns an error unless got has the atoms and the scores of want.
func (x *goalCases) sameAnswer(got, want *backend.Answer) error {
	if slices.Equal(got.IDs, want.IDs) && slices.Equal(got.Scores, want.Scores) {
		return nil
	}
	return fmt.Errorf("-want +got:\n%s%s", cmp.Diff(want.IDs, got.IDs), cmp.Diff(want.Scores, got.Scores))
}
