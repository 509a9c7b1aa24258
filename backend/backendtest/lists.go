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
	"thresher/bandit/philox"
	"thresher/collection"
)

// Lists checks that exact and certain answers are one list on every processor and
// device, ids and scores bit for bit: the list that score, then id, orders. On sets of
// whole numbers with atoms that are multiples of others, scores are known from
// integers; on all sets answers have one digest, which listDigests holds.
func Lists(t *testing.T, open func() backend.Backend) {
	b := opened(t, open)
	for k, s := range listSets() {
		t.Run(s.Name, func(t *testing.T) {
			for _, metric := range listMetrics {
				t.Run(metric.String(), func(t *testing.T) {
					var all [][]listing
					for _, opt := range []collection.Options{{Metric: metric, Seed: 3}, {Metric: metric, Seed: 4, Basis: collection.Raw}} {
						all = append(all, listings(t, b, &s.Set, opt)...)
					}
					for i, got := range all {
						if k < wholeSets {
							s.known(t, metric, got)
						}
						if d := digest(got); d != listDigests[s.Name+" "+metric.String()] {
							t.Errorf("ladder %d: digest %s, want %s", i, d, listDigests[s.Name+" "+metric.String()])
						}
					}
				})
			}
		})
	}
}

// listMetrics are those whose scores are canonical on every backend.
var listMetrics = []collection.Metric{collection.InnerProduct, collection.Cosine}

// listDigests are what answers to each set come to by each metric. Whoever changes
// one changes the scores that users keep: docs/guarantee.md says how scores are formed.
var listDigests = map[string]string{
	"bits cosine":                    "9fde667d9295073b",
	"bits ip":                        "9d0350c9d63bcd1b",
	"bytes cosine":                   "5b635411a65ea24a",
	"bytes ip":                       "f0c71259f33df2a3",
	"mantissas cosine":               "24721a4b39814b2e",
	"mantissas ip":                   "e2aa0659f31a6897",
	"mantissas of many sizes cosine": "8af9edda804b0263",
	"mantissas of many sizes ip":     "8bac6f31c0180416",
	"small whole numbers cosine":     "db3e0439c100dc41",
	"small whole numbers ip":         "ed303530aa431451",
}

// listSet is a set with the queries of its last row's kind.
type listSet struct {
	Set
	whole []int64 // the coordinates, of sets of whole numbers: rows, then queries
}

// wholeSets is how many of the sets, the first, hold whole numbers.
const wholeSets = 3

// listSets draws them by integer arithmetic alone, so that they are the same
// everywhere.
func listSets() []listSet {
	const n, m = 420, 6
	r := philox.New(18, 4)
	draw := func(below int) int64 { return int64(r.Uint64() % uint64(below)) }
	var all []listSet
	for _, x := range []struct {
		name  string
		dim   int
		width int // of coordinates
	}{{"small whole numbers", 24, 7}, {"bits", 131, 2}, {"bytes", 65, 256}} {
		s := listSet{Set: Set{Name: x.name, Dim: x.dim}}
		for i := range n + m {
			for j := range x.dim {
				v := draw(x.width)
				switch from := (i*i + 7) % max(i, 1); {
				case x.name == "small whole numbers":
					v -= int64(x.width / 2)
					if i < n && i%3 == 2 { // a multiple of a row before it
						v = s.whole[from*x.dim+j] * (1 + int64(i%5))
					}
				case i < n && i%4 == 3:
					v = s.whole[from*x.dim+j] * (1 + int64(i%3))
				case i < n && i%50 == 1:
					v = 0
				}
				s.whole = append(s.whole, v)
			}
		}
		for i, v := range s.whole {
			if i < n*x.dim {
				s.Rows = append(s.Rows, float32(v))
			} else {
				s.Queries = append(s.Queries, float32(v))
			}
		}
		all = append(all, s)
	}
	for _, x := range []struct {
		name string
		dim  int
		span int // of exponents
	}{{"mantissas", 77, 1}, {"mantissas of many sizes", 300, 24}} {
		s := listSet{Set: Set{Name: x.name, Dim: x.dim}}
		for i := range n + m {
			for j := range x.dim {
				v := float32(math.Ldexp(float64(draw(1<<24)-1<<23), int(draw(x.span))-23-x.span/2))
				if i < n && i%4 == 3 { // a row before it, times a power of two
					v = s.Rows[(i*i+7)%i*x.dim+j] * float32(int(1)<<(i%3))
				}
				if i < n {
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

// listing is an answer with its goal.
type listing struct {
	query  int
	goal   backend.Goal
	answer backend.Answer
}

// listings answers a set's queries by every ladder without chance.
func listings(t *testing.T, b backend.Backend, s *Set, opt collection.Options) (all [][]listing) {
	c := build(t, s, opt)
	r := load(t, b, c)
	o := NewOracle(c)
	some, allowed := o.Filter(func(row int) bool { return row%3 != 1 })
	var q backend.Queries
	var goals []backend.Goal
	for j := range s.M() {
		for _, k := range []int{1, 10, 40} {
			g := backend.Goal{K: k, Floor: math.Inf(-1), Allowed: s.N(), Skip: -1}
			if k == 10 {
				g.Filter, g.Allowed = some, allowed
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
		if refused(err, &l) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", l.Name, err)
		}
		var of []listing
		for j, a := range answers {
			of = append(of, listing{j / 3, goals[j], a})
		}
		all = append(all, of)
	}
	return all
}

// digest is a hash of the ids and the bits of the scores.
func digest(of []listing) string {
	h := sha256.New()
	for _, l := range of {
		for i, id := range l.answer.IDs {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(l.answer.Scores[i])))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// known compares answers with the lists that integers give: atoms by score, equal
// ones by id.
func (s *listSet) known(t *testing.T, metric collection.Metric, got []listing) {
	t.Helper()
	wrong := 0
	for _, l := range got {
		q := s.whole[len(s.Rows)+l.query*s.Dim:][:s.Dim]
		scores := make([]*big.Rat, s.N())
		var ids []int64
		for i := range scores {
			scores[i] = exactly(metric, q, s.whole[i*s.Dim:(i+1)*s.Dim])
			if l.goal.Filter == nil || i%3 != 1 {
				ids = append(ids, int64(i))
			}
		}
		slices.SortStableFunc(ids, func(a, b int64) int { return scores[b].Cmp(scores[a]) })
		ids = ids[:min(l.goal.K, len(ids))]
		if !slices.Equal(ids, l.answer.IDs) {
			wrong++
			t.Logf("query %d, K %d: list %v, want %v", l.query, l.goal.K, l.answer.IDs, ids)
		}
		for k, id := range l.answer.IDs {
			same := k > 0 && scores[id].Cmp(scores[l.answer.IDs[k-1]]) == 0
			if k > 0 && same != (l.answer.Scores[k] == l.answer.Scores[k-1]) {
				t.Errorf("query %d: scores %v and %v of atoms whose true ones are %v and %v", l.query, l.answer.Scores[k-1], l.answer.Scores[k],
					scores[l.answer.IDs[k-1]], scores[id])
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d lists are not the ones that score, then id, orders", wrong, len(got))
	}
}

// exactly is a score, of cosine the signed square times |q|^2.
func exactly(metric collection.Metric, q, v []int64) *big.Rat {
	var dot, square, apart int64
	for j, x := range v {
		dot, square, apart = dot+q[j]*x, square+x*x, apart+(q[j]-x)*(q[j]-x)
	}
	switch {
	case metric == collection.Euclidean:
		return big.NewRat(-apart, 2)
	case metric == collection.Cosine && dot != 0:
		r := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(dot), big.NewInt(max(dot, -dot))), big.NewInt(square))
		return r
	}
	return big.NewRat(dot, 1)
}
