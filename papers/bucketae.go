package papers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"thresher/bandit"
	"thresher/internal/philox"
)

// BucketAEOptions are those of BanditMIPS and of the bins.
type BucketAEOptions struct {
	BanditMIPSOptions     // Warm must be nil
	BinSize           int // arms a bin; 0 means the paper's 30
	// NormCoordinates is the number of random coordinates from which norms are
	// estimated; 0 means 64, at most Dim(). The paper says "a constant number".
	NormCoordinates int
	// Norms, if not nil, are upper bounds of the atoms' norms, one per atom. Norms are
	// then not estimated, an arm's potential is compared with lower bounds alone, and
	// the answer has its guarantee.
	Norms []float64
	// Potentials compares potentials of estimated norms while a bin is sampled, too, not
	// only before: the text can be read so. An estimate that is too low then ends the
	// sampling of the best arm of a bin by the lower bound of a close rival, which costs
	// right answers (docs/guarantee.md has figures). With Norms it is done always, and safe.
	Potentials bool
}

// BucketAE is Bucket_AE (arXiv 2212.07551, appendix 11): BanditMIPS over bins of
// atoms sorted by estimated norm. Bins are searched from the largest norms down;
// each yields its k best arms. An arm is not sampled at all if the k-th best
// sampled value of the bins before exceeds its maximal potential product
//
//	|q| |v_i|    (Cauchy-Schwarz, with the estimated norm)
//
// and it is sampled no more once its upper confidence bound or, with Norms or Potentials,
// that potential is below the k-th best lower confidence bound of all arms of this bin and
// of the winners of those before; a bin may so end without a winner. The bins' winners
// meet in a last BanditMIPS. (The public code passes the best lower bound from bin to bin
// and has the test by potentials commented out; without that binning only costs.) Bins
// spend half of Delta between them, the last search the other half.
//
// With estimated norms and sampled values on both sides of the test the answer
// is Heuristic; with Norms given it is Probabilistic. atoms have rewards v_ij,
// query is their dimension; Sigma, Lo and Hi refer to products q_j v_ij.
//
// Pulls count products and the n NormCoordinates coordinates of the estimate.
// Rounds holds one tally a bin (coordinates of that bin, arms not yet ruled
// out), then those of the last search. Errors as BanditMIPS, and ErrBins.
func BucketAE(ctx context.Context, atoms Arms, query []float32, opt BucketAEOptions) (Outcome, error) {
	b, err := newBucketSearch(atoms, query, opt)
	if err != nil {
		return Outcome{}, fmt.Errorf("bucket-ae: %w", err)
	}
	out, err := b.search(ctx)
	if err != nil {
		return Outcome{}, fmt.Errorf("bucket-ae: %w", err)
	}
	return out, nil
}

type bucketSearch struct {
	products *Products
	opt      BucketAEOptions
	options  BanditMIPSOptions // opt at half of delta
	norms    []float64
	length   float64 // |q|

	winners  []int
	scores   []float64
	exact    bool      // all of scores are exact
	dropped  bool      // some arm was ruled out by a random test
	standing []float64 // sampled mean or lower bound of each winner
	lower    []float64 // lower bound of the mean of each winner
	pulls    int64
	rounds   []RoundTally
}

func newBucketSearch(atoms Arms, query []float32, opt BucketAEOptions) (*bucketSearch, error) {
	products, err := NewProducts(atoms, query)
	if err != nil {
		return nil, err
	}
	n, d := atoms.Len(), atoms.Dim()
	opt.BinSize = cmp.Or(opt.BinSize, 30)
	opt.NormCoordinates = cmp.Or(opt.NormCoordinates, min(64, d))
	if opt.BinSize < 1 || opt.NormCoordinates < 1 || opt.NormCoordinates > d {
		return nil, fmt.Errorf("%w: %d arms a bin (need 1 or more), %d coordinates of %d for norms",
			ErrBins, opt.BinSize, opt.NormCoordinates, d)
	}
	if opt.Warm != nil {
		return nil, fmt.Errorf("%w: each bin draws its own coordinates", ErrWarmStart)
	}
	// Checked before halving delta, so that messages name the caller's figures.
	if _, err := newElimination(products, opt.BanditMIPSOptions); err != nil {
		return nil, err
	}
	if opt.Norms != nil && len(opt.Norms) != n {
		return nil, fmt.Errorf("%w: %d norms for %d atoms", ErrBins, len(opt.Norms), n)
	}
	for i, norm := range opt.Norms {
		if !finite(norm) || norm < 0 {
			return nil, fmt.Errorf("%w: norm %v of atom %d", ErrBins, norm, i)
		}
	}
	b := &bucketSearch{products: products, opt: opt, options: opt.BanditMIPSOptions, norms: opt.Norms, exact: true}
	b.options.Delta /= 2
	squares := 0.0
	for _, q := range query {
		squares += float64(q) * float64(q)
	}
	// Rounded up past the error of d additions: an atom parallel to the query
	// reaches its potential exactly.
	b.length = math.Sqrt(squares) * (1 + float64(d)*0x1p-52)
	return b, nil
}

func (b *bucketSearch) search(ctx context.Context) (Outcome, error) {
	if b.norms == nil {
		b.estimateNorms()
	}
	order := allArms(len(b.norms))
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.norms[y], b.norms[x]), cmp.Compare(x, y))
	})
	left := len(order)
	for bin := 0; left > 0; bin++ {
		arms := order[len(order)-left:][:min(b.opt.BinSize, left)]
		left -= len(arms)
		if err := b.searchBin(ctx, bin, arms, left); err != nil {
			return Outcome{}, err
		}
	}
	return b.last(ctx)
}

// estimateNorms sets |v_i|^2 = (d/m) sum of m sampled squares, the same random
// coordinates for all atoms.
func (b *bucketSearch) estimateNorms() {
	n, d, m := b.products.Len(), b.products.Dim(), b.opt.NormCoordinates
	b.norms = make([]float64, n)
	all, column := allArms(n), make([]float64, n)
	coords := newShuffled(d, rand.New(philox.New(b.opt.Seed, streamNorms)))
	for range m {
		j, _ := coords.next()
		b.products.atoms.Pull(j, all, column)
		for i, v := range column {
			b.norms[i] += v * v
		}
	}
	for i, sum := range b.norms {
		b.norms[i] = math.Sqrt(sum * float64(d) / float64(m))
	}
	b.pulls += int64(n) * int64(m)
}

// searchBin adds the k best arms of a bin to the winners. after is the number of
// arms in the bins that follow.
func (b *bucketSearch) searchBin(ctx context.Context, bin int, arms []int, after int) error {
	reachable := b.reachable(arms)
	coordinates := 0
	if len(reachable) <= b.opt.K {
		// At most k arms: the last search decides between them.
		for _, i := range reachable {
			b.add(i, 0, math.Inf(-1), math.Inf(-1))
		}
		b.exact = b.exact && len(reachable) == 0
	} else {
		e, err := newElimination(b.products, b.options)
		if err != nil {
			return err
		}
		e.carried = b.carried()
		e.ceilings = b.ceilings(reachable)
		e.start(reachable)
		e.coords = newCoordinates(b.products.Dim(), b.options.Sampling, rand.New(philox.New(b.opt.Seed, streamBins+uint64(bin))))
		out, err := e.search(ctx, b.opt.ExactScores)
		if err != nil {
			return fmt.Errorf("bin %d: %w", bin, err)
		}
		coordinates = e.s
		b.pulls += out.Pulls
		b.exact = b.exact && (out.ScoresExact || len(out.IDs) == 0)
		b.dropped = b.dropped || e.dropped
		for p, i := range out.IDs {
			lower := b.lowerOf(e, out, p)
			standing := lower
			if b.opt.Norms == nil { // as published
				standing = out.Scores[p] / float64(b.products.Dim())
			}
			b.add(i, out.Scores[p], standing, lower)
		}
	}
	b.rounds = append(b.rounds, RoundTally{Coordinates: coordinates, Survivors: len(b.winners) + after})
	return nil
}

func (b *bucketSearch) add(arm int, score, standing, lower float64) {
	b.winners = append(b.winners, arm)
	b.scores = append(b.scores, score)
	b.standing = append(b.standing, standing)
	b.lower = append(b.lower, lower)
}

// carried returns the k best lower bounds of the winners so far, or all if there are fewer. If the
// intervals hold, an arm whose upper bound is below k lower bounds is none of the k best.
func (b *bucketSearch) carried() []float64 {
	best := slices.Clone(b.lower)
	slices.SortFunc(best, func(x, y float64) int { return cmp.Compare(y, x) })
	return best[:min(b.opt.K, len(best))]
}

// ceilings returns the maximal potentials of arms as means of rewards, rounded up; nil if sampling ignores them.
func (b *bucketSearch) ceilings(arms []int) []float64 {
	if b.opt.Norms == nil && !b.opt.Potentials {
		return nil
	}
	all := make([]float64, len(arms))
	for p, i := range arms {
		all[p] = math.Nextafter(b.length*b.norms[i]/float64(b.products.Dim()), math.Inf(1))
	}
	return all
}

// reachable returns the arms whose potential is not exceeded by the k-th best
// standing so far.
func (b *bucketSearch) reachable(arms []int) []int {
	if len(b.standing) < b.opt.K {
		return slices.Clone(arms)
	}
	floor := bandit.KthLargest(slices.Clone(b.standing), b.opt.K)
	var in []int
	for _, i := range arms {
		if b.length*b.norms[i] >= floor*float64(b.products.Dim()) {
			in = append(in, i)
		}
	}
	if len(in) < len(arms) {
		b.dropped = true
	}
	return in
}

// lowerOf is a lower bound of the mean of a bin's winner, within delta unless its score is exact.
func (b *bucketSearch) lowerOf(e *elimination, out Outcome, p int) float64 {
	mean := out.Scores[p] / float64(b.products.Dim())
	if out.ScoresExact {
		return mean
	}
	at := slices.Index(e.alive, out.IDs[p])
	return mean - e.radius(at, e.rule.radius(e.s, 0))
}

// last chooses among the winners of all bins with coordinates of its own.
func (b *bucketSearch) last(ctx context.Context) (Outcome, error) {
	final := b.options
	e, err := newElimination(b.products, final)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Sampling: final.Sampling}
	sampled := !slices.Contains(b.standing, math.Inf(-1))
	if sampled && (len(b.winners) == b.opt.K || b.exact) {
		out.IDs, out.Scores = ranked(b.winners, b.scores, b.opt.K)
		out.ScoresExact = b.exact
	} else {
		e.rule.n = len(b.winners)
		e.start(b.winners)
		e.coords = newCoordinates(b.products.Dim(), final.Sampling, rand.New(philox.New(b.opt.Seed, streamFinal)))
		if out, err = e.search(ctx, b.opt.ExactScores); err != nil {
			return Outcome{}, fmt.Errorf("last search: %w", err)
		}
	}
	out.Method = "bucket-ae"
	out.Delta = b.opt.Delta
	out.Exact = out.ScoresExact && !b.dropped && !e.dropped
	out.Pulls += b.pulls
	out.Rounds = append(b.rounds, out.Rounds...)
	if b.opt.Norms == nil {
		out.Guarantee = Heuristic
	}
	return out, nil
}
