package backendtest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/philox"
)

// Lists checks that exact and certain answers are the same list on every processor and
// device, ids and scores bit for bit, ordered by score, then id. On sets of integers, in
// which some atoms are multiples of others, the correct scores follow from integer
// arithmetic; on all sets the answers must have the digest in listDigests.
func Lists(t *testing.T, open func() backend.Backend) {
	b := opened(t, open)
	for k, s := range listSets() {
		t.Run(s.Name, func(t *testing.T) {
			for m := range collection.Metrics() {
				metric := collection.Metric(m + 1)
				t.Run(metric.String(), func(t *testing.T) {
					var all [][]listAnswer
					for _, opt := range []collection.Options{{Metric: metric, Seed: 3}, {Metric: metric, Seed: 4, Basis: collection.Raw}} {
						all = append(all, listAnswers(t, b, &s.Set, opt)...)
					}
					if k < wholeSets {
						s.known(t, metric, all)
					}
					for i, got := range all {
						if d := digest(got); d != listDigests[s.Name+" "+metric.String()] {
							t.Errorf("ladder %d: digest %s, want %s", i, d, listDigests[s.Name+" "+metric.String()])
						}
					}
				})
			}
		})
	}
}

// listSet is a set; one of integers also has its coordinates as integers, those of the rows
// before those of the queries.
type listSet struct {
	Set
	whole []int64
}

// wholeSets is the number of sets of integers, which come first.
const wholeSets = 4

// listSets draws the sets by integer arithmetic only, so that they are the same on every
// machine.
func listSets() []listSet {
	const m = 6
	r := philox.New(18, 4)
	draw := func(below int) int64 { return int64(r.Uint64() % uint64(below)) }
	var all []listSet
	for _, x := range []struct {
		name   string
		n, dim int
		width  int // of coordinates
	}{{"small whole numbers", 1400, 24, 7}, {"bits", 420, 131, 2}, {"bytes", 420, 65, 256}, {"few dimensions", 420, 5, 5}} {
		s := listSet{Set: Set{Name: x.name, Dim: x.dim}}
		for i := range x.n + m {
			for j := range x.dim {
				v := draw(x.width)
				switch from := i * 2 / 3 / 12 * 12; { // a row that is no multiple
				case x.width < 10 && x.width > 2:
					v -= int64(x.width / 2)
					if i < x.n && i%3 == 2 { // a multiple of an earlier row
						v = s.whole[from*x.dim+j] * (1 + int64(i%5))
					}
				case i < x.n && i%4 == 3:
					v = s.whole[from*x.dim+j] * (1 + int64(i%3))
				case i < x.n && i%50 == 1:
					v = 0
				}
				s.whole = append(s.whole, v)
			}
		}
		for i, v := range s.whole {
			if i < x.n*x.dim {
				s.Rows = append(s.Rows, float32(v))
			} else {
				s.Queries = append(s.Queries, float32(v))
			}
		}
		all = append(all, s)
	}
	for _, x := range []struct {
		name   string
		n, dim int
		span   int // of exponents
	}{{"mantissas", 420, 77, 1}, {"mantissas of many sizes", 420, 300, 24}} {
		s := listSet{Set: Set{Name: x.name, Dim: x.dim}}
		for i := range x.n + m {
			for j := range x.dim {
				v := float32(math.Ldexp(float64(draw(1<<24)-1<<23), int(draw(x.span))-23-x.span/2))
				if i < x.n && i%4 == 3 { // an earlier row times a power of two
					v = s.Rows[i*2/3/12*12*x.dim+j] * float32(math.Ldexp(1, 30*(i%3-1)))
				}
				if i < x.n {
					s.Rows = append(s.Rows, v)
				} else {
					s.Queries = append(s.Queries, v)
				}
			}
		}
		all = append(all, s)
	}
	return all
}

// listGoal is a goal of every query: the k best of the allowed rows, or of all rows if allowed
// is nil.
type listGoal struct {
	k       int
	allowed func(row int) bool
}

var listGoals = []listGoal{
	{k: 1},
	{k: 40},
	{10, func(row int) bool { return row%3 != 1 }},
	{5, func(row int) bool { return row%29 < 2 }},
}

// listAnswer is the answer of a query to a listGoal.
type listAnswer struct {
	query int
	listGoal
	answer backend.Answer
}

// listAnswers answers a set's queries by every ladder of deterministic bounds.
func listAnswers(t *testing.T, b backend.Backend, s *Set, opt collection.Options) (all [][]listAnswer) {
	c := build(t, s, opt)
	r := loadResident(t, b, c)
	o := NewOracle(c)
	var q backend.Queries
	var goals []backend.Goal
	for j := range s.M() {
		for _, a := range listGoals {
			g := backend.Goal{K: a.k, Floor: math.Inf(-1), Allowed: s.N(), Ceiling: math.Inf(1)}
			if a.allowed != nil {
				g.Filter, g.Allowed = o.Filter(a.allowed)
			}
			q.M, q.Dim, q.Data = q.M+1, s.Dim, append(q.Data, s.Query(j)...)
			goals = append(goals, g)
		}
	}
	for _, l := range Ladders(c, never) {
		if l.Random {
			continue
		}
		answers, _, err := l.Search(context.Background(), r, q, goals)
		if unsupportedLook(err, &l) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		var of []listAnswer
		for i, a := range answers {
			j := i / len(listGoals)
			for k, id := range a.IDs {
				if want := c.Score(s.Query(j), int(id)); math.Float64bits(a.Scores[k]) != math.Float64bits(want) {
					t.Fatalf("%s: atom %d scores %x, want %x", l.Name, id, a.Scores[k], want)
				}
			}
			of = append(of, listAnswer{j, listGoals[i%len(listGoals)], a})
		}
		all = append(all, of)
	}
	return all
}

// digest is a hash of the ids and the bits of the scores.
func digest(of []listAnswer) string {
	h := sha256.New()
	for _, l := range of {
		for i, id := range l.answer.IDs {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(l.answer.Scores[i])))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// ranked is the correct order of the rows for a query, from integer arithmetic: by score,
// then number; and for each row the number of distinct scores above its own.
type ranked struct {
	ids   []int64
	above []int
}

func (s *listSet) ranked(metric collection.Metric, query int) *ranked {
	q := s.whole[len(s.Rows)+query*s.Dim:][:s.Dim]
	scores, r := make([]*big.Rat, s.N()), &ranked{above: make([]int, s.N())}
	for i := range scores {
		scores[i] = exactly(metric, q, s.whole[i*s.Dim:(i+1)*s.Dim])
		r.ids = append(r.ids, int64(i))
	}
	slices.SortStableFunc(r.ids, func(a, b int64) int { return scores[b].Cmp(scores[a]) })
	for k, id := range r.ids[1:] {
		before := r.ids[k]
		r.above[id] = r.above[before] + max(0, scores[before].Cmp(scores[id]))
	}
	return r
}

// known compares answers with the lists from integer arithmetic.
func (s *listSet) known(t *testing.T, metric collection.Metric, all [][]listAnswer) {
	t.Helper()
	want := make([]*ranked, s.M())
	for j := range want {
		want[j] = s.ranked(metric, j)
	}
	for i, got := range all {
		wrong := 0
		for _, l := range got {
			r := want[l.query]
			var ids []int64
			for _, id := range r.ids {
				if len(ids) < l.k && (l.allowed == nil || l.allowed(int(id))) {
					ids = append(ids, id)
				}
			}
			if !slices.Equal(ids, l.answer.IDs) {
				wrong++
				t.Logf("ladder %d, query %d, K %d: list %v, want %v", i, l.query, l.k, l.answer.IDs, ids)
			}
			for k := range l.answer.IDs[min(1, len(l.answer.IDs)):] {
				a, b := l.answer.IDs[k], l.answer.IDs[k+1]
				if (r.above[a] == r.above[b]) != (l.answer.Scores[k] == l.answer.Scores[k+1]) {
					t.Errorf("ladder %d, query %d: atoms %d and %d of %d and %d scores above theirs score %v and %v", i, l.query, a, b,
						r.above[a], r.above[b], l.answer.Scores[k], l.answer.Scores[k+1])
				}
			}
		}
		if wrong > 0 {
			t.Errorf("ladder %d: %d of %d lists are not the ones that score, then id, orders", i, wrong, len(got))
		}
	}
}
