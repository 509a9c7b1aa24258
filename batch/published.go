package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"thresher/backend"
	"thresher/batch/plan"
	"thresher/collection"
	"thresher/papers"
)

// published returns the strategy of a method of the papers, of strict, or of prefix-f32.
// Methods whose looks are the same for all arms are answered by rounds, like every plan;
// the others by the reference implementations of package papers.
func (e *Engine) published(w *work, m Method, k int) (*strategy, error) {
	c := e.c
	bad := func(field, format string, a ...any) error {
		return &RequestError{Field: field, Query: -1, Err: fmt.Errorf(format, a...)}
	}
	if m == PrefixF32 {
		if c.Rotated32 == nil || c.R > 0 {
			return nil, bad("method", "prefix-f32 needs a collection built without head that keeps its rotated coordinates (collection.Options NoHead, KeepRotated)")
		}
		return e.prefix(w, k), nil
	}
	if c.Basis != collection.Raw {
		return nil, bad("method", "%s promises to preprocess nothing: build with basis raw", m)
	}
	if m == Strict {
		return e.strict(w, k), nil
	}
	for j := range w.m {
		switch {
		case w.minScore(j) != nil:
			return nil, bad("min_score", "%s finds the k best only", m)
		case w.maxScore(j) != nil:
			return nil, bad("max_score", "%s finds the k best only", m)
		case len(w.goal(j).Candidates) > 0:
			return nil, bad("candidates", "%s takes no candidates", m)
		}
	}
	if w.req.Epsilon > 0 && m != BoundedME {
		return nil, bad("epsilon", "%s has none", m)
	}
	if math.IsNaN(w.req.Sigma) || w.req.Sigma < 0 || math.IsInf(w.req.Sigma, 0) {
		return nil, bad("sigma", "%g is not a finite number from 0 on", w.req.Sigma)
	}
	if math.IsNaN(w.req.Beta) || w.req.Beta < 0 || math.IsInf(w.req.Beta, 0) {
		return nil, bad("beta", "%g is not a finite number from 0 on", w.req.Beta)
	}
	if m == BanditMIPS && !c.Metric.Differences() {
		return e.banditMIPS(w), nil
	}
	p := &strategy{Plan: &plan.Plan{Name: string(m)}, method: m, guarantee: GuaranteeProbabilistic}
	switch m {
	case BanditMIPSAlpha, BucketAE:
		p.guarantee = GuaranteeHeuristic
	case BoundedME:
		if !(w.req.Epsilon > 0) {
			// t_l = d in every round
			p.Name += ", epsilon 0 reads every coordinate"
		}
	}
	if c.Metric.Differences() && (m == BanditMIPSAlpha || m == BanditMIPSBeta || m == BucketAE) {
		return nil, bad("method", "%s is defined for inner products, the metric is %v", m, c.Metric)
	}
	lo, hi := e.coordinateRange()
	p.reference = func(ctx context.Context, w *work, from, to int, out []Answer) error {
		return e.reference(ctx, w, m, lo, hi, from, out[:to-from])
	}
	return p, nil
}

// float32Looks returns looks at the coordinates between consecutive bounds. Every look but
// the first scores the given number of candidates before it reads.
func float32Looks(bounds []int, rule backend.Rule, alpha float64, candidates int) []backend.Look {
	var looks []backend.Look
	for i := 1; i < len(bounds); i++ {
		look := backend.Look{Rep: backend.Float32, From: bounds[i-1], To: bounds[i], Rule: rule, Alpha: alpha}
		if i > 1 {
			look.Candidates = candidates
		}
		looks = append(looks, look)
	}
	return looks
}

// candidates is how many arms a look at float32 coordinates scores exactly.
func candidates(k int) int { return k + (k+1)/2 }

// strict looks at 16, 32, 64, .. raw coordinates; its alpha covers all looks together.
func (e *Engine) strict(w *work, k int) *strategy {
	return &strategy{method: Strict, guarantee: GuaranteeProbabilistic, perArm: true, Plan: &plan.Plan{Name: "float32 coordinates 16, 32, 64, ..",
		Looks: float32Looks(e.c.Bounds, backend.Martingale, plan.ArmAlpha(w.delta, k), candidates(k))}}
}

// certainRaw is certain on raw coordinates: norms bound the unread coordinates.
func (e *Engine) certainRaw(k int) *strategy {
	return &strategy{method: Certain, guarantee: GuaranteeCertain, perArm: true, Plan: &plan.Plan{Name: "float32 coordinates 16, 32, 64, ..",
		Looks: float32Looks(e.c.Bounds, backend.Cauchy, 0, candidates(k))}}
}

// prefix is adaptive on prefixes of float32 coordinates without a head, to compare pulls.
func (e *Engine) prefix(w *work, k int) *strategy {
	bounds := []int{0}
	for b := 16; b < e.c.D; b *= 2 {
		bounds = append(bounds, b)
	}
	looks := float32Looks(append(bounds, e.c.D), backend.Student, 0, candidates(k))
	for i := range looks {
		looks[i].Alpha = plan.ArmAlpha(w.delta, k) / float64(max(1, len(looks)-1))
	}
	return &strategy{method: PrefixF32, guarantee: GuaranteeProbabilistic, perArm: true, Plan: &plan.Plan{Name: "float32 rotated coordinates 16, 32, 64, ..",
		Looks: looks}}
}

// banditMIPS is Algorithm 1 of arXiv 2212.07551 with coordinates in one random order,
// without replacement, tested after 16, 32, 64, .. of them. Its radius holds for every
// number of samples, so fewer tests cost no delta. All queries of a collection begin with
// the same coordinates, which is the paper's warm start.
func (e *Engine) banditMIPS(w *work) *strategy {
	looks := float32Looks(e.c.Bounds, backend.MeanRadius, w.delta, 0)
	for i := range looks {
		looks[i].Sigma = w.req.Sigma
	}
	return &strategy{method: BanditMIPS, guarantee: GuaranteeProbabilistic, perArm: true,
		Plan: &plan.Plan{Name: "float32 coordinates 16, 32, 64, .. without replacement", Looks: looks}}
}

// reference writes the answers of a method of package papers to queries from, from+1, ..
// to out, as many concurrently as the backend has threads. lo and hi are the range of the
// working coordinates. Once ctx has ended the remaining queries get empty answers.
func (e *Engine) reference(ctx context.Context, w *work, m Method, lo, hi float64, from int, out []Answer) error {
	var g errgroup.Group
	g.SetLimit(cmp.Or(e.threads(), runtime.GOMAXPROCS(0)))
	var mu sync.Mutex
	var first error
	for j := range out {
		g.Go(func() error {
			a, err := e.referenceOne(ctx, w, m, lo, hi, from+j)
			switch {
			case err == nil:
				out[j] = a
			case contextEnded(err):
				w.setAnswers(from+j, out[j:j+1], nil, "", stopOf(ctx))
			default:
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = fmt.Errorf("query %d: %w", from+j, err)
				}
			}
			return nil
		})
	}
	g.Wait()
	return first
}

// atoms are rows of a collection as papers.Arms, normalised for cosine.
type atoms struct {
	c    *collection.Collection
	rows []int
}

func (a *atoms) Len() int { return len(a.rows) }
func (a *atoms) Dim() int { return a.c.Dim }

func (a *atoms) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		row := a.rows[i]
		dst[p] = float64(a.c.Rows[row*a.c.Dim+j])
		if n := a.c.RowNorm(row); n > 0 {
			dst[p] /= n
		}
	}
}

// allowedRows lists the rows that may be returned, ascending.
func allowedRows(c *collection.Collection, g *backend.Goal) []int {
	rows := make([]int, 0, g.Allowed)
	for i := g.From; i < c.N; i++ {
		_, excluded := slices.BinarySearch(g.Exclude, uint32(i))
		if !excluded && (g.Filter == nil || g.Filter.Has(i)) {
			rows = append(rows, int(c.Order[i]))
		}
	}
	slices.Sort(rows)
	return rows
}

// referenceOne answers query j by a method of package papers, with exact scores.
func (e *Engine) referenceOne(ctx context.Context, w *work, m Method, lo, hi float64, j int) (Answer, error) {
	c := e.c
	goal := w.goals[j]
	a := &atoms{c: c, rows: allowedRows(c, &goal)}
	if len(a.rows) == 0 {
		return w.certifyOne(j, backend.Answer{OpenBound: math.Inf(-1), Tau: math.Inf(-1)}), nil
	}
	q := slices.Clone(w.query(j))
	if c.Metric.Normalises() && w.norms[j] > 0 {
		for i := range q {
			q[i] = float32(float64(q[i]) / w.norms[j])
		}
	}
	out, err := e.solve(ctx, w, m, a, q, outward(lo, -1), outward(hi, 1), goal.K, c.Seed^fingerprint(q))
	if err != nil {
		return Answer{}, err
	}
	got := backend.Answer{Pulls: out.Pulls, Bytes: 4 * out.Pulls, Tau: math.Inf(-1), OpenBound: math.Inf(-1), Random: true}
	type scored struct {
		id    int64
		score float64
	}
	best := make([]scored, len(out.IDs))
	for i, id := range out.IDs {
		best[i].id = int64(a.rows[id])
		best[i].score = c.Score(w.query(j), a.rows[id])
	}
	slices.SortFunc(best, func(x, y scored) int {
		switch {
		case x.score > y.score:
			return -1
		case x.score < y.score:
			return 1
		}
		return int(x.id - y.id)
	})
	for _, s := range best {
		got.IDs, got.Scores = append(got.IDs, s.id), append(got.Scores, s.score)
	}
	// exact scores read whole rows, in addition to what the method read
	got.RowsScored = len(best)
	got.Pulls += int64(len(best)) * int64(c.Dim)
	got.Bytes += 4 * int64(len(best)) * int64(c.Dim)
	return w.certifyOne(j, got), nil
}

// certifyOne returns the answer to query j with its certificate, from that of a reference implementation.
func (w *work) certifyOne(j int, a backend.Answer) (out Answer) {
	common, room := w.commonCertificate(), answerRoom{}
	if len(a.IDs) > 0 {
		room.scores = make([]float32, len(a.IDs))
	}
	w.certify(&out, j, &a, &common, Done, &room)
	return out
}

// outward rounds x to float32 toward +Inf or -Inf, by the sign of to, so that a rounded
// range contains the original one.
func outward(x float64, to float64) float32 {
	f := float32(x)
	if float64(f) != x {
		f = math.Nextafter32(f, float32(math.Inf(int(to))))
	}
	return f
}

// fingerprint is the FNV-1a hash of a query. It seeds the query's random coordinates, so
// that an answer does not depend on the query's index in a batch.
func fingerprint(q []float32) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, v := range q {
		h = (h ^ uint64(math.Float32bits(v))) * 0x100000001b3
	}
	return h
}

// solve runs a published algorithm on query q. lo and hi are the range of the atoms'
// coordinates.
func (e *Engine) solve(ctx context.Context, w *work, m Method, a *atoms, q []float32, lo, hi float32, k int, seed uint64) (papers.Outcome, error) {
	var arms papers.Arms
	var rlo, rhi float64
	if e.c.Metric.Differences() {
		d, err := papers.NewDistances(a, q, lo, hi)
		if err != nil {
			return papers.Outcome{}, err
		}
		rlo, rhi = d.Range()
		arms = d
	} else {
		p, err := papers.NewProducts(a, q)
		if err != nil {
			return papers.Outcome{}, err
		}
		rlo, rhi = p.Range(lo, hi)
		arms = p
	}
	opt := papers.BanditMIPSOptions{K: k, Delta: w.delta, Spread: papers.SigmaBounded, Lo: rlo, Hi: rhi, Seed: seed}
	if w.req.Sigma > 0 {
		opt.Spread, opt.Sigma = papers.SigmaGiven, w.req.Sigma
	}
	switch m {
	case BanditMIPS:
		return papers.BanditMIPS(ctx, arms, opt)
	case BanditMIPSAlpha:
		return papers.BanditMIPSAlpha(ctx, arms, q, opt)
	case BanditMIPSBeta:
		beta := w.req.Beta
		if beta == 0 {
			beta = 1
		}
		weights, err := papers.BetaWeights(q, beta)
		if err != nil {
			return papers.Outcome{}, err
		}
		if opt.Spread == papers.SigmaBounded {
			if opt.Lo, opt.Hi, err = papers.WeightedRange(q, weights, lo, hi); err != nil {
				return papers.Outcome{}, err
			}
		}
		return papers.BanditMIPSBeta(ctx, arms, weights, opt)
	case BucketAE:
		return papers.BucketAE(ctx, a, q, papers.BucketAEOptions{BanditMIPSOptions: opt})
	case BoundedME:
		eps := w.req.Epsilon
		if w.req.Relative {
			eps *= collection.Norm(q) * e.longest()
		}
		return papers.BoundedME(ctx, arms, papers.BoundedMEOptions{K: k, Delta: w.delta, Epsilon: eps, Lo: rlo, Hi: rhi,
			Union: papers.Corrected, Seed: seed})
	}
	return papers.Outcome{}, errors.New("no such method")
}
