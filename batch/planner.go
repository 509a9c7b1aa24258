package batch

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"thresher/backend"
	"thresher/collection"
)

// plan is how a request is answered: a function of the collection, method, k,
// delta, epsilon and the number of atoms allowed alone, never of codes read for
// the query.
type plan struct {
	name      string
	method    Method
	guarantee Guarantee
	dense     bool
	raise     backend.RaiseSpec
	looks     []backend.Look
	predicted float64
	// perArm says that the backend keeps state for every arm of every query,
	// so that few queries are answered at a time.
	perArm bool
	// reference answers by a plain reference of a published algorithm instead
	// of rounds.
	reference func(ctx context.Context, w *work, lo, hi int, out []Answer) error
}

// Costs of the portable kernels in ns per coordinate and per arm, measured by
// the benchmarks of cpu/simd; they only rank plans against each other.
const (
	scanCost  = .17 // a code of a panel
	rowCost   = .65 // a code of a row
	exactCost = .30 // a float32 coordinate scored in float64
	denseCost = .25 // a float32 coordinate of the dense path
	visitCost = 40  // reaching an arm's row
	// entries is how many arms enter the running k best, in units of
	// k log(n/k) + k: those are scored on the way.
	entries = 1.5
)

// Shares kept by the first look beyond which a query goes dense: rows scored
// one by one cost about as much as the dense path, a second look little.
const (
	maxBeforeRows = .6
	maxBeforeLook = .95
)

// tinyWork is the number of coordinates below which nothing beats a dense scan.
const tinyWork = 1 << 16

func (e *Engine) plan(w *work, k, allowed int) (*plan, error) {
	bad := func(format string, a ...any) error {
		return &RequestError{Field: "method", Query: -1, Err: fmt.Errorf(format, a...)}
	}
	c := e.c
	m := w.req.Method
	if m == "" {
		m = Auto
	}
	switch m {
	case Exact:
		return exactPlan(), nil
	case Auto:
		return e.auto(w, k, allowed), nil
	case Adaptive:
		if c.Basis == collection.Raw {
			return nil, bad("adaptive needs rotated codes; the basis is raw")
		}
		if !c.Coded() {
			return nil, bad("adaptive needs at least %d dimensions, there are %d; use certain or exact", collection.MinRotated, c.Dim)
		}
		p, _ := e.adaptive(w, k)
		return p, nil
	case Certain:
		return e.certain(k), nil
	}
	if slices.Contains(Methods(), m) {
		return e.published(w, m, k)
	}
	return nil, bad("%q is none of %v", m, Methods())
}

func exactPlan() *plan {
	return &plan{name: "dense", method: Exact, guarantee: GuaranteeExact, dense: true}
}

// auto picks among adaptive, certain and exact (basis rotated) or certain and
// exact (basis raw) by predicted cost.
func (e *Engine) auto(w *work, k, allowed int) *plan {
	c := e.c
	dense := denseCost * float64(c.Dim)
	if allowed*c.Dim < tinyWork || k > allowed/4 {
		return exactPlan()
	}
	if !c.Coded() {
		return e.certain(k)
	}
	p, cost := e.adaptive(w, k)
	if cost > .9*dense {
		return exactPlan()
	}
	return p
}

// moreLooks is how many looks at rows may follow the first; each divides alpha.
const moreLooks = 2

// adaptive picks the cheapest ladder by the pilot's forecast: a first look at
// a prefix, perhaps longer prefixes of the survivors' rows, then exact rows.
// It also returns the predicted cost of an arm in ns.
func (e *Engine) adaptive(w *work, k int) (*plan, float64) {
	c := e.c
	exact := visitCost + exactCost*float64(c.Dim)
	// arms scored on the way to the final threshold, whatever the ladder
	kk := float64(max(k, 1))
	entering := min(1, entries*kk*(1+math.Log(float64(c.N)/kk))/float64(c.N))
	var best []int
	bestCost := math.Inf(1)
	// extend tries every longer ladder behind looks at levels, of cost so far;
	// the last of them leaves share(k, last)
	var extend func(levels []int, cost float64)
	extend = func(levels []int, cost float64) {
		last := levels[len(levels)-1]
		left := e.share(k, last)
		// a longer ladder has to pay for its smaller alpha
		if total := (cost + left*exact) * (1 + .05*float64(len(levels)-1)); total < bestCost {
			best, bestCost = slices.Clone(levels), total
		}
		if len(levels) > moreLooks {
			return
		}
		for j := last + 1; j < len(c.Levels); j++ {
			extend(append(levels, j), cost+left*(visitCost+rowCost*float64(c.R+c.Levels[j].Width)))
		}
	}
	for i, first := range c.Levels {
		if first.Width <= c.PanelWidth {
			extend([]int{i}, scanCost*float64(c.R+first.Width)+entering*exact)
		}
	}
	p := e.ladder(w, k, best)
	p.predicted = e.share(k, best[0])
	return p, bestCost
}

// share is the pilot's forecast for level i, geometric between its ks.
func (e *Engine) share(k, i int) float64 {
	p := &e.c.Pilot
	if len(p.Ks) == 0 {
		return 1
	}
	if k == 0 {
		k = p.Ks[len(p.Ks)-1] // a range: as for many
	}
	at := func(j int) float64 { return max(p.Shares[j][i], 1e-9) }
	if k <= p.Ks[0] {
		return at(0)
	}
	for j := 1; j < len(p.Ks); j++ {
		if k <= p.Ks[j] || j+1 == len(p.Ks) {
			t := math.Log(float64(k)/float64(p.Ks[j-1])) / math.Log(float64(p.Ks[j])/float64(p.Ks[j-1]))
			return min(1, math.Exp(math.Log(at(j-1))*(1-t)+math.Log(at(j))*t))
		}
	}
	return at(0)
}

// ladder is the plan that looks at panels to the first of levels and at rows to
// the others.
func (e *Engine) ladder(w *work, k int, levels []int) *plan {
	c := e.c
	random := 0
	for _, l := range levels {
		if c.Levels[l].Width < c.D {
			random++
		}
	}
	p := &plan{method: Adaptive, guarantee: GuaranteeProbabilistic}
	if random == 0 {
		p.guarantee = GuaranteeCertain
	}
	alpha := w.armAlpha(k) / float64(max(1, random))
	var names []string
	for n, l := range levels {
		look := backend.Look{Rep: backend.Rows, To: c.Levels[l].Width, Rule: backend.Student, Alpha: alpha}
		if look.To == c.D {
			look.Rule, look.Alpha = backend.Cauchy, 0
		}
		if n == 0 {
			look.Rep, look.First, look.MaxSurvivors = backend.Panels, firstAtoms(k), maxBeforeLook
			if len(levels) == 1 {
				look.MaxSurvivors = maxBeforeRows
			}
		}
		names = append(names, fmt.Sprintf("%s %d+%d", reads(look.Rep), c.R, look.To))
		p.looks = append(p.looks, look)
	}
	p.name = strings.Join(append(names, "float32 rows"), ", ")
	return p
}

// firstAtoms is how many atoms the first look sees before there is a threshold:
// the k of greatest bound among 1,024, or 4 k, are leaders worth scoring.
func firstAtoms(k int) int { return max(1024, (4*k+63)/64*64) }

// certain eliminates by deterministic bounds only.
func (e *Engine) certain(k int) *plan {
	c := e.c
	if c.Basis == collection.Raw {
		return e.certainRaw(k)
	}
	if !c.Coded() {
		return &plan{name: "dense", method: Certain, guarantee: GuaranteeCertain, dense: true}
	}
	first := 0
	for i := range c.Levels {
		if c.Levels[i].Width <= c.PanelWidth {
			first = i
		}
	}
	p := &plan{method: Certain, guarantee: GuaranteeCertain,
		looks: []backend.Look{{Rep: backend.Panels, To: c.Levels[first].Width, Rule: backend.Cauchy, First: firstAtoms(k)}},
		name:  fmt.Sprintf("panels %d+%d", c.R, c.Levels[first].Width)}
	if c.Levels[first].Width < c.D {
		p.looks = append(p.looks, backend.Look{Rep: backend.Rows, To: c.D, Rule: backend.Cauchy})
		p.name += fmt.Sprintf(", rows %d+%d", c.R, c.D)
	}
	p.name += ", float32 rows"
	return p
}
