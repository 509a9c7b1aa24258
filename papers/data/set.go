package data

import (
	"math"
	"math/rand/v2"

	"thresher/internal/philox"
)

// Atoms are n vectors of d coordinates, as package papers reads them: Pull writes coordinate j of the listed atoms to dst,
// which has their length.
type Atoms interface {
	Len() int
	Dim() int
	Pull(j int, arms []int, dst []float64)
}

// Set is atoms and the queries that are searched for in them.
type Set struct {
	Name    string
	Atoms   Atoms
	Queries [][]float32 // of Atoms.Dim() coordinates each
	// Means[q][i] is the expectation of a coordinate's product of query q and atom i under the model that the set is drawn
	// from; nil where the model gives none.
	Means [][]float64
}

// Gap is the distance of the two largest expectations of a query's products, Delta of BanditMIPS as the model has it.
func (s *Set) Gap(query int) float64 {
	first, second := math.Inf(-1), math.Inf(-1)
	for _, m := range s.Means[query] {
		if m > first {
			first, second = m, first
		} else if m > second {
			second = m
		}
	}
	return first - second
}

// Streams of a seed. Queries after the first have two of their own each, from streamQueries on.
const (
	streamModel   = 1
	streamNoise   = 2
	streamQuery   = 3
	streamWeights = 5
	streamOffsets = 6
	streamPrices  = 7
	streamFactors = 8
	streamChoice  = 10
	streamQueries = 1 << 32
)

// normal is the i-th standard normal number of a source.
func normal(s *philox.Source, i uint64) float64 {
	a, b := s.Pair(i)
	u := (float64(a>>11) + 0.5) * 0x1p-53
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*float64(b>>11)*0x1p-53)
}

// uniform is the i-th number of a source, in [0, 1).
func uniform(s *philox.Source, i uint64) float64 {
	a, _ := s.Pair(i)
	return float64(a>>11) * 0x1p-53
}

// generated computes v_ij = scale_i q_j + shift_i + noise.
type generated struct {
	d            int
	scale, shift []float64
	query        []float32
	noise        *philox.Source
}

func (g *generated) Len() int { return len(g.scale) }
func (g *generated) Dim() int { return g.d }
func (g *generated) Pull(j int, arms []int, dst []float64) {
	q := float64(g.query[j])
	for p, i := range arms {
		x := g.scale[i]*q + g.shift[i] + normal(g.noise, uint64(i)<<32|uint64(j))
		dst[p] = float64(float32(x))
	}
}

// query is d coordinates of theta + N(0,1).
func query(s *philox.Source, theta float64, d int) []float32 {
	q := make([]float32, d)
	for j := range q {
		q[j] = float32(theta + normal(s, uint64(j)))
	}
	return q
}

// signals are m queries of coordinates theta + N(0,1), with a theta of its own from N(0,1) for each; first is that of the first.
func signals(first float64, m, d int, seed uint64) (queries [][]float32, thetas []float64) {
	for q := range m {
		theta, source := first, philox.New(seed, streamQuery)
		if q > 0 {
			theta = rand.New(philox.New(seed, streamQueries+2*uint64(q))).NormFloat64()
			source = philox.New(seed, streamQueries+2*uint64(q)+1)
		}
		queries, thetas = append(queries, query(source, theta, d)), append(thetas, theta)
	}
	return queries, thetas
}

// Normal is NORMAL_CUSTOM of BanditMIPS (arXiv 2212.07551, section 9.1): coordinates of an atom are N(theta_i, 1), those of
// each of m queries N(theta, 1), all thetas N(0, 1).
func Normal(n, d, m int, seed uint64) *Set {
	r := rand.New(philox.New(seed, streamModel))
	theta := r.NormFloat64()
	g := &generated{d: d, scale: make([]float64, n), shift: make([]float64, n), noise: philox.New(seed, streamNoise)}
	for i := range n {
		g.shift[i] = r.NormFloat64()
	}
	queries, thetas := signals(theta, m, d, seed)
	g.query = queries[0]
	s := &Set{Name: "NORMAL_CUSTOM", Atoms: g, Queries: queries}
	for _, t := range thetas {
		means := make([]float64, n)
		for i, a := range g.shift {
			means[i] = t * a
		}
		s.Means = append(s.Means, means)
	}
	return s
}

// Correlated is CORRELATED_NORMAL_CUSTOM as the text of section 9.1 has it: atom i is w_i q plus N(0,1) noise, w_i from
// N(0,1). It has one query, that q.
func Correlated(n, d int, seed uint64) *Set {
	r := rand.New(philox.New(seed, streamModel))
	theta := r.NormFloat64()
	g := &generated{d: d, scale: make([]float64, n), shift: make([]float64, n), noise: philox.New(seed, streamNoise)}
	means := make([]float64, n)
	for i := range n {
		a := r.NormFloat64()
		g.scale[i], means[i] = a, a*(1+theta*theta)
	}
	queries, _ := signals(theta, 1, d, seed)
	g.query = queries[0]
	return &Set{Name: "CORRELATED_NORMAL_CUSTOM", Atoms: g, Queries: queries, Means: [][]float64{means}}
}

// Symmetric is SymmetricNormal of appendix 13: all coordinates of atoms and queries are N(0, 1).
func Symmetric(n, d, m int, seed uint64) *Set {
	s := &Set{
		Name: "SymmetricNormal",
		Atoms: &generated{d: d, scale: make([]float64, n), shift: make([]float64, n), query: make([]float32, d),
			noise: philox.New(seed, streamNoise)},
	}
	for q := range m {
		source := philox.New(seed, streamQuery)
		if q > 0 {
			source = philox.New(seed, streamQueries+2*uint64(q)+1)
		}
		s.Queries = append(s.Queries, query(source, 0, d))
		s.Means = append(s.Means, make([]float64, n))
	}
	return s
}

// mixed computes v_ij = offset_i + the weighted sum of signals at j.
type mixed struct {
	d       int
	offsets []float64
	weights [][]float64 // [atom][signal]
	signals [][]float32
}

func (x *mixed) Len() int { return len(x.offsets) }
func (x *mixed) Dim() int { return x.d }
func (x *mixed) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		v := x.offsets[i]
		for s, w := range x.weights[i] {
			v += w * float64(x.signals[s][j])
		}
		dst[p] = float64(float32(v))
	}
}

// Mixed is CORRELATED_NORMAL_CUSTOM as the authors' program makes it: an atom is a weighted sum of the m queries and of one
// more signal, the weights from N(0,1) divided by the sum of their absolute values, plus an offset 3 N(0,1) that all its
// coordinates have in common. There is no noise by coordinate.
func Mixed(n, d, m int, seed uint64) *Set {
	theta := rand.New(philox.New(seed, streamModel)).NormFloat64()
	all, thetas := signals(theta, m+1, d, seed)
	x := &mixed{d: d, offsets: make([]float64, n), weights: make([][]float64, n), signals: all}
	s := &Set{Name: "CORRELATED (programs)", Atoms: x, Queries: all[:m]}
	weights, offsets := rand.New(philox.New(seed, streamWeights)), rand.New(philox.New(seed, streamOffsets))
	for i := range n {
		x.offsets[i] = 3 * offsets.NormFloat64()
		sum := 0.0
		for range m + 1 {
			w := weights.NormFloat64()
			x.weights[i] = append(x.weights[i], w)
			sum += math.Abs(w)
		}
		for p := range x.weights[i] {
			x.weights[i][p] /= sum
		}
	}
	for q := range m {
		means := make([]float64, n)
		for i := range means {
			mean := x.offsets[i] // of the atom's coordinates
			for p, w := range x.weights[i] {
				mean += w * thetas[p]
			}
			means[i] = thetas[q]*mean + x.weights[i][q] // the signal's variance is 1
		}
		s.Means = append(s.Means, means)
	}
	return s
}

// computed is atoms whose coordinates are a function of (i, j).
type computed struct {
	n, d  int
	value func(i, j int) float64
}

func (c *computed) Len() int { return c.n }
func (c *computed) Dim() int { return c.d }
func (c *computed) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		dst[p] = float64(float32(c.value(i, j)))
	}
}

// Gaussian is iid N(0,1) atoms and m queries, as in figure 2 of BoundedME: [Symmetric] under that paper's name.
func Gaussian(n, d, m int, seed uint64) *Set {
	s := Symmetric(n, d, m, seed)
	s.Name = "N(0,1)"
	return s
}

// Uniform is iid U[0,1] atoms and m queries, as in figure 3 of BoundedME.
func Uniform(n, d, m int, seed uint64) *Set {
	noise := philox.New(seed, streamNoise)
	s := &Set{Name: "U[0,1]", Atoms: &computed{n, d, func(i, j int) float64 { return uniform(noise, uint64(i)<<32|uint64(j)) }}}
	for q := range m {
		source := philox.New(seed, streamQueries+uint64(q))
		x, means := make([]float32, d), make([]float64, n)
		for j := range x {
			x[j] = float32(uniform(source, uint64(j)))
		}
		for i := range means {
			means[i] = .25
		}
		s.Queries, s.Means = append(s.Queries, x), append(s.Means, means)
	}
	return s
}
