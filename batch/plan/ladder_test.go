package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thresher/backend"
	"thresher/collection"
	_ "thresher/internal/draws"
)

// fast returns costs similar to those of assembly kernels.
func fast() backend.Costs {
	return backend.Costs{Scan: .005, Wide: .0055, Transpose: .03, Test: .15, List: 3, Visit: 15, Code: .012, Fetch: 120, Score: .1,
		Dense: .018, DenseTest: .2, DenseOne: .15, Gather: 1, Rotate: 3, Query: 1000}
}

// text returns a problem of text embeddings, on which looks keep few arms.
func text() *problem {
	return &problem{arms: 60000, atoms: 60000, panels: 938, dim: 768, head: 64, rest: 768, widths: []int{32, 64, 128, 256, 768},
		later: slices.Repeat([]backend.Representation{backend.RowCodes}, 5), panelWidth: 128,
		curves: newCurves(&collection.Pilot{Ks: []int{1, 10, 100}, Alpha: .001, Shares: [][]float64{
			{.0012, .0006, .0003, .00015, .00005},
			{.015, .0078, .0045, .0025, .0004},
			{.15, .09, .055, .03, .004},
		}}),
		k: 10, delta: .01, costs: fast(), limits: backend.PortableCapacity()}
}

func TestChoice(t *testing.T) {
	same := func(share, whole float64) *curves {
		p := &collection.Pilot{Ks: []int{1, 10, 100}, Alpha: .001}
		for range p.Ks {
			p.Shares = append(p.Shares, []float64{share, share, share, share, whole})
		}
		return newCurves(p)
	}
	for _, x := range []struct {
		name   string
		method Method
		change func(p *problem)
		want   string
	}{
		{"text", Auto, func(*problem) {}, "64,whole,rescore"},
		{"k 1", Auto, func(p *problem) { p.k = 1 }, "32,whole,rescore"},
		{"k 100, a wider look is cheaper but for queries alone", Auto, func(p *problem) { p.k = 100 }, "128,whole,rescore"},
		{"k 100, wider panels", Auto, func(p *problem) { p.k, p.panelWidth = 100, 256 }, "256,whole,rescore"},
		{"everything passes but whole rows tell", Auto, func(p *problem) {
			p.curves = same(1, .001)
		}, "whole,rescore"},
		{"the same, and no scans of whole rows", Auto, func(p *problem) {
			p.curves = same(1, .001)
			p.costs.Wide = 0
		}, "dense"},
		{"everything passes", Auto, func(p *problem) { p.curves = same(1, 1) }, "dense"},
		{"everything passes, adaptive", Adaptive, func(p *problem) { p.curves = same(1, 1) }, "whole,rescore"},
		{"nothing passes", Auto, func(p *problem) { p.curves = same(1e-7, 1e-7) }, "32,rescore"},
		{"a whole row tells no more than a prefix", Auto, func(p *problem) { p.curves = same(.01, .01) }, "32,rescore"},
		{"few vectors", Auto, func(p *problem) { p.arms, p.atoms = 40, 40 }, "dense"},
		{"few vectors allowed", Auto, func(p *problem) { p.arms, p.panels = 40, 40 }, "gather"},
		{"few vectors allowed, exact", Exact, func(p *problem) { p.arms, p.panels = 40, 40 }, "gather"},
		{"few vectors allowed, certain", Certain, func(p *problem) { p.arms, p.panels = 40, 40 }, "gather"},
		{"few vectors allowed, adaptive", Adaptive, func(p *problem) { p.arms, p.panels = 40, 40 }, "gather"},
		{"few vectors allowed, by costs of before", Auto, func(p *problem) { p.arms, p.panels, p.costs.Gather = 40, 40, 0 }, "gather"},
		{"a sixth allowed, anywhere", Auto, func(p *problem) { p.arms = 10000 }, "128,whole,rescore"},
		{"a sixth allowed, anywhere, and most of them wanted", Auto, func(p *problem) { p.arms, p.k = 10000, 9000 }, "gather"},
		{"a hundredth allowed, anywhere", Auto, func(p *problem) { p.arms, p.panels = 600, 446 }, "gather"},
		{"a hundredth allowed, anywhere, adaptive", Adaptive, func(p *problem) { p.arms, p.panels, p.k = 600, 446, 1 }, "whole,rescore"},
		{"a tenth allowed, side by side", Adaptive, func(p *problem) { p.arms, p.panels, p.k = 6000, 94, 1 }, "64,whole,rescore"},
		{"nearly all allowed, exact", Exact, func(p *problem) { p.arms = 59999 }, "dense"},
		{"half allowed, exact", Exact, func(p *problem) { p.arms = 30000 }, "gather"},
		{"half allowed, rows dear to gather", Exact, func(p *problem) { p.arms, p.costs.Gather = 30000, 100 }, "dense"},
		{"no codes", Auto, func(p *problem) { p.widths, p.curves = nil, newCurves(&collection.Pilot{}) }, "dense"},
		{"no pilot", Auto, func(p *problem) { p.curves = newCurves(&collection.Pilot{}) }, "dense"},
		{"a quarter wanted", Auto, func(p *problem) { p.k, p.arms, p.atoms = 15001, 60000, 60000 }, "dense"},
		{"certain, without forecast", Certain, func(*problem) {}, "whole,rescore"},
		{"certain, without forecast, without wide scans", Certain, func(p *problem) { p.costs.Wide, p.costs.Dense = 0, .1 }, "128,whole,rescore"},
		{"certain", Certain, func(p *problem) { p.curves.certain = p.curves.shares }, "64,whole,rescore"},
		{"certain bounds keep more", Certain, func(p *problem) { p.curves.certain = same(.05, .0004).shares }, "32,whole,rescore"},
		{"certain bounds keep a tenth, many queries", Certain, func(p *problem) { p.curves.certain = same(.1, .0004).shares }, "whole,rescore"},
		{"certain bounds keep a tenth, one query", Certain, func(p *problem) {
			p.curves.certain = same(.1, .0004).shares
			p.queries = 1
		}, "32,whole,rescore"},
		{"certain bounds keep all", Certain, func(p *problem) { p.curves.certain = same(1, .0004).shares }, "whole,rescore"},
		{"exact", Exact, func(*problem) {}, "dense"},
		{"visits for nothing", Auto, func(p *problem) { p.costs.Visit, p.costs.Code, p.costs.List = 1e-6, 1e-6, 1e-6 }, "32,whole,rescore"},
		{"rows are dear", Adaptive, func(p *problem) { p.costs.Fetch = 1e6 }, "whole,rescore"},
		{"looks at rows are dear", Auto, func(p *problem) { p.costs.Code = 1e6 }, "128,rescore"},
		{"signs tell most of what whole rows do", Auto, func(p *problem) { withSigns(p, .002) }, "64,signs,whole,rescore"},
		{"signs, and whole rows behind them", Auto, func(p *problem) {
			withSigns(p, .002)
			p.k, p.costs.Fetch = 60, 1e3
		}, "128,signs,whole,rescore"},
		{"signs are dear", Auto, func(p *problem) { withSigns(p, 1) }, "64,whole,rescore"},
		{"signs, certain", Certain, func(p *problem) {
			withSigns(p, .002)
			p.curves.certain = p.curves.shares
		}, "64,signs,whole,rescore"},
		{"signs, certain, without forecast of theirs", Certain, func(p *problem) {
			withSigns(p, .002)
			p.curves.certain = slices.Clone(p.curves.shares)
			for k, byStage := range p.curves.certain {
				p.curves.certain[k] = slices.Clone(byStage)
				p.curves.certain[k][3] = 0 // all atoms, as in older files
			}
		}, "64,whole,rescore"},
		{"no such looks", Auto, func(p *problem) { withSigns(p, 0) }, "64,whole,rescore"},
		{"mixed codes are cheap", Auto, func(p *problem) { p.costs.Mixed = .001 }, "mixed64,whole,rescore"},
		{"mixed codes are cheap, k 100, too few beside the head", Auto, func(p *problem) { p.k, p.costs.Mixed = 100, .001 }, "128,whole,rescore"},
		{"mixed codes are cheap, k 100", Auto, func(p *problem) { p.k, p.head, p.costs.Mixed = 100, 32, .001 }, "mixed128,whole,rescore"},
		{"mixed codes cost no less than the test", Auto, func(p *problem) { p.costs.Mixed = .005 }, "64,whole,rescore"},
		{"mixed codes are cheap, certain", Certain, func(p *problem) { p.curves.certain, p.costs.Mixed = p.curves.shares, 1e-6 }, "64,whole,rescore"},
		{"mixed codes are cheap, Euclidean distance", Auto, func(p *problem) { p.offsets, p.costs.Mixed = true, 1e-6 }, "64,whole,rescore"},
		{"mixed codes are cheap, but one query waits for them", Auto, func(p *problem) { p.queries, p.costs.Mixed = 1, 1e-6 }, "32,whole,rescore"},
		{"everything passes, dense", Auto, func(p *problem) { p.dim, p.k, p.curves = 64, 100, same(.3, .004) }, "dense"},
		{"the same, and norms end the look early", Auto, func(p *problem) {
			p.dim, p.k, p.curves = 64, 100, same(.3, .004)
			p.curves.reached = points{{math.Log(.02)}, {math.Log(.03)}, {math.Log(.05)}}
		}, "whole,rescore"},
		{"a dense scan for nothing", Auto, func(p *problem) { p.costs.Dense, p.costs.DenseTest, p.costs.DenseOne = 1e-6, 1e-6, 1e-6 }, "dense"},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := text()
			x.change(p)
			if got := p.name(p.chooseLadder(x.method)); got != x.want {
				for _, l := range p.ladders(x.method) {
					l, _ = p.withSource(l)
					f := p.forecast(l, p.rankOf(l))
					t.Logf("%-22s %.4f ns  source %d  %+v", p.name(l), f.total(), l.source, f)
				}
				t.Errorf("chose %s, want %s", got, x.want)
			}
		})
	}
}

// TestGathers: a first look gathers the codes of few allowed atoms that are anywhere, where many queries share them, and
// begins with fewer of them; it reads panels that few atoms of others are in, and on backends that copy no rows.
func TestGathers(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(p *problem)
		want   bool
	}{
		{"all allowed", func(*problem) {}, false},
		{"a tenth, anywhere", func(p *problem) { p.arms = 6000 }, true},
		{"a tenth, anywhere, for four queries", func(p *problem) { p.arms, p.queries = 6000, 4 }, false},
		{"a tenth, side by side", func(p *problem) { p.arms, p.panels = 6000, 94 }, false},
		{"nine tenths", func(p *problem) { p.arms = 54000 }, false},
		{"a tenth, anywhere, nothing is copied", func(p *problem) { p.arms, p.costs.Gather = 6000, 0 }, false},
	} {
		p := text()
		p.panels, p.queries = 938, 256
		x.change(p)
		for _, name := range []string{"", "64,whole,rescore"} {
			l := p.chooseLadder(Adaptive)
			if name != "" {
				var err error
				if l, err = p.parseLadder(name, Adaptive); err != nil {
					t.Fatal(err)
				}
				l = p.cheapest(p.eachStart(l))
			}
			look, first := p.makePlan(l).Looks[0], 1024
			if x.want {
				first = 256
			}
			if look.Gather != x.want || look.FirstChunk != first {
				t.Errorf("%s, %q: gathers %v, want %v, and begins with %d atoms", x.name, name, look.Gather, x.want, look.FirstChunk)
			}
		}
	}
}

// withSigns replaces the stage of 256 codes of text by a stage of signs.
func withSigns(p *problem, cost float64) {
	p.later[3], p.costs.Sign = backend.Signs, cost
	p.widths[3] = p.rest
	for k, s := range []float64{.00006, .0006, .006} {
		p.curves.shares[k][3] = math.Log(s)
	}
}

// drawn returns random problems: forecast shares fall with the width of looks and rise with k,
// and costs cover orders of magnitude.
func drawn(t *rapid.T) *problem {
	figure := func(name string, low, high float64) float64 {
		return math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, name))
	}
	p := &problem{atoms: rapid.IntRange(1, 1000000).Draw(t, "atoms"), dim: rapid.IntRange(16, 5000).Draw(t, "dim"),
		head: 32 * rapid.IntRange(0, 2).Draw(t, "head"), k: rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 300)).Draw(t, "k"), panelWidth: 128,
		offsets: rapid.Bool().Draw(t, "Euclidean distance"), limits: backend.PortableCapacity(),
		delta: figure("delta", 1e-9, .99), queries: rapid.SampledFrom([]int{0, 1, 2, 4, 16, 64, 256}).Draw(t, "queries")}
	if p.k == 0 && rapid.Bool().Draw(t, "a known number of answers") {
		p.reaching = figure("reaching", .01, float64(p.atoms)+1)
	}
	p.arms = rapid.IntRange(1, p.atoms).Draw(t, "arms")
	p.panels = rapid.IntRange((p.arms+63)/64, min(p.arms, (p.atoms+63)/64)).Draw(t, "panels")
	p.rest = (p.dim + 31) &^ 31
	for _, w := range []int{32, 64, 128, 160, 256, 1024} {
		if w < p.rest && (w == p.panelWidth || rapid.Bool().Draw(t, "stage")) {
			p.widths, p.later = append(p.widths, w), append(p.later, backend.RowCodes)
		}
	}
	if rapid.Bool().Draw(t, "signs") && len(p.widths) > 0 {
		p.widths, p.later = append(p.widths, p.rest), append(p.later, backend.Signs)
	}
	p.widths, p.later = append(p.widths, p.rest), append(p.later, backend.RowCodes)
	pilot := &collection.Pilot{Alpha: .001, Ks: []int{1, 10, 100}[:rapid.IntRange(0, 3).Draw(t, "ks")]}
	least := make([]float64, len(p.widths)) // shares at the previous k
	for range pilot.Ks {
		shares, most := make([]float64, len(p.widths)), 1.
		for j := range shares {
			most = max(least[j], min(most, figure("share", 1e-7, 1)))
			shares[j] = most
		}
		least = shares
		pilot.Shares = append(pilot.Shares, shares)
	}
	if rapid.Bool().Draw(t, "certain") {
		more := rapid.Float64Range(0, 1).Draw(t, "more") // share kept of the arms that a Student bound drops
		for _, shares := range pilot.Shares {
			row := slices.Clone(shares)
			for j := range row[:len(row)-1] {
				row[j] += more * (1 - row[j])
			}
			pilot.Certain = append(pilot.Certain, row)
		}
	}
	if rapid.Bool().Draw(t, "candidates") {
		for _, shares := range pilot.Shares {
			row := slices.Clone(shares)
			for j := range row {
				row[j] *= .1
			}
			pilot.Candidates = append(pilot.Candidates, row)
		}
	}
	if rapid.Bool().Draw(t, "thresholds of the first vectors") {
		more := rapid.Float64Range(0, 1).Draw(t, "more by early thresholds") // share kept of the arms that final ones drop
		rise := func(all [][]float64) (out [][]float64) {
			for _, row := range all {
				row = slices.Clone(row)
				for j := range row {
					row[j] += more * (1 - row[j])
				}
				out = append(out, row)
			}
			return out
		}
		pilot.Early = &collection.Pilot{Alpha: pilot.Alpha, Ks: pilot.Ks, Shares: rise(pilot.Shares), Certain: rise(pilot.Certain), Candidates: rise(pilot.Candidates)}
	}
	if rapid.Bool().Draw(t, "norms end the first look") {
		for r := 0.; len(pilot.Reached) < len(pilot.Ks); pilot.Reached = append(pilot.Reached, r) {
			r = max(r, figure("reached", 1e-5, 1))
		}
	}
	p.curves = newCurves(pilot)
	for _, x := range figures(&p.costs) {
		*x = figure("cost", 1e-3, 1e3)
	}
	if rapid.Bool().Draw(t, "no wide looks") {
		p.costs.Wide = 0
	}
	if rapid.Bool().Draw(t, "no looks at signs") {
		p.costs.Sign = 0
	}
	if rapid.Bool().Draw(t, "no looks at mixed codes") {
		p.costs.Mixed = 0
	}
	if rapid.Bool().Draw(t, "rows are gathered one by one") {
		p.costs.Gather = 0
	}
	return p
}

// drawnLookups is drawn, with first looks at panels of signs half of the time.
func drawnLookups(t *rapid.T) *problem {
	p := drawn(t)
	if rapid.Bool().Draw(t, "first looks at signs") {
		p.costs.Lookup, p.limits.Read[backend.SignPanels] = math.Exp(rapid.Float64Range(-7, 7).Draw(t, "lookup")), 1024
	}
	return p
}

func figures(c *backend.Costs) []*float64 {
	return []*float64{&c.Scan, &c.Wide, &c.Transpose, &c.Mixed, &c.Test, &c.List, &c.Visit, &c.Code, &c.Sign, &c.Far, &c.Fetch, &c.Score, &c.Dense, &c.DenseTest, &c.DenseOne, &c.Gather, &c.Rotate, &c.Query}
}

// plainScan is the cost per arm of the rows that a dense scan reads.
func plainScan(p *problem, gather bool) float64 {
	c, n := p.costs, float64(p.arms)
	memory := 0. // reading a coordinate from memory
	if p.queries > 0 && 4*p.dim*p.atoms > 16<<20 {
		memory = 4 * .4 * c.Far
	}
	sharing := math.Min(64, plainSharing(p))
	coordinate := math.Max(c.Dense+1.5*c.DenseOne*(1/sharing-1./64), 1.5*memory/sharing)
	if p.queries == 1 {
		coordinate = math.Max(c.DenseOne, memory)
	}
	switch row := c.DenseTest + coordinate*float64(p.dim); {
	case !gather:
		return float64(p.atoms) * row / n
	case c.Gather == 0:
		return c.Fetch + c.Score*float64(p.dim) // the rows allowed may be few of those in the cache
	}
	listed, copied := c.Visit+c.Score*float64(p.dim), 2.
	if 4*p.dim*p.atoms <= 16<<20 {
		listed, copied = c.Visit+c.Score*float64(p.dim)/4, 0
	}
	if p.queries == 1 {
		return listed
	}
	return c.DenseTest + (c.Dense+1.5*c.DenseOne*(1/sharing-1./64))*float64(p.dim) + c.Gather + copied*listed/sharing
}

// plainSharing is how many queries share a run: 64 if nobody knows.
func plainSharing(p *problem) float64 {
	if p.queries == 0 {
		return 64
	}
	return float64(p.queries)
}

// plainTogether is the cost of so many scores for each of so many queries, which read rows together.
func plainTogether(p *problem, queries, scores float64) float64 {
	n, row := float64(p.arms), plainRow(p)
	cached := p.costs.Score * float64(p.dim) / 4
	distinct := math.Min(n, queries*scores) // rows that some query reads first
	inOrder := n * .4 * p.costs.Far * 4 * float64(p.dim) / distinct
	first := math.Min(row, cached+inOrder)
	return (distinct*first + (queries*scores-distinct)*math.Min(first, cached)) / queries
}

// plainReached is how many atoms norms do not rule out.
func plainReached(p *problem, rank float64) float64 {
	return math.Min(float64(p.atoms), float64(p.atoms)*math.Exp(p.curves.logShare(p.curves.reached, 0, math.Log(rank))))
}

// plainRow is the cost of the exact score of a row.
func plainRow(p *problem) float64 {
	row := p.costs.Fetch + p.costs.Score*float64(p.dim)
	if 4*p.dim*p.atoms <= 16<<20 { // in a cache
		row = math.Min(row, p.costs.Fetch/2+p.costs.Score*float64(p.dim)/4)
	}
	return row
}

// plainCost computes the cost of a ladder independently of forecast, by summing over the arms, and how much of it
// follows the first look, without the answer, and how much the first look is.
func plainCost(p *problem, stages []int, mixed, gather, certain bool, source backend.Source) (cost, after, scanned float64) {
	c := p.costs
	n, atoms := float64(p.arms), float64(p.atoms)
	wanted := math.Max(1, float64(p.k))
	if p.k == 0 && p.reaching > 0 {
		wanted = p.reaching
	}
	if len(stages) == 0 {
		k := math.Min(n, wanted)
		entering := math.Min(n, k+k*math.Log(n/k)) // the i-th enters with probability k/i
		if p.k == 0 {
			entering = k
		}
		sharing := plainSharing(p)
		if wanted*sharing < atoms {
			sharing = math.Min(sharing, 64)
		}
		scores := plainTogether(p, sharing, k)
		if p.offsets && 4*p.dim*p.atoms > 16<<20 {
			scores += k * (2*c.Visit + c.Score*float64(p.dim)/4)
		}
		return plainScan(p, gather) + (.15*c.Visit*entering+scores+.75*c.Visit*k)/n, 0, 0
	}
	l := ladder{stages: stages, certain: certain, source: source}
	wider, rank, own := p.widening(l), math.Exp(p.rank(source)), source == backend.LowerBound && p.k > 0 && stages[0] == len(p.widths)-1
	if own { // by the look's own bounds
		clear := math.Exp(p.rank(backend.Exact))
		rank = math.Max(clear, atoms*p.shareKept(l, 0, math.Log(clear), 0))
	}
	listed, terms := 1., 0.
	if mixed { // 3% more are listed and 10% more kept than by panels
		listed, terms = 1.03, 32
	}
	share := func(i int, rank float64) float64 {
		kept := p.shareKept(l, i, math.Log(rank), wider)
		if mixed && i == 0 {
			kept = math.Min(1, 1.1*kept)
		}
		return kept
	}
	codes := func(stage int) float64 { return float64(p.widths[stage] + p.head) }
	whole := len(p.widths) - 1

	far := func(row, share float64) float64 { // cost of a byte, given the bytes of a row and the share of rows read
		if row*n > 16<<20 {
			return c.Far * (1 - .6*share) // .4 in order
		}
		return 0
	}

	// the cost per query, in ns
	total := c.Query * float64(len(stages))
	if p.queries == 1 {
		total += 3 * c.Query
	}
	total += c.Rotate * float64(p.rest)
	if len(stages) > 1 || source == backend.LowerBound && p.k > 0 && !own {
		total += c.Rotate * float64(p.rest) // a finer coding for rows of codes
	}
	total += c.Dense * 2 * float64(p.head) * float64(p.dim)
	if p.rest <= 256 {
		total += c.Dense * float64(p.rest) * float64(p.rest)
	}
	gather = gather && !mixed
	first := math.Max(1024, math.Ceil(float64(4*p.k)/64)*64)
	if gather { // of as many allowed atoms
		first = math.Min(n, math.Max(256, math.Ceil(float64(4*p.k)/64)*64)) * atoms / n
	}
	reached := math.Max(math.Min(first, atoms), plainReached(p, rank))
	// during is a share under the threshold of a chunk in the middle of a look that sees so many atoms
	// and whose final threshold has this rank
	during := func(rank, reached, seen, next float64, share func(c *curves, rank float64) float64) float64 {
		middle := math.Sqrt(seen * next)
		if p.curves.early == nil || gather {
			return share(p.curves, rank*reached/middle)
		}
		way := math.Log(middle/1024) / math.Log(reached/1024)
		final := share(p.curves, rank)
		return math.Pow(math.Max(final, share(p.curves.early, rank)), 1-way) * math.Pow(final, way)
	}
	// atoms in panels with an allowed atom
	covered := math.Max(n, math.Min(atoms, 64*float64(p.panels)))
	if below := atoms; own { // the norms are compared with the expected threshold, if there is one, so many times as far down as the final one
		if p.panels >= 32 {
			sampled := 64 * float64(max(8, min(64, p.panels/32))) / atoms * float64(p.k)
			below = math.Max(math.Min(first, atoms), plainReached(p, math.Min(atoms, rank*(1+2/math.Sqrt(sampled)+3/sampled))))
			below += atoms * float64(max(8, min(64, p.panels/32))) / float64(p.panels) // the sample is scanned twice
		}
		covered *= below / atoms
	} else {
		covered *= reached / atoms
	}
	code, test := c.Scan, c.Test
	if mixed {
		code, test = c.Mixed, 0
	} else if p.widths[stages[0]] > p.panelWidth {
		code = c.Wide
		if p.queries != 1 {
			code += c.Transpose / plainSharing(p)
		}
	}
	memory := 0.
	read := codes(stages[0])
	if mixed {
		read = math.Max(64, math.Ceil(read/32)*32) + terms
	}
	if read*atoms > 16<<20 {
		memory = .4 * c.Far
	}
	switch {
	case p.queries == 1:
		code = math.Max(code, c.Code+memory)
	case p.queries > 1:
		code += memory / float64(p.queries)
	}
	before := total // of the first look
	total += covered * (read*code + test)
	if gather {
		code = c.Scan
		if p.widths[stages[0]] > p.panelWidth {
			code = c.Wide
		}
		row := 3 * c.Visit
		if float64(p.head+p.rest)*atoms > 16<<20 {
			row += c.Far * read
		}
		each := read*code + c.Test + (row+c.Transpose*read)/plainSharing(p)
		if p.queries == 1 {
			each = c.Test + c.Code*read + row
		}
		total = before + n*each*reached/atoms
	}
	scanned = (total - before) / n
	before = total
	if p.k == 0 {
		total += c.List * n * share(0, rank) // the threshold is the least score in every chunk
	}
	all := 0. // listed
	for seen := 0.; seen < reached && p.k > 0; {
		// the first chunk has no threshold; each later one is as large as all before it
		if seen == 0 {
			seen = math.Min(first, atoms)
			all += seen * n / atoms
			continue
		}
		// all that reach the threshold are among those seen
		next := math.Min(2*seen, reached)
		all += listed * (next - seen) * n / reached * during(rank, reached, seen, next, func(c *curves, rank float64) float64 { return p.shareKeptBy(c, l, 0, math.Log(rank), wider) })
		seen = next
	}
	if own && p.panels < 32 {
		all = n
	} else if own { // so many times as far down as the threshold
		sampled := 64 * float64(max(8, min(64, p.panels/32))) / atoms * float64(p.k)
		all = n * share(0, math.Min(atoms, rank*(1+2/math.Sqrt(sampled)+3/sampled)))
	}
	if p.k > 0 {
		total += c.List * math.Min(n, all)
	}
	// in any order; but of the k that the pilot knows at most those that whole rows let reach the threshold
	order := 1.25 * (1 + math.Log(math.Max(first, reached)/first)) / atoms
	known := rank
	if ks := p.curves.ks; len(ks) > 0 {
		known = math.Min(rank, math.Exp(ks[len(ks)-1]))
	}
	reaching, knownReached := known/atoms, math.Max(math.Min(first, atoms), plainReached(p, known))
	for seen := first; seen < knownReached; {
		next := math.Min(2*seen, knownReached)
		reaching += (next - seen) / knownReached * during(known, knownReached, seen, next, func(c *curves, rank float64) float64 {
			return math.Exp(c.logShare(c.shares, whole, math.Log(rank)))
		})
		seen = next
	}
	entering := n * math.Min(1, order*rank*math.Min(1, reaching/(order*known)))
	if !certain && stages[0] != whole && p.k > 0 && len(p.curves.candidates) > 0 {
		entering = float64(p.k) // the candidates of the first chunk, and arms whose estimate reaches the threshold later
		for seen := first; seen < reached; {
			next := math.Min(2*seen, reached)
			entering += (next - seen) * n / reached * during(rank, reached, seen, next, func(c *curves, rank float64) float64 {
				return math.Exp(c.logShare(c.candidates, stages[0], math.Log(rank)))
			})
			seen = next
		}
		entering = math.Min(n, entering)
	}
	row := plainRow(p)
	scored := row
	cached := math.Min(row, c.Score*float64(p.dim)/4)
	if 4*p.dim*p.atoms <= 16<<20 {
		scored = cached
	} else { // others of the queries find a row in a cache
		alone := 1 / math.Sqrt(plainSharing(p))
		scored = alone*row + (1-alone)*cached
	}
	if source == backend.LowerBound {
		scored = c.Visit + c.Code*codes(whole)
		if p.queries == 1 {
			scored += far(codes(whole), 0) * codes(whole)
		}
	}
	if own {
		total += .2 * c.Visit * (total - before) / c.List
		if p.panels >= 32 { // what is selected of the sample
			total += .1 * c.Visit * 64 * float64(max(8, min(64, p.panels/32)))
		}
	} else if p.k > 0 {
		total += entering*scored + 7*c.Visit*math.Max(0, entering-float64(p.k))
	}
	ownTogether := own && p.k >= 64 && p.queries != 1
	left := n * share(0, rank)
	for i := 1; i < len(stages); i++ {
		total += left * c.Visit
		if p.later[stages[i]] == backend.Signs {
			bytes := float64(p.head) + float64(p.rest)/8
			total += left * (c.Code*float64(p.head) + c.Sign*float64(p.rest) + far(bytes, left/n)*bytes)
		} else {
			total += left * (c.Code + far(codes(whole), left/n)) * codes(stages[i])
		}
		left = math.Min(left, n*share(i, rank))
	}
	answers := math.Min(n, wanted)
	if p.k == 0 {
		total += row * math.Max(answers, left)
	} else if source == backend.Exact {
		total += row * math.Max(0, left-answers)
	} else {
		last := math.Max(answers, math.Min(left, n*share(len(stages)-1, math.Exp(p.rank(backend.Exact)))))
		if ownTogether || p.k > p.atoms/256 && 4*p.dim*p.atoms > 16<<20 { // half of them together
			together := plainTogether(p, plainSharing(p), last)
			if total += together; !own {
				total += (row*last - together) / 2
			}
			total += (last - answers) * (2*c.Visit + c.Score*float64(p.dim)/4)
		} else {
			total += row * last
		}
	}
	last := 3.75
	if ownTogether {
		last = 1.25
	}
	return (total + last*c.Visit*answers) / n, (total - before) / n, scanned
}

// TestNoRegret compares the planner's choice with every ladder, and every forecast with plainCost.
func TestNoRegret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		m := rapid.SampledFrom([]Method{Auto, Adaptive, Certain}).Draw(t, "method")
		least, best := math.Inf(1), ""
		weigh := func(stages []int, mixed, gather, certain bool, source backend.Source) float64 {
			x, after, scanned := plainCost(p, stages, mixed, gather, certain, source)
			switch { // the penalty of few queries, and that of deterministic looks for many
			case gather && len(stages) == 0 && p.queries == 0:
				x += .5 * plainScan(p, gather)
			case certain && len(stages) > 0:
				if p.widths[stages[0]] < p.rest && plainSharing(p) >= 64 {
					x += .7 * after
				}
			case p.queries > 0:
			case len(stages) == 0 && 4*p.dim*p.atoms > 16<<20:
				x += .5 * plainScan(p, gather)
			case len(stages) > 0 && !mixed && p.widths[stages[0]] > p.panelWidth:
				x += .5 * scanned
			}
			if gather && len(stages) > 0 {
				x += .5 * scanned
			}
			if len(stages) == 0 || certain || stages[0] == len(p.widths)-1 {
				x /= 1.1
			}
			return x
		}
		gather := p.arms < p.atoms && plainScan(p, true) < plainScan(p, false)
		if gather {
			least, best = weigh(nil, false, true, false, backend.Exact), "gather"
		}
		rows := 4 // for each wanted; with fewer elimination is not considered
		if p.queries == 1 && 4*p.dim*p.atoms > 16<<20 {
			rows = 2
		}
		manyWanted := m != Adaptive && rows*p.k > p.arms
		if m == Certain && p.curves.certain == nil && !manyWanted { // without a forecast there is one ladder
			l := p.withoutForecast()
			for _, source := range p.sources() {
				for _, start := range p.eachStart(l) {
					if x := weigh(l.stages, false, start.gather, true, source); x < least {
						least, best = x, p.name(l)
					}
				}
			}
		}
		for set := range 1 << len(p.widths) {
			if set > 0 && (manyWanted || m == Certain && p.curves.certain == nil) {
				break
			}
			if gather && set == 0 {
				continue // instead of all rows
			}
			var stages []int
			for stage := range p.widths {
				if set>>stage&1 == 1 {
					stages = append(stages, stage)
				}
			}
			if at := slices.IndexFunc(stages, p.named); at >= 0 && (at == 0 || p.costs.Sign == 0) {
				continue // signs are never the first look
			}
			if len(stages) > 3 || len(stages) == 0 && m == Adaptive {
				continue
			}
			certain := m == Certain && set > 0
			for _, first := range []backend.Representation{backend.Panels, backend.Mixed} {
				mixed := first == backend.Mixed
				if mixed && (p.costs.Mixed == 0 || set == 0 || certain || p.offsets || p.widths[stages[0]] == p.rest || (p.head+p.widths[stages[0]]+31)/32 > 5) {
					continue
				}
				if !mixed && set > 0 && p.costs.Wide == 0 && p.widths[stages[0]] > 128 {
					continue
				}
				for _, source := range []backend.Source{backend.Exact, backend.LowerBound} {
					if source == backend.LowerBound && p.k == 0 {
						continue
					}
					for _, gathers := range []bool{false, true} {
						if gathers && (mixed || set == 0 || source == backend.LowerBound && stages[0] == len(p.widths)-1 || p.arms >= p.atoms || p.costs.Gather == 0) {
							continue
						}
						if x := weigh(stages, mixed, gathers, certain, source); x < least {
							least, best = x, p.name(ladder{stages: stages, first: first})
						}
					}
				}
			}
		}
		l := p.chooseLadder(m)
		mixed := l.first == backend.Mixed
		if math.IsInf(least, 1) {
			least = weigh(l.stages, mixed, l.gather, l.certain, l.source)
		}
		if got := weigh(l.stages, mixed, l.gather, l.certain, l.source); got > least*(1+1e-9) {
			t.Errorf("chose %s at %g ns, %s costs %g", p.name(l), got, best, least)
		}
		for _, l := range p.ladders(m) {
			for _, l.source = range p.sources() {
				if l.gather && p.raisesByOwn(l) { // no such look gathers
					continue
				}
				f := p.forecast(l, p.rankOf(l))
				if want, _, _ := plainCost(p, l.stages, l.first == backend.Mixed, l.gather, l.certain, l.source); math.Abs(f.total()-want) > 1e-9*want {
					t.Errorf("%s: forecast %g ns, plainly %g", p.name(l), f.total(), want)
				}
			}
		}
	})
}

// TestForecastsMoveWithCosts: a ladder does not become cheaper if a cost rises, and choices do
// not depend on the unit of time.
func TestForecastsMoveWithCosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		dearer := *p
		*rapid.SampledFrom(figures(&dearer.costs)).Draw(t, "figure") *= 3
		hours := *p
		for _, x := range figures(&hours.costs) {
			*x *= 1 << 20
		}
		for _, l := range p.ladders(Auto) {
			for _, source := range p.sources() {
				l.source = source
				a, b, c := p.forecast(l, p.rankOf(l)), dearer.forecast(l, dearer.rankOf(l)), hours.forecast(l, hours.rankOf(l))
				if b.total() < a.total() {
					t.Errorf("%s: %g ns becomes %g", p.name(l), a.total(), b.total())
				}
				kept := a.kept[:len(l.stages)]
				if !slices.IsSortedFunc(kept, func(x, y float64) int { return cmp.Compare(y, x) }) || len(kept) > 0 && (kept[0] > 1 || kept[len(kept)-1] <= 0) {
					t.Errorf("%s: shares kept %v", p.name(l), kept)
				}
				if math.Abs(c.total()-a.total()*(1<<20)) > 1e-9*c.total() {
					t.Errorf("%s: %g ns, %g in units of 2^-20", p.name(l), a.total(), c.total())
				}
			}
		}
		if a, b := p.chooseLadder(Auto), hours.chooseLadder(Auto); !slices.Equal(a.stages, b.stages) || a.first != b.first || a.source != b.source {
			t.Errorf("chose %s, in other units %s", p.name(a), p.name(b))
		}
	})
}

// TestSharesMoveWithTheQuestion: a greater k, a smaller delta or more fallible looks keep no
// fewer arms.
func TestSharesMoveWithTheQuestion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		surer, more := *p, *p
		surer.delta /= 10
		more.k = max(1, p.k) * 2
		if p.k == 0 {
			more.k = 0
		}
		for stage := range p.widths {
			l := ladder{stages: []int{stage}}
			rank := p.rank(backend.Exact)
			if p.shareKept(l, 0, rank, p.widening(l)) > surer.shareKept(l, 0, rank, surer.widening(l)) {
				t.Errorf("width %d: at a tenth of delta fewer are kept", p.widths[stage])
			}
			if p.curves.logShare(p.curves.shares, stage, rank) > p.curves.logShare(p.curves.shares, stage, more.rank(backend.Exact))+1e-12 {
				t.Errorf("width %d: of twice the k fewer are kept", p.widths[stage])
			}
			if lower := p.rank(backend.LowerBound); lower < rank {
				t.Errorf("lower bounds end at rank %g, exact scores at %g", lower, rank)
			}
		}
	})
}

func TestPilotBetweenItsKs(t *testing.T) {
	p := text()
	for _, x := range []struct{ rank, want float64 }{
		{.1, .0006}, {1, .0006}, {10, .0078}, {100, .09}, {math.Sqrt(10), math.Sqrt(.0006 * .0078)}, {math.Sqrt(1000), math.Sqrt(.0078 * .09)},
		{1000, 1}, {math.Sqrt(100000), .09 * math.Sqrt(.09/.0078)},
	} {
		if got := math.Exp(p.curves.logShare(p.curves.shares, 1, math.Log(x.rank))); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("rank %g: share %g, want %g", x.rank, got, x.want)
		}
	}
}

// TestLooks checks the looks of plans.
func TestLooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnLookups(t)
		m := rapid.SampledFrom([]Method{Auto, Adaptive, Certain, Exact}).Draw(t, "method")
		for _, l := range p.ladders(m) {
			l, _ = p.withSource(l)
			plan := p.makePlan(l)
			spent := 0.
			for i, look := range plan.Looks {
				spent += look.Alpha
				if random := look.Rule == backend.Student; random != (look.Alpha > 0) || random && look.To == p.rest && look.Rep != backend.Signs && look.Rep != backend.SignPanels {
					t.Errorf("%s: look %+v", plan.Name, look)
				}
				if (i == 0) != look.Rep.ForFirstLook() || (i == 0) != (look.FirstChunk > 0) || look.From != 0 || i > 0 && look.MaxSurvivors != 0 {
					t.Errorf("%s: look %d %+v", plan.Name, i, look)
				}
				if look.MaxSurvivors < 0 || look.MaxSurvivors >= 1 || look.FirstChunk%64 != 0 || i == 0 && look.FirstChunk < 4*p.k {
					t.Errorf("%s: look %+v", plan.Name, look)
				}
			}
			if mixed := len(plan.Looks) > 0 && plan.Looks[0].Rep == backend.Mixed; mixed != strings.HasPrefix(plan.Name, "mixed") ||
				mixed && (p.costs.Mixed == 0 || p.offsets || m == Certain || plan.Looks[0].Rule != backend.Student || (p.head+plan.Looks[0].To+31)/32 > 5) {
				t.Errorf("%s: first look %+v", plan.Name, plan.Looks)
			}
			if lookups := len(plan.Looks) > 0 && plan.Looks[0].Rep == backend.SignPanels; lookups != (strings.HasPrefix(plan.Name, "signs") && !strings.HasPrefix(plan.Name, "signs,")) ||
				lookups && (p.costs.Lookup == 0 || m == Certain || plan.Looks[0].Rule != backend.Student || plan.Looks[0].To > p.rest || plan.Looks[0].To != 2*p.widths[l.stages[0]]) {
				t.Errorf("%s: first look %+v", plan.Name, plan.Looks)
			}
			certain := m == Certain || l.dense() || p.fallible(l) == 0
			if share := p.delta / float64(max(1, p.k)); !certain && math.Abs(spent-share) > 1e-12*share || certain && spent != 0 || plan.Certain() != certain {
				t.Errorf("%s: looks spend %g of %g an arm, certain %v", plan.Name, spent, share, plan.Certain())
			}
			if plan.Dense() != (plan.Name == "dense" || plan.Name == "gather") || plan.Gather != (plan.Name == "gather") {
				t.Errorf("%s: dense %v with %d looks", plan.Name, plan.Dense(), len(plan.Looks))
			}
			if f := p.forecast(l, p.rankOf(l)); len(plan.SurvivorShares) != len(plan.Looks) || plan.Cost != f.total() {
				t.Errorf("%s: forecast %v, %g ns", plan.Name, plan.SurvivorShares, plan.Cost)
			}
		}
	})
}

// TestLimit: at MaxSurvivors further looks cost as much as a dense scan, and it is above what
// an error of the forecast explains.
func TestLimit(t *testing.T) {
	limited := 0
	check := func(t interface{ Errorf(string, ...any) }, p *problem) {
		for _, l := range p.lookLadders(false) {
			limit, usual, wider := p.maxSurvivors(l), p.rankOf(l), p.widening(l)
			if made := p.makePlan(l); made.Looks[0].MaxSurvivors != limit {
				t.Errorf("%s: limit %g, the plan has %g", p.name(l), limit, made.Looks[0].MaxSurvivors)
			}
			if limit == 0 {
				continue
			}
			limited++
			if limit < 2*p.shareKept(l, 0, usual, wider) {
				t.Errorf("%s: limit %g, forecast %g", p.name(l), limit, p.shareKept(l, 0, usual, wider))
			}
			if f := p.forecast(l, math.Log(float64(p.atoms))); f.after() <= p.denseAloneCost() {
				t.Errorf("%s: limit %g, though going on costs %g ns at worst and a dense scan %g", p.name(l), limit, f.after(), p.denseAloneCost())
			}
			// the greatest rank at which no more arms are kept
			low, high := usual, math.Log(float64(p.atoms))
			for high-low > .001 {
				if mid := (low + high) / 2; p.shareKept(l, 0, mid, wider) <= limit*(1+1e-9) {
					low = mid
				} else {
					high = mid
				}
			}
			if f := p.forecast(l, high+.1); f.after() < .9*p.denseAloneCost() {
				t.Errorf("%s: limit %g is kept at rank %g, where going on costs %g ns and a dense scan %g", p.name(l), limit, math.Exp(high), f.after(), p.denseAloneCost())
			}
		}
	}
	for _, k := range []int{1, 10, 100} {
		p := text()
		p.k = k
		check(t, p)
	}
	if limited == 0 {
		t.Error("no ladder has a limit")
	}
	rapid.Check(t, func(t *rapid.T) { check(t, drawn(t)) })
}

// TestNames: parseLadder is the inverse of name, and invalid names are refused with the cause.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawnLookups(t)
		for _, m := range []Method{Auto, Adaptive, Certain, Exact} {
			seen := map[string]bool{}
			for _, l := range p.ladders(m) {
				gathers := l.gather && len(l.stages) > 0 // which the planner chooses, whatever the name
				if key := fmt.Sprint(p.name(l), gathers); seen[key] {
					t.Errorf("%s is there twice for %s", key, m)
				} else {
					seen[key] = true
				}
				for _, name := range []string{p.name(l), strings.Replace(p.name(l), "rescore", "rows", 1)} { // as of before
					got, err := p.parseLadder(name, m)
					if err != nil || !slices.Equal(got.stages, l.stages) || got.first != l.first || got.certain != l.certain || got.gather != (l.gather && !gathers) {
						t.Errorf("%s for %s: read as %+v, %v", name, m, got, err)
					}
				}
			}
		}
	})
	none := &problem{dim: 8, costs: fast()}
	panels := text()
	panels.costs.Wide = 0
	signs := text()
	withSigns(signs, .01)
	lookups := text()
	lookups.costs.Lookup, lookups.limits.Read[backend.SignPanels] = .003, 1024
	mixed, euclid := text(), text()
	mixed.costs.Mixed, euclid.costs.Mixed, euclid.offsets = .001, .001, true
	for _, x := range []struct {
		p    *problem
		m    Method
		name string
		want []string
	}{
		{text(), Auto, "", []string{`""`, `"dense"`, `"rescore"`}},
		{text(), Auto, "64", []string{`"64"`, `"rescore"`}},
		{text(), Auto, "rescore", []string{"no look"}},
		{text(), Auto, "64,rows,rescore", []string{`"rows"`}},
		{text(), Auto, "65,rescore", []string{"65", "[32 64 128 256 768]"}},
		{text(), Auto, "64, 128,rescore", []string{`" 128"`}},
		{text(), Auto, "wide,rescore", []string{`"wide"`, `"whole"`}},
		{text(), Auto, "128,64,rescore", []string{"64 coordinates after one of 128"}},
		{text(), Auto, "whole,768,rescore", []string{"768 coordinates after one of 768"}},
		{text(), Auto, "32,64,128,256,rescore", []string{"4 looks, at most 3"}},
		{text(), Auto, "64,signs,rescore", []string{"signs", "768"}},
		{signs, Auto, "signs,rescore", []string{"later"}},
		{signs, Auto, "64,whole,signs,rescore", []string{"768 coordinates after one of 768"}},
		{text(), Exact, "64,rescore", []string{"exact", `"dense"`}},
		{text(), Adaptive, "dense", []string{"adaptive"}},
		{text(), Exact, "gather", []string{`"gather"`, `"dense"`}},
		{panels, Auto, "256,rescore", []string{"256", "at most 128"}},
		{text(), Auto, "mixed64,rescore", []string{"backend", "mixed codes"}},
		{euclid, Auto, "mixed64,rescore", []string{"mixed codes", "Euclidean"}},
		{mixed, Certain, "mixed64,whole,rescore", []string{"mixed codes", "certain"}},
		{mixed, Exact, "mixed64,rescore", []string{"exact", `"dense"`}},
		{mixed, Auto, "mixed128,rescore", []string{"mixed codes of 128 coordinates and 64 of the head", "160"}},
		{mixed, Auto, "mixed768,rescore", []string{"mixed codes", "fewer than all 768"}},
		{mixed, Auto, "mixedwhole,rescore", []string{"mixed codes", "fewer than all 768"}},
		{mixed, Auto, "mixed96,rescore", []string{"96", "[32 64 128 256 768]"}},
		{mixed, Auto, "mixed,rescore", []string{`"mixed"`, "first look", "mixed64"}},
		{mixed, Auto, "32,mixed64,rescore", []string{`"mixed64"`, "first look"}},
		{mixed, Auto, "mixed64,32,rescore", []string{"32 coordinates after one of 64"}},
		{text(), Auto, "signs128,rescore", []string{"no first look at signs"}},
		{lookups, Auto, "signs96,rescore", []string{"96", "[128 256 512]"}},
		{lookups, Auto, "signs1536,rescore", []string{"1536", "[128 256 512]"}},
		{lookups, Auto, "64,signs128,rescore", []string{`"signs128"`}},
		{lookups, Auto, "signs128,64,rescore", []string{"64 coordinates after one of 64"}},
		{lookups, Certain, "signs128,whole,rescore", []string{"certain"}},
		{lookups, Exact, "signs128,rescore", []string{"exact", `"dense"`}},
		{none, Auto, "64,rescore", []string{"none", `"dense"`}},
	} {
		_, err := x.p.parseLadder(x.name, x.m)
		if err == nil {
			t.Errorf("%q is accepted for %s", x.name, x.m)
			continue
		}
		for _, part := range x.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: error %q lacks %q", x.name, err, part)
			}
		}
	}
}

// TestMostBetter: with as many better atoms as MaxBetter says further looks cost about as much as a
// dense scan of many queries; there is no limit if they cost less with all atoms.
func TestMostBetter(t *testing.T) {
	limited := 0
	check := func(t interface{ Errorf(string, ...any) }, p *problem) {
		for _, l := range p.lookLadders(false) {
			share := p.maxBetter(l)
			if made := p.makePlan(l); made.MaxBetter != share {
				t.Errorf("%s: limit %g, the plan has %g", p.name(l), share, made.MaxBetter)
			}
			if p.k == 0 || p.gathers() {
				if share != 0 {
					t.Errorf("%s: limit %g, k %d, gathers %v", p.name(l), share, p.k, p.gathers())
				}
				continue
			}
			f := p.forecast(p.denseLadder(), p.rank(backend.Exact))
			dense, all := f.total(), math.Log(float64(p.atoms))
			if share == 0 {
				if after := p.afterBetter(l, all); after > dense*(1+1e-9) && p.rankOf(l) < all {
					t.Errorf("%s: no limit, though going on costs %g ns at worst and a dense scan %g", p.name(l), after, dense)
				}
				continue
			}
			limited++
			if rank := math.Log(math.Exp(p.rankOf(l)) + share*float64(p.atoms)); p.afterBetter(l, rank) < dense*(1-1e-9) {
				t.Errorf("%s: at rank %g going on costs %g ns and a dense scan %g", p.name(l), math.Exp(rank), p.afterBetter(l, rank), dense)
			}
		}
	}
	for _, k := range []int{1, 10, 100} {
		p := text()
		p.k = k
		check(t, p)
	}
	if limited == 0 {
		t.Error("no ladder has a limit")
	}
	rapid.Check(t, func(t *rapid.T) { check(t, drawn(t)) })
}
