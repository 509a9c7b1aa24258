package data

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"thresher/internal/philox"

	"gonum.org/v1/gonum/mat"
)

// predicted is the product of users' and films' factors as atoms: films with the users as coordinates, or users with the
// films as coordinates.
type predicted struct {
	f          *Factors
	ids        []int // of the atoms
	coordinate []int // user or film of coordinate j
	users      bool  // atoms are users
}

func (x *predicted) Len() int { return len(x.ids) }
func (x *predicted) Dim() int { return len(x.coordinate) }
func (x *predicted) Pull(j int, arms []int, dst []float64) {
	c := x.coordinate[j]
	for p, i := range arms {
		dst[p] = x.at(x.ids[i], c)
	}
}

func (x *predicted) at(id, c int) float64 {
	if x.users {
		return float64(float32(x.f.At(id, c)))
	}
	return float64(float32(x.f.At(c, id)))
}

// Films is n films as atoms and m others as queries, their coordinates the predicted ratings of d users: "the movie vectors
// are used as the query vectors and atoms, with d corresponding to the number of subsampled users" (arXiv 2212.07551,
// section 9.2). Films and users are chosen by the seed, the users of a smaller d among those of a larger.
func Films(f *Factors, n, d, m int, seed uint64) (*Set, error) {
	return choose("MovieLens", f, n, d, m, seed, false)
}

// Viewers is n users as atoms and m others as queries, their coordinates the predicted ratings of d films: the transpose,
// as in figure 7.
func Viewers(f *Factors, n, d, m int, seed uint64) (*Set, error) {
	return choose("MovieLens transposed", f, n, d, m, seed, true)
}

func choose(name string, f *Factors, n, d, m int, seed uint64, users bool) (*Set, error) {
	atoms, coordinates, what := f.Films, f.Users, "films and %d users"
	if users {
		atoms, coordinates, what = f.Users, f.Films, "users and %d films"
	}
	if n < 1 || m < 1 || d < 1 || n+m > atoms || d > coordinates {
		return nil, fmt.Errorf("%s: %d atoms, %d queries and %d coordinates of %d "+what, name, n, m, d, atoms, coordinates)
	}
	r := rand.New(philox.New(seed, streamChoice))
	ids, order := r.Perm(atoms), r.Perm(coordinates)
	x := &predicted{f: f, ids: ids[:n], coordinate: order[:d], users: users}
	s := &Set{Name: name, Atoms: x}
	for _, id := range ids[n : n+m] {
		query := make([]float32, d)
		for j, c := range x.coordinate {
			query[j] = float32(x.at(id, c))
		}
		s.Queries = append(s.Queries, query)
	}
	return s, nil
}

// Customers are as many customers as wanted, drawn from a Gaussian of factors: the stand-in for the Netflix data.
// The prediction of film i for a customer is Mean[i] + Loading[i] z, z of N(0,1) coordinates that are the customer's own.
type Customers struct {
	rank    int
	mean    []float64
	loading []float64 // films x rank
}

// ridgeOfBiases is how many ratings of the mean a film's or a user's bias is drawn to.
const ridgeOfBiases = 10

// NewCustomers fits the Gaussian: the mean of all ratings, a bias for each film and user, and rank factors of what is left
// (the paper takes a 100-factor singular value decomposition of the Netflix data), then mean and covariance of the users'
// factors and biases.
func NewCustomers(ctx context.Context, r *Ratings, rank int, seed uint64) (*Customers, error) {
	mean, user, film := r.biases()
	f, err := r.Truncated(ctx, rank, func(g Rating) float64 { return mean + user[g.User] + film[g.Film] }, seed)
	if err != nil {
		return nil, err
	}
	wide := rank + 1 // the bias is the last factor
	centre, cov := make([]float64, wide), mat.NewSymDense(wide, nil)
	rows := mat.NewDense(r.Users, wide, nil)
	for u := range r.Users {
		row := rows.RawRowView(u)
		copy(row, f.User[u*rank:(u+1)*rank])
		row[rank] = user[u]
		for c, x := range row {
			centre[c] += x / float64(r.Users)
		}
	}
	for u := range r.Users {
		row := rows.RawRowView(u)
		for c := range row {
			row[c] -= centre[c]
		}
	}
	cov.SymOuterK(1/float64(r.Users), rows.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, true) {
		return nil, fmt.Errorf("no eigenvalues of the covariance of %d factors", wide)
	}
	var root mat.Dense
	eigen.VectorsTo(&root)
	for c, v := range eigen.Values(nil) {
		scale := math.Sqrt(max(0, v))
		for a := range wide {
			root.Set(a, c, root.At(a, c)*scale)
		}
	}
	films := mat.NewDense(r.Films, wide, nil)
	out := &Customers{rank: wide, mean: make([]float64, r.Films)}
	for i := range r.Films {
		row := films.RawRowView(i)
		copy(row, f.Film[i*rank:(i+1)*rank])
		row[rank] = 1
		out.mean[i] = mean + film[i]
		for c, x := range row {
			out.mean[i] += x * centre[c]
		}
	}
	var loading mat.Dense
	loading.Mul(films, &root)
	out.loading = flat(&loading)
	return out, nil
}

// biases are the mean rating and what users and films differ from it, drawn towards 0 where ratings are few.
func (r *Ratings) biases() (mean float64, user, film []float64) {
	for _, g := range r.Given {
		mean += g.Stars / float64(len(r.Given))
	}
	user, film = make([]float64, r.Users), make([]float64, r.Films)
	count := make([]float64, max(r.Users, r.Films))
	for _, g := range r.Given {
		film[g.Film] += g.Stars - mean
		count[g.Film]++
	}
	for i := range film {
		film[i] /= count[i] + ridgeOfBiases
	}
	clear(count)
	for _, g := range r.Given {
		user[g.User] += g.Stars - mean - film[g.Film]
		count[g.User]++
	}
	for i := range user {
		user[i] /= count[i] + ridgeOfBiases
	}
	return mean, user, film
}

// Films is n films as atoms and m others as queries, their coordinates the predictions for d customers, at most 2^32. Films
// are chosen and customers drawn by the seed; the customers of a smaller d are the first of a larger.
func (c *Customers) Films(n, d, m int, seed uint64) (*Set, error) {
	if n < 1 || m < 1 || d < 1 || n+m > len(c.mean) {
		return nil, fmt.Errorf("customers: %d atoms, %d queries and %d coordinates of %d films", n, m, d, len(c.mean))
	}
	ids := rand.New(philox.New(seed, streamChoice)).Perm(len(c.mean))
	noise := philox.New(seed, streamNoise)
	x := &customers{Customers: c, ids: ids[:n], d: d, noise: noise}
	s := &Set{Name: "customers (for Netflix)", Atoms: x}
	queries := &customers{Customers: c, ids: ids[n : n+m], d: d, noise: noise}
	all, column := make([]int, m), make([]float64, m)
	for q := range all {
		all[q] = q
		s.Queries = append(s.Queries, make([]float32, d))
	}
	for j := range d {
		queries.Pull(j, all, column)
		for q, v := range column {
			s.Queries[q][j] = float32(v)
		}
	}
	for _, q := range queries.ids {
		means := make([]float64, n)
		for p, i := range x.ids {
			means[p] = c.mean[q] * c.mean[i]
			for r := range c.rank {
				means[p] += c.loading[q*c.rank+r] * c.loading[i*c.rank+r]
			}
		}
		s.Means = append(s.Means, means)
	}
	return s, nil
}

// customers computes predictions when they are pulled: a customer's factors once for all films of a pull.
type customers struct {
	*Customers
	ids   []int
	d     int
	noise *philox.Source
}

func (x *customers) Len() int { return len(x.ids) }
func (x *customers) Dim() int { return x.d }
func (x *customers) Pull(j int, arms []int, dst []float64) {
	factors := make([]float64, x.rank)
	for r := range factors {
		factors[r] = normal(x.noise, uint64(r)<<32|uint64(j))
	}
	for p, i := range arms {
		v := x.mean[x.ids[i]]
		for r, l := range x.loading[x.ids[i]*x.rank:][:x.rank] {
			v += l * factors[r]
		}
		dst[p] = float64(float32(v))
	}
}
