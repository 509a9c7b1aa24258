package duel

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Strengths are estimates in the model of Bradley and Terry ("Rank analysis of incomplete
// block designs", Biometrika 39, 1952): P(i > j) = 1/(1 + exp(s_j - s_i)).
type Strengths struct {
	// Arms has one estimate for each arm, in the order of the arms.
	Arms []Strength `json:"arms"`
	// Separated says that no finite strengths are the most likely: the arms can be divided
	// into two groups such that none of one ever won against the other (or they never met).
	// Then every arm is given half a win and half a loss against an arm of strength 0.
	Separated bool `json:"separated"`
}

// Strength is an arm's estimate. Strengths of all arms add up to 0.
type Strength struct {
	Estimate float64 `json:"estimate"`
	// Error is the standard error by the observed information, and Low and High are 1.96 of
	// them away. They hold for counts that were fixed in advance, and approximately where the
	// results decided which pairs met; they say nothing of preferences that the model does not
	// fit, such as circles.
	Error float64 `json:"error"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// halfGame is the weight of the wins and losses that separated arms are given.
const halfGame = .5

// BradleyTerry returns the most likely strengths for a square matrix of how often i won
// against j, which it neither keeps nor changes. It is an error if the matrix has fewer than
// 2 or more than MaxArms rows, is not square, has a negative entry, one above 2^53, or one
// other than 0 on its diagonal, or has none above 0.
func BradleyTerry(wins [][]int64) (*Strengths, error) {
	m, err := newBradleyTerry(wins)
	if err != nil {
		return nil, fmt.Errorf("duel: strengths: %w", err)
	}
	s, err := m.fit()
	if err != nil {
		return nil, fmt.Errorf("duel: strengths: %w", err)
	}
	return m.strengths(s)
}

// bradleyTerry is the negative log-likelihood of strengths, for each duel; of separated arms
// with the prior; plus a penalty of the sum's square, on which no likelihood depends.
type bradleyTerry struct {
	k         int
	wins      [][]int64
	all       float64 // duels
	separated bool
}

func newBradleyTerry(wins [][]int64) (*bradleyTerry, error) {
	k := len(wins)
	if k < 2 || k > MaxArms {
		return nil, fmt.Errorf("%d rows; 2 to %d", k, MaxArms)
	}
	m := &bradleyTerry{k: k, wins: wins}
	for i, row := range wins {
		if len(row) != k {
			return nil, fmt.Errorf("row %d has %d entries, not %d", i, len(row), k)
		}
		for j, w := range row {
			if w < 0 || w > maxCount || i == j && w != 0 {
				return nil, fmt.Errorf("row %d, column %d: %d wins are not in [0, 2^53], or of an arm against itself", i, j, w)
			}
			m.all += float64(w)
		}
	}
	if m.all == 0 {
		return nil, errors.New("no duels: all counts are 0")
	}
	// L. R. Ford's condition (1957): chains of wins lead from any arm to all others and back.
	m.separated = reached(k, func(i, j int) bool { return wins[i][j] > 0 }) < k || reached(k, func(i, j int) bool { return wins[j][i] > 0 }) < k
	return m, nil
}

// reached returns the number of arms to which chains lead from arm 0, itself included.
func reached(k int, leads func(i, j int) bool) int {
	found := make([]bool, k)
	found[0] = true
	queue := []int{0}
	for at := 0; at < len(queue); at++ {
		for j := range k {
			if !found[j] && leads(queue[at], j) {
				found[j] = true
				queue = append(queue, j)
			}
		}
	}
	return len(queue)
}

// prior returns the wins, and the losses, that every arm is given against strength 0.
func (m *bradleyTerry) prior() float64 {
	if m.separated {
		return halfGame
	}
	return 0
}

// chance is the probability that an arm wins against one that is weaker by s.
func chance(s float64) float64 { return 1 / (1 + math.Exp(-s)) }

// unlikely returns -ln chance(s), without overflow.
func unlikely(s float64) float64 { return math.Max(-s, 0) + math.Log1p(math.Exp(-math.Abs(s))) }

func (m *bradleyTerry) value(s []float64) float64 {
	var sum, f float64
	for i, row := range m.wins {
		sum += s[i]
		f += m.prior() * (unlikely(s[i]) + unlikely(-s[i]))
		for j, w := range row {
			if w > 0 {
				f += float64(w) * unlikely(s[i]-s[j])
			}
		}
	}
	return f/m.all + sum*sum/2
}

func (m *bradleyTerry) gradient(g, s []float64) {
	sum := 0.
	for i := range g {
		g[i] = m.prior() * (2*chance(s[i]) - 1)
		sum += s[i]
	}
	for i, row := range m.wins {
		for j, w := range row {
			if w > 0 {
				x := float64(w) * chance(s[j]-s[i])
				g[i] -= x
				g[j] += x
			}
		}
	}
	for i := range g {
		g[i] = g[i]/m.all + sum
	}
}

func (m *bradleyTerry) hessian(h *mat.SymDense, s []float64) {
	m.information(h, s)
	for i := range m.k {
		for j := range i + 1 {
			h.SetSym(i, j, h.At(i, j)/m.all+1)
		}
	}
}

// information sets h to the observed information.
func (m *bradleyTerry) information(h *mat.SymDense, s []float64) {
	h.Zero()
	add := func(i, j int, x float64) { h.SetSym(i, j, h.At(i, j)+x) }
	for i, row := range m.wins {
		p := chance(s[i])
		add(i, i, 2*m.prior()*p*(1-p))
		for j, w := range row {
			if w > 0 {
				p := chance(s[i] - s[j])
				x := float64(w) * p * (1 - p)
				add(i, i, x)
				add(j, j, x)
				add(i, j, -x)
			}
		}
	}
}

// fit finds the strengths by Newton's method; a step that does not lower the value is halved.
func (m *bradleyTerry) fit() ([]float64, error) {
	const steps, rounding = 200, 1e-13 // the value is for each duel, about 1
	exact := 1e-9
	if m.separated { // the prior must be felt among many duels
		exact = max(min(exact, 1e-3*halfGame/m.all), 1e-14)
	}
	at, next, g := make([]float64, m.k), make([]float64, m.k), make([]float64, m.k)
	h := mat.NewSymDense(m.k, nil)
	for range steps {
		m.gradient(g, at)
		if floats.Norm(g, math.Inf(1)) < exact {
			return at, nil
		}
		m.hessian(h, at)
		var factor mat.Cholesky
		var step mat.VecDense
		if !factor.Factorize(h) {
			return nil, errors.New("the information is singular")
		}
		if err := factor.SolveVecTo(&step, mat.NewVecDense(m.k, g)); err != nil {
			return nil, err
		}
		length, before := 1., m.value(at)
		for floats.AddScaledTo(next, at, -length, step.RawVector().Data); !(m.value(next) <= before+rounding*(1+before)) && length > exact; {
			length /= 2
			floats.AddScaledTo(next, at, -length, step.RawVector().Data)
		}
		at, next = next, at
	}
	return nil, fmt.Errorf("no convergence in %d steps of Newton's method", steps)
}

// strengths centres estimates and adds their errors: those of the inverse of the
// information, restricted to strengths that add up to 0.
func (m *bradleyTerry) strengths(s []float64) (*Strengths, error) {
	h := mat.NewSymDense(m.k, nil)
	m.information(h, s)
	mean, k := 0., float64(m.k)
	for i := range m.k {
		mean += s[i] / k
		for j := range i + 1 {
			h.SetSym(i, j, h.At(i, j)+1)
		}
	}
	var factor mat.Cholesky
	var v mat.SymDense
	if ok := factor.Factorize(h); !ok {
		return nil, errors.New("duel: strengths: the information is singular")
	}
	if err := factor.InverseTo(&v); err != nil {
		return nil, fmt.Errorf("duel: strengths: %w", err)
	}
	rows, all := make([]float64, m.k), 0.
	for i := range m.k {
		for j := range m.k {
			rows[i] += v.At(i, j) / k
		}
		all += rows[i] / k
	}
	out := &Strengths{Separated: m.separated}
	for i := range m.k {
		const wide = 1.959963984540054 // of a standard normal: 95%
		x, e := s[i]-mean, math.Sqrt(max(v.At(i, i)-2*rows[i]+all, 0))
		out.Arms = append(out.Arms, Strength{Estimate: x, Error: e, Low: x - wide*e, High: x + wide*e})
	}
	return out, nil
}
