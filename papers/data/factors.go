package data

import (
	"context"
	"fmt"
	"math"

	"thresher/internal/philox"

	"gonum.org/v1/gonum/mat"
)

// Factors are vectors of films and users, row-major, whose inner product stands for a rating.
type Factors struct {
	Rank         int
	Users, Films int
	User, Film   []float64 // Users x Rank and Films x Rank
}

// At is the product of a user's and a film's factors.
func (f *Factors) At(user, film int) float64 {
	sum := 0.0
	u, v := f.User[user*f.Rank:(user+1)*f.Rank], f.Film[film*f.Rank:(film+1)*f.Rank]
	for r, x := range u {
		sum += x * v[r]
	}
	return sum
}

// NonNegative factorizes the matrix of ratings, in which a missing rating is 0, into factors that are not negative, by
// Lee and Seung's multiplicative updates from random beginnings ("Algorithms for non-negative matrix factorization", NIPS
// 2000): what BanditMIPS does to MovieLens with 15 factors (arXiv 2212.07551, section 9.2). The paper does not say how
// missing ratings enter; 0 is how the usual libraries read them.
func (r *Ratings) NonNegative(ctx context.Context, rank, sweeps int, seed uint64) (*Factors, error) {
	f := &Factors{Rank: rank, Users: r.Users, Films: r.Films, User: make([]float64, r.Users*rank), Film: make([]float64, r.Films*rank)}
	source := philox.New(seed, streamFactors)
	for p := range f.User {
		f.User[p] = uniform(source, uint64(p))
	}
	for p := range f.Film {
		f.Film[p] = uniform(source, uint64(len(f.User)+p))
	}
	user := func(g Rating) (int, int) { return g.User, g.Film }
	film := func(g Rating) (int, int) { return g.Film, g.User }
	for range sweeps {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r.update(f.User, f.Film, rank, user)
		r.update(f.Film, f.User, rank, film)
	}
	return f, nil
}

// update multiplies the factors of one side by (V other) / (own otherᵀ other).
func (r *Ratings) update(own, other []float64, rank int, sides func(Rating) (int, int)) {
	top := make([]float64, len(own))
	for _, g := range r.Given {
		i, j := sides(g)
		to, from := top[i*rank:(i+1)*rank], other[j*rank:(j+1)*rank]
		for c, x := range from {
			to[c] += g.Stars * x
		}
	}
	gram, below := gramOf(other, rank), make([]float64, rank)
	for i := 0; i < len(own); i += rank {
		row := own[i : i+rank]
		clear(below)
		for a, x := range row {
			for b, y := range gram[a*rank : (a+1)*rank] {
				below[b] += x * y
			}
		}
		for c := range row {
			row[c] *= top[i+c] / max(below[c], math.SmallestNonzeroFloat32)
		}
	}
}

// gramOf is XᵀX of row-major rows.
func gramOf(rows []float64, rank int) []float64 {
	gram := make([]float64, rank*rank)
	for i := 0; i < len(rows); i += rank {
		row := rows[i : i+rank]
		for a, x := range row {
			to := gram[a*rank : (a+1)*rank]
			for b, y := range row {
				to[b] += x * y
			}
		}
	}
	return gram
}

// sweepsOfSVD is the number of times that the subspace is multiplied by the matrix and its transpose. The leading singular
// values of ratings fall fast at first, then slowly: the last few of a hundred are not exact, and need not be.
const sweepsOfSVD = 6

// Truncated returns the leading singular vectors of the matrix of ratings less centre(user, film), in which a missing
// rating is 0, by subspace iteration (Halko, Martinsson and Tropp, "Finding structure with randomness", SIAM Review 2011).
// The users' factors have the singular values. rank is at most the number of users and of films.
func (r *Ratings) Truncated(ctx context.Context, rank int, centre func(Rating) float64, seed uint64) (*Factors, error) {
	wide := min(rank+10, r.Users, r.Films)
	if rank < 1 || rank > wide {
		return nil, fmt.Errorf("rank %d of %d users and %d films", rank, r.Users, r.Films)
	}
	left := make([]float64, len(r.Given))
	for p, g := range r.Given {
		left[p] = g.Stars - centre(g)
	}
	films, source := mat.NewDense(r.Films, wide, nil), philox.New(seed, streamFactors)
	for p := range films.RawMatrix().Data {
		films.RawMatrix().Data[p] = normal(source, uint64(p))
	}
	users := mat.NewDense(r.Users, wide, nil)
	for range sweepsOfSVD {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		orthonormal(films)
		r.multiply(users, films, left, false)
		orthonormal(users)
		r.multiply(films, users, left, true)
	}
	orthonormal(films)
	r.multiply(users, films, left, false) // the matrix on the films' subspace
	var small mat.SVD
	if !small.Factorize(users, mat.SVDThin) {
		return nil, fmt.Errorf("no singular values of %d x %d", r.Users, wide)
	}
	var v, film, user mat.Dense
	small.VTo(&v)
	film.Mul(films, v.Slice(0, wide, 0, rank))
	user.Mul(users, v.Slice(0, wide, 0, rank))
	return &Factors{Rank: rank, Users: r.Users, Films: r.Films, User: flat(&user), Film: flat(&film)}, nil
}

// multiply sets to = M from, or Mᵀ from, M the users x films matrix of values at the ratings' places.
func (r *Ratings) multiply(to, from *mat.Dense, values []float64, transposed bool) {
	to.Zero()
	for p, g := range r.Given {
		i, j := g.User, g.Film
		if transposed {
			i, j = j, i
		}
		row := to.RawRowView(i)
		for c, x := range from.RawRowView(j) {
			row[c] += values[p] * x
		}
	}
}

// orthonormal replaces the columns of a by an orthonormal basis of their span, by Cholesky's factor of their Gram matrix,
// twice, which is as accurate as Householder's and reads memory in order.
func orthonormal(a *mat.Dense) {
	rows, cols := a.Dims()
	for range 2 {
		var gram mat.SymDense
		gram.SymOuterK(1, a.T())
		trace := 0.0
		for c := range cols {
			trace += gram.At(c, c)
		}
		for c := range cols { // so that a span of less than cols dimensions has a factor, too
			gram.SetSym(c, c, gram.At(c, c)+1e-12*trace+math.SmallestNonzeroFloat32)
		}
		var root mat.Cholesky
		if !root.Factorize(&gram) {
			return
		}
		var upper mat.TriDense
		root.UTo(&upper)
		u := upper.RawTriangular()
		for i := range rows { // x U = a, row by row
			row := a.RawRowView(i)
			for c := range cols {
				of := u.Data[c*u.Stride : c*u.Stride+cols]
				row[c] /= of[c]
				for b := c + 1; b < cols; b++ {
					row[b] -= row[c] * of[b]
				}
			}
		}
	}
}

func flat(m *mat.Dense) []float64 {
	rows, cols := m.Dims()
	out := make([]float64, 0, rows*cols)
	for i := range rows {
		out = append(out, m.RawRowView(i)...)
	}
	return out
}
