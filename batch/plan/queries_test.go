package plan

import (
	"testing"

	"pgregory.net/rapid"

	"thresher/backend"
)

// zen5 returns costs as Measure finds them on a processor with 512-bit operations.
func zen5() backend.Costs {
	return backend.Costs{Scan: .0022, Wide: .0021, Transpose: .023, Test: .24, List: 1, Visit: 12, Code: .0079, Sign: .0031, Far: .05,
		Fetch: 110, Score: .11, Dense: .0078, DenseTest: .23, DenseOne: .039, Gather: .6, Rotate: 1.7, Query: 400}
}

// records returns a problem of text embeddings of which looks at prefixes keep many arms.
func records(k, queries int) *problem {
	p := text()
	p.k, p.queries, p.costs = k, queries, zen5()
	for i, shares := range [][]float64{{.02, .01, .005, .002, .0001}, {.2, .1, .045, .02, .0008}, {.3, .15, .06, .03, .0024}} {
		for j, s := range shares {
			p.curves.shares[i][j] = logs([][]float64{{s}})[0][0]
		}
	}
	p.curves.certain = p.curves.shares
	return p
}

func TestTogether(t *testing.T) {
	for _, x := range []struct{ queries, want int }{{1, 1}, {2, 2}, {3, 4}, {7, 4}, {8, 16}, {31, 16}, {32, 64}, {127, 64}, {128, 256}, {256, 256}, {100_000, 256}} {
		if got := Together(x.queries); got != x.want {
			t.Errorf("%d queries count as %d, want %d", x.queries, got, x.want)
		}
	}
}

// TestQueriesShareReading: first looks at whole rows and dense scans of rows from memory cost less for each
// of many queries, so that few queries get a narrower look.
func TestQueriesShareReading(t *testing.T) {
	for _, x := range []struct {
		k, queries int
		m          Method
		want       string
	}{
		{100, 4, Auto, "128,whole,rescore"},
		{100, 256, Auto, "whole,rescore"},
		{1500, 4, Certain, "whole,rescore"},
		{1500, 256, Certain, "whole,rescore"},
		{1500, 256, Auto, "whole,rescore"},
		{100, 256, Certain, "whole,rescore"},
	} {
		p := records(x.k, x.queries)
		if got := p.name(p.chooseLadder(x.m)); got != x.want {
			for _, l := range p.ladders(x.m) {
				l, cost := p.withSource(l)
				t.Logf("%-22s %.4f ns  source %d  %+v", p.name(l), cost, l.source, p.forecast(l, p.rankOf(l)))
			}
			t.Errorf("%s of the %d best of %d queries by %s, want %s", x.m, x.k, x.queries, got, x.want)
		}
	}
}

// TestSourceOfThresholds: exact scores make thresholds where rows are in caches, unless whole rows are read for many
// queries, whose own bounds do; one query does not fetch rows from memory for them.
func TestSourceOfThresholds(t *testing.T) {
	whole := ladder{stages: []int{4}}
	for _, x := range []struct {
		name   string
		change func(p *problem)
		want   backend.Source
	}{
		{"rows in caches", func(p *problem) { p.arms, p.atoms, p.panels, p.dim, p.rest = 5000, 5000, 79, 128, 128 }, backend.LowerBound},
		{"rows in caches, few wanted", func(p *problem) { p.arms, p.atoms, p.panels, p.dim, p.rest, p.k = 5000, 5000, 79, 128, 128, 10 }, backend.Exact},
		{"rows in caches, one query", func(p *problem) {
			p.arms, p.atoms, p.panels, p.dim, p.rest, p.queries = 5000, 5000, 79, 128, 128, 1
		}, backend.Exact},
		{"rows from memory, one query", func(p *problem) { p.queries = 1 }, backend.LowerBound},
	} {
		p := records(100, 256)
		x.change(p)
		if l, _ := p.withSource(whole); l.source != x.want {
			t.Errorf("%s: thresholds from source %d, want %d", x.name, l.source, x.want)
		}
	}
}

// TestCertainScansDensely: certain takes the dense scan where it costs less than every ladder, and
// never otherwise.
func TestCertainScansDensely(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		chosen := p.chooseLadder(Certain)
		waits := p.queries == 1 && !p.near(4*p.dim) // one query waits for rows from memory
		if 2*p.k > p.arms || 4*p.k > p.arms && !waits {
			if !chosen.dense() {
				t.Errorf("%d of %d wanted by %s", p.k, p.arms, p.name(chosen))
			}
			return
		}
		_, dense := p.withSource(p.denseLadder())
		for _, l := range p.lookLadders(true) {
			if _, cost := p.withSource(l); chosen.dense() && cost < dense {
				t.Errorf("scans densely at %g ns, %s costs %g", dense, p.name(l), cost)
			}
		}
		if _, cost := p.withSource(chosen); cost > dense {
			t.Errorf("%s at %g ns, a dense scan costs %g", p.name(chosen), cost, dense)
		}
	})
}

// TestManyWanted: if more than a quarter of the atoms is wanted, up to half of them, only one query that
// waits for rows from memory is answered by looks.
func TestManyWanted(t *testing.T) {
	for _, x := range []struct {
		what    string
		part    int // the atoms over those wanted
		queries int
		dim     int
		dense   bool
	}{
		{"one query, a third", 3, 1, 768, false},
		{"one query, more than half", 1, 1, 768, true},
		{"one query, a third of rows in a cache", 3, 1, 16, true},
		{"four queries, a third", 3, 4, 768, true},
		{"unknown queries, a third", 3, 0, 768, true},
	} {
		p := records(0, x.queries)
		p.k, p.dim = p.atoms/x.part, x.dim
		for _, m := range []Method{Auto, Certain} {
			if got := p.chooseLadder(m).dense(); got != x.dense {
				t.Errorf("%s by %s: dense %v, want %v", x.what, m, got, x.dense)
			}
		}
	}
}

// TestFloorsNarrowLooks: a threshold that other vectors have made before the first look is worth what it
// keeps: fewer arms are listed and scored than without it, the more vectors it is of the fewer, and no plan costs more.
func TestFloorsNarrowLooks(t *testing.T) {
	for _, m := range []Method{Auto, Certain, Adaptive} {
		for _, k := range []int{1, 10, 100} {
			before := records(k, 64)
			for _, vectors := range []float64{20_000, 60_000, 600_000} {
				p := records(k, 64)
				p.before = vectors
				for _, l := range p.ladders(m) {
					if l.dense() {
						continue
					}
					l, _ := p.withSource(l)
					got, want := p.forecast(l, p.rankOf(l)), before.forecast(l, before.rankOf(l))
					if got.list > want.list || got.total() > want.total() || got.kept[0] > want.kept[0] {
						t.Errorf("%s of %d after %g vectors: %+v, %+v before", p.name(l), k, vectors, got, want)
					}
				}
				before = p
			}
		}
	}
}
