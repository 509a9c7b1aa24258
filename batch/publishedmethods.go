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
	switch m {
	case PrefixF32:
		return e.prefix(w, k), nil
	case Strict:
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
	options := &w.req.Published
	if m == BanditMIPS && !c.Metric.Differences() && options.rounds() {
		return e.banditMIPS(w), nil
	}
	p := &strategy{Plan: &plan.Plan{Name: named(string(m), options)}, method: m, guarantee: GuaranteeProbabilistic}
	switch {
	case m == BanditMIPSAlpha, m == BucketAE, options.Sigma.Source == SigmaData, options.Union == UnionPublished && k != 1:
		p.guarantee = GuaranteeHeuristic
	}
	if m == BoundedME && !(w.req.Epsilon > 0) {
		// t_l = d in every round
		p.Name += ", epsilon 0 reads every coordinate"
	}
	if err := e.checkWarm(options.Warm); err != nil {
		return nil, err
	}
	lo, hi := e.coordinateRange()
	warm := sync.OnceValues(func() (*papers.WarmStart, error) { return e.warmStart(w, p) })
	p.reference = func(ctx context.Context, w *work, from, to int, out []Answer) error {
		r := reference{e: e, w: w, method: m, lo: outward(lo, -1), hi: outward(hi, 1), warm: warm}
		return r.answer(ctx, from, out[:to-from])
	}
	return p, nil
}

// named is the name of a plan with the options that are given.
func named(name string, p *Published) string {
	if given := p.String(); given != "" {
		return name + ", " + given
	}
	return name
}

// rounds reports whether banditmips by these options has looks that are the same for all arms, which
// backends take: one order of coordinates without replacement, and one radius for all arms and queries.
func (p *Published) rounds() bool {
	return !p.replaces(false) && p.Warm == 0 && p.Sigma.Source != SigmaData && p.Sigma.Source != SigmaBernstein
}

// checkWarm refuses a warm start that there are no coordinates or no memory for.
func (e *Engine) checkWarm(coordinates int) error {
	limit := e.runBytes()
	switch need := e.warmBytes(coordinates); {
	case coordinates > e.c.Dim:
		return optionError("warm", "%d coordinates, there are %d", coordinates, e.c.Dim)
	case need > limit:
		return optionError("warm", "%d coordinates of %d vectors take %d bytes, %d are allowed", coordinates, e.c.N, need, limit)
	}
	return nil
}

// warmStart reads the first coordinates of all vectors, for all queries of w; nil if the request asks for none.
func (e *Engine) warmStart(w *work, p *strategy) (*papers.WarmStart, error) {
	options := &w.req.Published
	if options.Warm == 0 {
		return nil, nil
	}
	all := &atoms{c: e.c, rows: make([]int, e.c.N)}
	for row := range all.rows {
		all.rows[row] = row
	}
	warm, err := papers.NewWarmStart(all, options.Warm, options.sampling(e.c.Metric.Differences()), e.c.Seed)
	if err == nil {
		p.shared.Store(warm.Cost())
	}
	return warm, err
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
		looks[i].Sigma = w.req.Published.Sigma.Given
	}
	return &strategy{method: BanditMIPS, guarantee: GuaranteeProbabilistic, perArm: true,
		Plan: &plan.Plan{Name: named("float32 coordinates 16, 32, 64, .. without replacement", &Published{Sigma: w.req.Published.Sigma}), Looks: looks}}
}

// reference answers queries by a method of package papers.
type reference struct {
	e      *Engine
	w      *work
	method Method
	lo, hi float32 // the range of the working coordinates
	warm   func() (*papers.WarmStart, error)
}

// answer writes the answers to queries from, from+1, .. to out, as many concurrently as the backend has
// threads. Once ctx has ended the remaining queries get empty answers.
func (r *reference) answer(ctx context.Context, from int, out []Answer) error {
	w := r.w
	var g errgroup.Group
	g.SetLimit(cmp.Or(r.e.threads(), runtime.GOMAXPROCS(0)))
	var mu sync.Mutex
	var first error
	for j := range out {
		g.Go(func() error {
			a, err := r.one(ctx, from+j)
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
		dst[p] = float64(a.c.Coordinate(row, j))
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

// one answers query j, with exact scores.
func (r *reference) one(ctx context.Context, j int) (Answer, error) {
	w, c := r.w, r.e.c
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
	out, err := r.solve(ctx, a, q, goal.K, c.Seed^fingerprint(q))
	if err != nil {
		return Answer{}, err
	}
	got := backend.Answer{Pulls: out.Pulls, Bytes: 4 * (out.Pulls - out.CachedPulls), Tau: math.Inf(-1), OpenBound: math.Inf(-1), Random: true}
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

// solve runs the algorithm on query q, whose seed this is.
func (r *reference) solve(ctx context.Context, a *atoms, q []float32, k int, seed uint64) (papers.Outcome, error) {
	options, lo, hi := &r.w.req.Published, r.lo, r.hi
	warm, rewards, err := r.warmed(a)
	if err != nil {
		return papers.Outcome{}, err
	}
	var arms papers.Arms
	var rlo, rhi float64
	if r.e.c.Metric.Differences() {
		d, err := papers.NewDistances(rewards, q, lo, hi)
		if err != nil {
			return papers.Outcome{}, err
		}
		rlo, rhi = d.Range()
		arms = d
	} else {
		p, err := papers.NewProducts(rewards, q)
		if err != nil {
			return papers.Outcome{}, err
		}
		rlo, rhi = p.Range(lo, hi)
		arms = p
	}
	if r.method == BoundedME {
		eps := r.w.req.Epsilon
		if r.w.req.Relative {
			eps *= collection.Norm(q) * r.e.longest()
		}
		union := papers.Corrected
		if options.Union == UnionPublished {
			union = papers.Published
		}
		return papers.BoundedME(ctx, arms, papers.BoundedMEOptions{K: k, Delta: r.w.delta, Epsilon: eps, Lo: rlo, Hi: rhi, Union: union, Seed: seed})
	}
	opt := papers.BanditMIPSOptions{K: k, Delta: r.w.delta, Lo: rlo, Hi: rhi, Sampling: options.sampling(r.method != BanditMIPS || r.e.c.Metric.Differences()), Warm: warm, Seed: seed}
	var weights []float64
	if r.method == BanditMIPSBeta {
		beta := 1.
		if options.Beta != nil {
			beta = *options.Beta
		}
		if weights, err = papers.BetaWeights(q, beta); err != nil {
			return papers.Outcome{}, err
		}
		if opt.Lo, opt.Hi, err = papers.WeightedRange(q, weights, lo, hi); err != nil {
			return papers.Outcome{}, err
		}
	}
	pulls, err := options.Sigma.setSpread(&opt, arms, weights)
	if err != nil {
		return papers.Outcome{}, err
	}
	var out papers.Outcome
	switch r.method {
	case BanditMIPS:
		out, err = papers.BanditMIPS(ctx, arms, opt)
	case BanditMIPSAlpha:
		out, err = papers.BanditMIPSAlpha(ctx, arms, q, opt)
	case BanditMIPSBeta:
		out, err = papers.BanditMIPSBeta(ctx, arms, weights, opt)
	case BucketAE:
		out, err = papers.BucketAE(ctx, a, q, papers.BucketAEOptions{BanditMIPSOptions: opt, BinSize: options.Bins})
	default:
		err = errors.New("no such method")
	}
	out.Pulls += pulls
	return out, err
}

// warmed returns the warm start of these atoms, if there is one, and the atoms through it.
func (r *reference) warmed(a *atoms) (*papers.WarmStart, papers.Arms, error) {
	all, err := r.warm()
	if all == nil || err != nil {
		return nil, a, err
	}
	of, err := all.Of(a, a.rows)
	return of, of, err
}

// sigmaSamples is how many rewards SigmaData looks at for each query: with them the standard deviation of
// products of two Gaussians is within 5% two times of three.
const sigmaSamples = 1024

// setSpread sets what radii of the rewards of arms rest on, and returns the pulls that it took. weights are those
// of banditmips-beta, nil for other methods.
func (s Sigma) setSpread(opt *papers.BanditMIPSOptions, arms papers.Arms, weights []float64) (pulls int64, err error) {
	opt.Spread, opt.Sigma = papers.SigmaBounded, 0
	switch {
	case s.Given > 0:
		opt.Spread, opt.Sigma = papers.SigmaGiven, s.Given
	case s.Source == SigmaBernstein:
		opt.Spread = papers.EmpiricalBernstein
	case s.Source == SigmaData:
		if opt.Sigma, pulls, err = papers.EstimateSigma(arms, weights, sigmaSamples, opt.Seed); opt.Sigma > 0 {
			opt.Spread = papers.SigmaGiven
		}
	}
	return pulls, err
}
