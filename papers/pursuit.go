package papers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"thresher/internal/philox"
)

// MIPSSolver answers one step of a matching pursuit: the arm with the largest
// sum of rewards. step counts from 0, for solvers that want another seed each
// time. It must return at least one id.
type MIPSSolver func(ctx context.Context, arms Arms, step int) (Outcome, error)

// PursuitOptions are the choices of a matching pursuit.
type PursuitOptions struct {
	Steps int        // terms wanted, 1 or more
	Solve MIPSSolver // any method of this package, or an exact scan
	// NormsSquared are |v_i|^2, one an atom and above 0. nil reads each chosen
	// atom in full: Dim() pulls a step.
	NormsSquared []float64
	// CoefficientPulls is the number of random coordinates, drawn without
	// replacement, from which <residual, v> is estimated after the atom is
	// chosen; 0 (or Dim() and more) reads all Dim(). Its standard error is
	// Dim()/|v|^2 sd(r_j v_j) / sqrt(CoefficientPulls), free of Dim() for atoms
	// of a constant mean square.
	CoefficientPulls int
	Seed             uint64 // of the coefficients' coordinates
}

// PursuitTerm is one step of a pursuit.
type PursuitTerm struct {
	Atom        int
	Coefficient float64 // <residual, v>/|v|^2 of this step
	Search      Outcome // of the solver
}

// PursuitResult is a signal as a sum of atoms.
type PursuitResult struct {
	Terms []PursuitTerm // in the order found
	// Pulls counts rewards the solver evaluated, and those read for coefficients
	// and norms. ResidualReads counts the additional atom coordinates read to subtract
	// the terms found so far: one per term at each coordinate of the residual.
	Pulls, ResidualReads int64
	// Delta is the failure probability of all steps together (their sum), given
	// the coefficients. It means nothing if Guarantee is Heuristic.
	Delta     float64
	Guarantee GuaranteeKind
}

// Pursuit is matching pursuit on a maximum inner product solver (arXiv
// 2212.07551, appendix 12.1.2): find the atom with the largest inner product
// with the residual, subtract the residual's projection on it, repeat.
//
// The residual r_j = q_j - sum_t c_t v_(t)j is never stored: it is computed at
// the coordinates a step looks at, so that with a sampling solver,
// CoefficientPulls and NormsSquared the whole pursuit reads a number of
// coordinates that does not grow with the dimension.
//
// As published the search is for <r, v>, not |<r, v>|/|v|: give atoms of one
// length, and -v beside v where coefficients may be negative. atoms have rewards
// v_ij; signal returns q_j and must be a function. Errors wrap ErrPursuit,
// ErrNoArms, the solver's or the context's error.
func Pursuit(ctx context.Context, atoms Arms, signal func(j int) float64, opt PursuitOptions) (PursuitResult, error) {
	if err := checkPursuit(atoms, signal, opt); err != nil {
		return PursuitResult{}, fmt.Errorf("pursuit: %w", err)
	}
	res := PursuitResult{}
	r := &residual{atoms: atoms, signal: signal}
	for step := range opt.Steps {
		term, pulls, err := r.step(ctx, step, opt)
		if err != nil {
			return PursuitResult{}, fmt.Errorf("pursuit, step %d: %w", step, err)
		}
		res.Terms = append(res.Terms, term)
		res.Pulls += pulls
		res.Delta = min(1, res.Delta+term.Search.Delta)
		res.Guarantee = max(res.Guarantee, term.Search.Guarantee)
		r.subtract(term.Atom, term.Coefficient)
	}
	res.ResidualReads = r.reads
	return res, nil
}

func checkPursuit(atoms Arms, signal func(j int) float64, opt PursuitOptions) error {
	if err := checkArms(atoms); err != nil {
		return err
	}
	if signal == nil || opt.Solve == nil {
		return fmt.Errorf("%w: signal given: %t, solver given: %t", ErrPursuit, signal != nil, opt.Solve != nil)
	}
	if opt.Steps < 1 || opt.CoefficientPulls < 0 {
		return fmt.Errorf("%w: %d steps (need 1 or more), %d coefficient pulls (need 0 or more)",
			ErrPursuit, opt.Steps, opt.CoefficientPulls)
	}
	if opt.NormsSquared != nil && len(opt.NormsSquared) != atoms.Len() {
		return fmt.Errorf("%w: %d squared norms for %d atoms", ErrPursuit, len(opt.NormsSquared), atoms.Len())
	}
	for i, norm := range opt.NormsSquared {
		if !finite(norm) || norm <= 0 {
			return fmt.Errorf("%w: squared norm %v of atom %d", ErrPursuit, norm, i)
		}
	}
	return nil
}

// residual is the signal less the terms found; as Arms, its rewards are
// r_j v_ij. It has a buffer, so it is not safe for concurrent use.
type residual struct {
	atoms        Arms
	signal       func(j int) float64
	chosen       []int
	coefficients []float64
	column       []float64
	reads        int64
}

func (r *residual) Len() int { return r.atoms.Len() }
func (r *residual) Dim() int { return r.atoms.Dim() }

// Pull computes r_j v_ij.
func (r *residual) Pull(j int, arms []int, dst []float64) {
	r.atoms.Pull(j, arms, dst)
	left := r.at(j)
	for p := range dst {
		dst[p] *= left
	}
}

// at is the residual at one coordinate.
func (r *residual) at(j int) float64 {
	left := r.signal(j)
	r.atoms.Pull(j, r.chosen, r.column)
	for p, v := range r.column {
		left -= r.coefficients[p] * v
	}
	r.reads += int64(len(r.chosen))
	return left
}

func (r *residual) subtract(atom int, coefficient float64) {
	if p := slices.Index(r.chosen, atom); p >= 0 {
		r.coefficients[p] += coefficient
		return
	}
	r.chosen = append(r.chosen, atom)
	r.coefficients = append(r.coefficients, coefficient)
	r.column = append(r.column, 0)
}

func (r *residual) step(ctx context.Context, step int, opt PursuitOptions) (PursuitTerm, int64, error) {
	out, err := opt.Solve(ctx, r, step)
	if err != nil {
		return PursuitTerm{}, 0, err
	}
	if len(out.IDs) == 0 || out.IDs[0] < 0 || out.IDs[0] >= r.Len() {
		return PursuitTerm{}, 0, fmt.Errorf("%w: the solver returned ids %v for %d atoms", ErrPursuit, out.IDs, r.Len())
	}
	atom := out.IDs[0]
	product, norm, pulls, err := r.project(ctx, atom, step, opt)
	if err != nil {
		return PursuitTerm{}, 0, err
	}
	if !(norm > 0) || !finite(product/norm) {
		return PursuitTerm{}, 0, fmt.Errorf("%w: atom %d of squared norm %v, product %v", ErrPursuit, atom, norm, product)
	}
	return PursuitTerm{Atom: atom, Coefficient: product / norm, Search: out}, out.Pulls + pulls, nil
}

// project returns <r, v> and |v|^2 of an atom, and the coordinates read for them.
func (r *residual) project(ctx context.Context, atom, step int, opt PursuitOptions) (product, norm float64, pulls int64, err error) {
	d := r.Dim()
	if opt.NormsSquared != nil {
		norm = opt.NormsSquared[atom]
	}
	m := opt.CoefficientPulls
	if m == 0 || m > d {
		m = d
	}
	var coords coordinateStream
	if m < d {
		coords = newShuffled(d, rand.New(philox.New(opt.Seed, streamCoefficients+uint64(step)<<32)))
	}
	one, v := []int{atom}, make([]float64, 1)
	squares := 0.0
	for s := range m {
		if s%4096 == 0 && ctx.Err() != nil {
			return 0, 0, 0, stopped(ctx, s)
		}
		j := s
		if coords != nil {
			j, _ = coords.next()
		}
		r.atoms.Pull(j, one, v)
		product += r.at(j) * v[0]
		squares += v[0] * v[0]
	}
	pulls = int64(m)
	product *= float64(d) / float64(m)
	if opt.NormsSquared != nil {
		return product, norm, pulls, nil
	}
	if m == d {
		return product, squares, pulls, nil
	}
	norm, err = r.normSquared(ctx, one)
	return product, norm, pulls + int64(d), err
}

// normSquared reads one atom in full.
func (r *residual) normSquared(ctx context.Context, one []int) (float64, error) {
	squares, v := 0.0, make([]float64, 1)
	for j := range r.Dim() {
		if j%4096 == 0 && ctx.Err() != nil {
			return 0, stopped(ctx, j)
		}
		r.atoms.Pull(j, one, v)
		squares += v[0] * v[0]
	}
	return squares, nil
}
