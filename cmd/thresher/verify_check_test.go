package main

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
)

// answered makes the right answers to queries and passes each with its scores
// to visit, one after the other.
func answered(t *testing.T, o *oracle, queries []float32, k int, visit func(g given, q []float32, s scored)) {
	t.Helper()
	o.threads = 1
	err := o.each(context.Background(), queries, func(j int, s scored) {
		g := given{query: int64(j), claim: claim{guarantee: batch.GuaranteeProbabilistic, delta: .01}}
		q := queries[j*o.dim : (j+1)*o.dim]
		for _, i := range ranking(s.search, k, -1, nil) {
			score, _ := o.reported(q, s, i)
			g.ids = append(g.ids, int64(i))
			g.scores = append(g.scores, float32(score))
		}
		visit(g, q, s)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckAcceptsTheTruth(t *testing.T) {
	const n, d, m, k = 50, 9, 6, 5
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		for _, scale := range []float32{1e-18, 1, 1e15} {
			atoms, queries := gaussian(1, n*d), gaussian(2, m*d)
			for i := range atoms {
				atoms[i] *= scale
			}
			c := check{oracle: newOracle(atoms, d, metric, 1), k: k}
			answered(t, c.oracle, queries, k, func(g given, q []float32, s scored) {
				if f, _ := c.one(g, q, s, nil); f.malformed != "" || f.wrong {
					t.Errorf("%v, scale %g, query %d: %+v", metric, scale, g.query, f)
				}
			})
		}
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	const n, d, k = 50, 9, 5
	atoms, queries := gaussian(1, n*d), gaussian(2, d)
	o := newOracle(atoms, d, collection.InnerProduct, 1)
	// worse puts the true atom of rank k+1 in the place of rank k.
	worse := func(g *given, s scored) {
		next := ranking(s.search, k+1, -1, nil)[k]
		g.ids[k-1], g.scores[k-1] = int64(next), float32(s.search[next])
	}
	cases := []struct {
		name      string
		change    func(g *given, s scored)
		malformed string
		wrong     bool
	}{
		{"nothing", func(*given, scored) {}, "", false},
		{"an id below the range", func(g *given, _ scored) { g.ids[2] = -1 }, "outside [0, 50)", false},
		{"an id above the range", func(g *given, _ scored) { g.ids[2] = n }, "outside [0, 50)", false},
		{"an id twice", func(g *given, _ scored) { g.ids[2] = g.ids[1] }, "twice", false},
		{"a wrong score", func(g *given, _ scored) { g.scores[0] *= 1.001 }, "scores", false},
		{"a score that is none", func(g *given, _ scored) { g.scores[4] = float32(math.NaN()) }, "scores", false},
		{"too few", func(g *given, _ scored) { g.ids, g.scores = g.ids[:4], g.scores[:4] }, "4 atoms where 5", false},
		{"too many", func(g *given, s scored) {
			next := ranking(s.search, k+1, -1, nil)[k]
			g.ids, g.scores = append(g.ids, int64(next)), append(g.scores, float32(s.search[next]))
		}, "6 atoms where 5", false},
		{"scores missing", func(g *given, _ scored) { g.scores = g.scores[:3] }, "3 scores for 5 ids", false},
		{"wrong order", func(g *given, _ scored) {
			g.ids[0], g.ids[1] = g.ids[1], g.ids[0]
			g.scores[0], g.scores[1] = g.scores[1], g.scores[0]
		}, "rank 2 scores better than rank 1", false},
		{"the best left away", worse, "", true},
		{"within epsilon", func(g *given, s scored) {
			g.claim.epsilon = float64(g.scores[k-1]) - s.search[ranking(s.search, k+1, -1, nil)[k]] + 1e-6
			worse(g, s)
		}, "", false},
		{"partial with a true bound", func(g *given, s scored) {
			g.claim.partial, g.claim.open = true, s.search[g.ids[1]]
			g.ids, g.scores = g.ids[3:], g.scores[3:]
			g.claim.open = float64(g.scores[0]) + 1e3
		}, "", false},
		{"partial with a false bound", func(g *given, s scored) {
			g.claim.partial, g.claim.open = true, s.search[g.ids[1]]
			g.ids, g.scores = g.ids[2:], g.scores[2:]
		}, "", true},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			c := check{oracle: o, k: k}
			answered(t, o, queries, k, func(g given, q []float32, s scored) {
				x.change(&g, s)
				f, _ := c.one(g, q, s, nil)
				if f.wrong != x.wrong || (x.malformed == "") != (f.malformed == "") || !strings.Contains(f.malformed, x.malformed) {
					t.Errorf("finding %+v, want malformed %q, wrong %v", f, x.malformed, x.wrong)
				}
				if f.wrong && (len(f.missed) == 0 || f.gap <= 0) {
					t.Errorf("finding %+v does not say what is missing", f)
				}
			})
		})
	}
}

// TestCheckExcusesRounding: two atoms whose scores differ by less than the
// margin may stand for each other, and no more than that.
func TestCheckExcusesRounding(t *testing.T) {
	for _, x := range []struct {
		second float32
		wrong  bool
	}{{1 - 1.0/(1<<23), false}, {1 - 1.0/(1<<20), true}} {
		c := check{oracle: newOracle([]float32{1, x.second, 0}, 1, collection.InnerProduct, 1), k: 1}
		answered(t, c.oracle, []float32{1}, 1, func(g given, q []float32, s scored) {
			g.ids[0], g.scores[0] = 1, x.second
			if f, _ := c.one(g, q, s, nil); f.wrong != x.wrong {
				t.Errorf("second best %g: wrong %v, want %v", x.second, f.wrong, x.wrong)
			}
		})
	}
}

// TestCheckExcusesSums: with l2, of two atoms that differ in the order of their
// entries alone, sums in float64 prefer one; either will do for a query too short
// to tell, and none that is longer by a millionth in one entry.
func TestCheckExcusesSums(t *testing.T) {
	const dim = 64
	rows := make([]float32, 3*dim)
	for j := range dim {
		v := float32(1e-8) // whose square is less than 1 rounds away
		if j == 0 {
			v = 1
		}
		rows[j], rows[2*dim-1-j], rows[2*dim+j] = v, v, v
	}
	rows[2*dim] += 1.0 / (1 << 20)
	c := check{oracle: newOracle(rows, dim, collection.Euclidean, 1), k: 1}
	q := make([]float32, dim)
	q[0] = 1e-20
	answered(t, c.oracle, q, 1, func(g given, q []float32, s scored) {
		if s.search[0] == s.search[1] {
			t.Fatalf("both orders sum to %v: the test shows nothing", s.search[0])
		}
		for id := range 3 {
			g.ids[0] = int64(id)
			score, _ := c.oracle.reported(q, s, id)
			g.scores[0] = float32(score)
			if f, _ := c.one(g, q, s, nil); f.wrong != (id == 2) || f.malformed != "" {
				t.Errorf("atom %d: finding %+v", id, f)
			}
		}
	})
}

func TestCheckOfLeastScore(t *testing.T) {
	limit := 2.5
	c := check{oracle: newOracle([]float32{1, 2, 3, 4, 5}, 1, collection.InnerProduct, 1), minScore: &limit}
	answered(t, c.oracle, []float32{1}, 3, func(g given, q []float32, s scored) {
		if f, _ := c.one(g, q, s, nil); f.wrong || f.malformed != "" || f.wanted != 3 {
			t.Errorf("right answer: %+v", f)
		}
		lacks := g
		lacks.ids, lacks.scores = slices.Delete(slices.Clone(g.ids), 1, 2), slices.Delete(slices.Clone(g.scores), 1, 2)
		if f, _ := c.one(lacks, q, s, nil); !f.wrong || !slices.Equal(f.missed, []int64{3}) {
			t.Errorf("an atom left away: %+v", f)
		}
		more := g
		more.ids, more.scores = append(slices.Clone(g.ids), 1), append(slices.Clone(g.scores), 2)
		if f, _ := c.one(more, q, s, nil); !strings.Contains(f.malformed, "beyond the limit") {
			t.Errorf("an atom too many: %+v", f)
		}
	})
}

func TestCheckOfSelves(t *testing.T) {
	c := check{oracle: newOracle([]float32{1, 2}, 1, collection.InnerProduct, 1), k: 2, selves: true}
	answered(t, c.oracle, []float32{1}, 2, func(g given, q []float32, s scored) {
		if f, _ := c.one(g, q, s, nil); !strings.Contains(f.malformed, "query itself") {
			t.Errorf("finding %+v", f)
		}
		g.ids, g.scores = g.ids[:1], g.scores[:1] // only atom 1 is left to return
		if f, _ := c.one(g, q, s, nil); f.malformed != "" || f.wrong {
			t.Errorf("finding %+v", f)
		}
	})
}

func TestVerdict(t *testing.T) {
	probabilistic := claim{guarantee: batch.GuaranteeProbabilistic, delta: .01}
	certain := claim{guarantee: batch.GuaranteeCertain}
	luckless := probabilistic
	luckless.exact = true
	wrong := finding{wrong: true, missed: []int64{4}}
	cases := []struct {
		name            string
		claim           claim
		right, wrong    int
		malformed       bool
		loose, strictly bool // whether the verdict is an error
	}{
		{"all right", probabilistic, 100, 0, false, false, false},
		{"as delta allows", probabilistic, 98, 2, false, false, false},
		{"far beyond delta", probabilistic, 80, 20, false, false, true},
		{"one wrong under certain", certain, 99, 1, false, true, true},
		{"one wrong without any chance taken", luckless, 99, 1, false, true, true},
		{"heuristic", claim{guarantee: batch.GuaranteeHeuristic}, 10, 90, false, false, false},
		{"malformed", probabilistic, 99, 0, true, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := verifyReport{Guarantees: map[batch.Guarantee]int64{}}
			for range c.right {
				r.add(finding{claim: c.claim})
			}
			for range c.wrong {
				f := wrong
				f.claim = c.claim
				r.add(f)
			}
			if c.malformed {
				r.add(finding{claim: c.claim, malformed: "bad"})
			}
			r.close()
			if (r.verdict(false) != nil) != c.loose || (r.verdict(true) != nil) != c.strictly {
				t.Errorf("verdicts %v and, strict, %v; report %+v", r.verdict(false), r.verdict(true), r)
			}
			if c.wrong > 0 && r.Neighbourhoods != 1 {
				t.Errorf("%d neighbourhoods, all lack the same atom", r.Neighbourhoods)
			}
		})
	}
}
