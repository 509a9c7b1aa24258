package baseline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"thresher/internal/philox"
)

// PCA is PCA-MIPS: Bachrach and others, "Speeding up the Xbox recommender system" (RecSys 2014). The atoms, made equally long
// (see reduced), are split at the median of their first principal component, the halves at their medians of the second, and
// so on. A query is compared with the medians on one way down, and the atoms of the leaf where it arrives are its candidates:
// there is no way back up.
//
// The components are found by subspace iteration from a random start (Halko, Martinsson and Tropp, SIAM Review 2011,
// algorithm 4.4) with 8 more directions than components and 6 iterations. They are exact where there are no more than depth
// + 8 directions, and otherwise as good as the gaps of the spectrum let them be; for atoms without principal directions,
// such as white noise, any orthogonal directions do.
type PCA struct {
	vectors    *Vectors
	depth      int
	axes       []float32 // depth x d: of the first d coordinates, for a query's last one is 0
	order      []int32   // the atoms, those of each node consecutive
	medians    []float64 // of a node whose right half begins at p, the least component there; nodes do not share p
	directions int       // of the iteration
}

const (
	pcaSurplus    = 8
	pcaIterations = 6
)

// PCAOptions are the greatest setting of a tree.
type PCAOptions struct {
	Depth   int // levels of splits, 0 to the number of coordinates; more than atoms have no effect
	Seed    uint64
	Threads int // goroutines while building; 0 is 1
}

// NewPCA builds a tree that serves every depth up to the one given. Errors wrap ErrSetting or are the context's.
func NewPCA(ctx context.Context, vectors *Vectors, opt PCAOptions) (*PCA, error) {
	if opt.Depth < 0 || opt.Depth > vectors.d {
		return nil, fmt.Errorf("%w: depth %d, need 0 to %d", ErrSetting, opt.Depth, vectors.d)
	}
	n, d := vectors.n, vectors.d
	p := &PCA{vectors: vectors, depth: opt.Depth, order: everyID(n), medians: make([]float64, n)}
	if opt.Depth == 0 {
		return p, nil
	}
	p.directions = min(opt.Depth+pcaSurplus, n, d+1)
	atoms := vectors.reduce()
	basis, err := principal(ctx, &atoms, p.directions, opt)
	if err != nil {
		return nil, err
	}
	p.depth = min(p.depth, len(basis))
	at := make([][]float64, n) // components of the atoms
	if err := each(ctx, opt.Threads, n, 16, func(from, to int) {
		for i := from; i < to; i++ {
			at[i] = make([]float64, p.depth)
			for l := range at[i] {
				at[i][l] = atoms.dot(i, basis[l])
			}
		}
	}); err != nil {
		return nil, err
	}
	for l := range p.depth {
		p.axes = append(p.axes, basis[l][:d]...)
	}
	p.split(at, 0, n, 0)
	return p, nil
}

// split orders the atoms at places from to to by the component of their level, and then both halves.
func (p *PCA) split(at [][]float64, from, to, level int) {
	if level == p.depth || to-from < 2 {
		return
	}
	slices.SortFunc(p.order[from:to], func(a, b int32) int {
		return cmp.Or(cmp.Compare(at[a][level], at[b][level]), cmp.Compare(a, b))
	})
	middle := from + (to-from)/2
	p.medians[middle] = at[p.order[middle]][level]
	p.split(at, from, middle, level+1)
	p.split(at, middle, to, level+1)
}

// principal returns orthonormal directions of d+1 coordinates, the atoms' principal components first. Directions in which the
// atoms do not vary are 0.
func principal(ctx context.Context, atoms *reduced, directions int, opt PCAOptions) ([][]float32, error) {
	mean, err := centre(ctx, atoms)
	if err != nil {
		return nil, err
	}
	width := atoms.d + 1
	basis := make([][]float64, directions)
	r := rand.New(philox.New(opt.Seed, 0))
	for l := range basis {
		basis[l] = make([]float64, width)
		for j := range basis[l] {
			basis[l][j] = r.NormFloat64()
		}
	}
	for range pcaIterations {
		orthonormalise(basis)
		next, err := covarianceTimes(ctx, atoms, mean, basis, opt.Threads)
		if err != nil {
			return nil, err
		}
		if basis, err = rotated(basis, next); err != nil {
			return nil, err
		}
	}
	orthonormalise(basis)
	return narrow(basis), nil
}

// rotated returns the covariance times its eigenvectors within the span of an orthonormal basis, by descending eigenvalue;
// next is the covariance times the basis.
func rotated(basis, next [][]float64) ([][]float64, error) {
	directions := len(basis)
	within := mat.NewSymDense(directions, nil)
	for a := range directions {
		for b := range a + 1 {
			within.SetSym(a, b, (inner(basis[a], next[b])+inner(basis[b], next[a]))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(within, true) {
		return nil, fmt.Errorf("no principal components: the eigenvalues in %d directions do not converge", directions)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	out := make([][]float64, directions)
	for l := range out {
		out[l] = make([]float64, len(basis[0]))
		for b := range next {
			add(out[l], vectors.At(b, directions-1-l), next[b]) // eigenvalues ascend
		}
	}
	return out, nil
}

// orthonormalise replaces vectors, in place, by orthonormal ones of the same spans of the first l, for every l. One that the
// others before it span, up to rounding, becomes 0.
func orthonormalise(vectors [][]float64) {
	for l, v := range vectors {
		before := math.Sqrt(inner(v, v))
		for range 2 { // the second removes what rounding left of the first
			for _, u := range vectors[:l] {
				add(v, -inner(u, v), u)
			}
		}
		length := math.Sqrt(inner(v, v))
		scale := 0.0
		if length > 1e-10*before {
			scale = 1 / length
		}
		for j := range v {
			v[j] *= scale
		}
	}
}

func inner(a, b []float64) (sum float64) {
	for j, x := range a {
		sum += x * b[j]
	}
	return sum
}

// add adds a b to sum.
func add(sum []float64, a float64, b []float64) {
	for j, x := range b {
		sum[j] += a * x
	}
}

func narrow(vectors [][]float64) [][]float32 {
	out := make([][]float32, len(vectors))
	for l, v := range vectors {
		out[l] = make([]float32, len(v))
		for j, x := range v {
			out[l][j] = float32(x)
		}
	}
	return out
}

// centre returns the mean of the reduced atoms, without multiplications.
func centre(ctx context.Context, atoms *reduced) ([]float64, error) {
	mean := make([]float64, atoms.d+1)
	for i := range atoms.n {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for j, x := range atoms.row(i) {
			mean[j] += float64(x)
		}
		mean[atoms.d] += float64(atoms.tails[i])
	}
	for j := range mean {
		mean[j] /= float64(atoms.n)
	}
	return mean, nil
}

// covarianceTimes returns the covariance of the reduced atoms by each vector of a basis: 2 n (d+1) multiplications a vector.
func covarianceTimes(ctx context.Context, atoms *reduced, mean []float64, basis [][]float64, threads int) ([][]float64, error) {
	directions := narrow(basis)
	components := make([][]float64, len(basis)) // by direction and atom
	shifts := make([]float64, len(basis))       // the mean's components
	for l, b := range directions {
		components[l] = make([]float64, atoms.n)
		for j, x := range b {
			shifts[l] += mean[j] * float64(x)
		}
	}
	if err := each(ctx, threads, atoms.n, 16, func(from, to int) {
		for l, b := range directions {
			for i := from; i < to; i++ {
				components[l][i] = atoms.dot(i, b) - shifts[l]
			}
		}
	}); err != nil {
		return nil, err
	}
	// The components of all atoms sum to 0, so that the mean need not be taken from the atoms as well.
	out := make([][]float64, len(basis))
	err := each(ctx, threads, len(basis), 1, func(l, _ int) {
		sum := make([]float64, atoms.d+1)
		for i, c := range components[l] {
			c /= float64(atoms.n)
			atoms.products.add(sum[:atoms.d], c, atoms.row(i))
			atoms.products.add(sum[atoms.d:], c, atoms.tails[i:i+1])
		}
		out[l] = sum
	})
	return out, err
}

// At returns the searcher of a depth, 0 to that of the tree. It fails with ErrSetting.
func (p *PCA) At(depth int) (Searcher, error) {
	if depth < 0 || depth > p.depth {
		return nil, fmt.Errorf("%w: depth %d of a tree of %d", ErrSetting, depth, p.depth)
	}
	return &pcaSearcher{p, depth}, nil
}

type pcaSearcher struct {
	*PCA
	levels int
}

func (s *pcaSearcher) String() string { return fmt.Sprintf("depth %d", s.levels) }

// Preprocessing counts the norms, the iterations at the directions of the whole tree, and the components of the levels.
func (s *pcaSearcher) Preprocessing() Effort {
	n, d := int64(s.vectors.n), int64(s.vectors.d)
	if s.levels == 0 {
		return Effort{}
	}
	return Effort{Multiplications: n*d + n*(d+1)*(2*pcaIterations*int64(s.directions)+int64(s.levels))}
}

// Search takes d multiplications a level on the way down, and d for each atom of the leaf. A leaf of one atom ends the way.
func (s *pcaSearcher) Search(ctx context.Context, query []float32, k int) (Found, error) {
	v := s.vectors
	if err := v.check(query, k); err != nil {
		return Found{}, err
	}
	effort := Effort{}
	from, to := 0, v.n
	for l := 0; l < s.levels && to-from > 1; l++ {
		effort.Multiplications += int64(v.d)
		middle := from + (to-from)/2
		if v.products.dot(query, s.axes[l*v.d:(l+1)*v.d]) >= s.medians[middle] {
			from = middle
		} else {
			to = middle
		}
	}
	return v.score(ctx, query, k, s.order[from:to], effort)
}
