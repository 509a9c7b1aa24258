package duel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// thompson is Double Thompson Sampling (Wu and Liu, arXiv 1604.07101, Algorithm 1) with
// the tie-breaking of D-TS+: both arms of a duel are chosen by posterior samples of the
// preferences. It seeks a Copeland winner, eliminates no arm and runs to the horizon.
//
// It was compared line by line with the authors' program (HuasenWu/DuelingBandits,
// Alg_DTS2.cpp) and with one in JAX (stephen-huan/dueling-bandit, d_ts.py). Bounds,
// posterior, second arm and the rule for theta = 1/2 are the same. For ties, the authors'
// program takes the loss of a duel relative to the greatest sampled score among the
// optimists; this one, like that in JAX, relative to the greatest of all arms, as the
// Copeland score is defined, so that no loss is negative. The one in JAX breaks ties
// among all arms. An upper bound of exactly 1/2 counts there and not here: the paper has
// "> 1/2".
type thompson struct {
	tally
	k     int
	alpha float64
	size  int   // duels of a sweep, all chosen by the same posterior
	end   int64 // of the present sweep
	rng   *rand.Rand
	wins  []int64 // [i*k+j]: of i over j

	// Scratch of one draw.
	theta  []float64 // [i*k+j], theta_ji = 1 - theta_ij
	scores []int
}

func newThompson(k int, d Design, rng *rand.Rand) *thompson {
	s := &thompson{
		tally: newTally(d), k: k, alpha: d.Alpha, size: 1, rng: rng,
		wins: make([]int64, k*k), theta: make([]float64, k*k), scores: make([]int, k),
	}
	if d.Testing == Sweep {
		s.size = k
	}
	s.end = int64(s.size)
	return s
}

func (s *thompson) ended() bool { return s.told >= s.horizon }

func (s *thompson) draw() (pair, bool) {
	if s.drawn >= s.horizon || s.drawn >= s.end {
		return pair{}, false
	}
	s.drawn++
	width := s.alpha * math.Log(float64(s.drawn))
	a := s.first(width)
	return pair{a, s.second(a, width)}, true
}

// bounds returns l_ij and u_ij.
func (s *thompson) bounds(i, j int, width float64) (lower, upper float64) {
	if i == j {
		return .5, .5
	}
	n := s.wins[i*s.k+j] + s.wins[j*s.k+i]
	if n == 0 {
		return 0, 1
	}
	p, c := rate(s.wins[i*s.k+j], n), math.Sqrt(width/float64(n))
	return p - c, p + c
}

// first chooses, among the arms of greatest optimistic Copeland score, the arm of
// greatest score in a sample; of equals, the one of least estimated regret.
func (s *thompson) first(width float64) int {
	possible := s.optimists(width)
	s.sample()
	best := slices.MaxFunc(possible, func(a, b int) int { return s.scores[a] - s.scores[b] })
	top := slices.Max(s.scores)
	chosen, least := -1, math.Inf(1)
	for _, i := range possible {
		if s.scores[i] < s.scores[best] {
			continue
		}
		if r := s.regret(i, top); chosen < 0 || r < least {
			chosen, least = i, r
		}
	}
	return chosen
}

// optimists returns the arms of greatest optimistic Copeland score.
func (s *thompson) optimists(width float64) []int {
	var arms []int
	most := -1
	for i := range s.k {
		score := 0
		for j := range s.k {
			if _, u := s.bounds(i, j, width); u > .5 {
				score++
			}
		}
		if score > most {
			most, arms = score, arms[:0]
		}
		if score == most {
			arms = append(arms, i)
		}
	}
	return arms
}

// sample draws preferences from the posterior and computes the arms' scores.
func (s *thompson) sample() {
	clear(s.scores)
	for i := range s.k {
		for j := range i {
			x := s.posterior(i, j)
			s.theta[i*s.k+j], s.theta[j*s.k+i] = x, 1-x
			if x > .5 {
				s.scores[i]++
			} else {
				s.scores[j]++
			}
		}
	}
}

func (s *thompson) posterior(i, j int) float64 {
	return distuv.Beta{
		Alpha: float64(s.wins[i*s.k+j] + 1), Beta: float64(s.wins[j*s.k+i] + 1), Src: s.rng,
	}.Rand()
}

// regret is D-TS+'s tie-breaker: the sum over all j other than i of the loss of a duel
// i-j by the sampled scores, divided by KL(theta_ij, 1/2), to which the number of such
// duels is inversely proportional.
func (s *thompson) regret(i, top int) float64 {
	var sum float64
	for j := range s.k {
		p := s.theta[i*s.k+j]
		loss := float64(2*top-s.scores[i]-s.scores[j]) / 2
		if i == j || loss == 0 || p == .5 {
			continue
		}
		sum += loss / divergence(p)
	}
	return sum
}

// divergence returns KL(p, 1/2). Near 1/2 its terms cancel; there a series in 2p - 1 is
// exact.
func divergence(p float64) float64 {
	if x := 2*p - 1; math.Abs(x) < .01 {
		x *= x
		return x / 2 * (1 + x/6*(1+x*2/5))
	}
	return math.Ln2 + xlogx(p) + xlogx(1-p)
}

func xlogx(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x * math.Log(x)
}

// second chooses, among the arms that the first does not beat with confidence, the one
// that does best against it in a second sample.
func (s *thompson) second(a int, width float64) int {
	chosen, best := a, .5 // the first arm against itself has 1/2
	for i := range s.k {
		if lower, _ := s.bounds(i, a, width); i == a || lower > .5 {
			continue
		}
		if x := s.posterior(i, a); x > best {
			chosen, best = i, x
		}
	}
	return chosen
}

func (s *thompson) tell(d pair, won bool) change {
	if s.told++; s.told == s.end {
		s.end += int64(s.size)
	}
	switch {
	case d.a == d.b:
	case won:
		s.wins[d.a*s.k+d.b]++
	default:
		s.wins[d.b*s.k+d.a]++
	}
	return change{}
}

// describe ranks by empirical Copeland score, then by rate.
func (s *thompson) describe(st *State) {
	st.Active = allArms(s.k)
	most, best := -1, -1.
	for i := range s.k {
		var n, w int64
		score := 0
		for j := range s.k {
			win, loss := s.wins[i*s.k+j], s.wins[j*s.k+i]
			n += win + loss
			w += win
			if win > loss {
				score++
			}
		}
		p := rate(w, n)
		st.Standings = append(st.Standings, Standing{Arm: i, Duels: n, Wins: w, Rate: p})
		if score > most || score == most && p > best {
			most, best, st.Leader = score, p, i
		}
	}
	if s.ended() {
		st.End = HorizonReached
	}
}

func (s *thompson) save() progress {
	return progress{"told": {s.told}, "wins": s.wins}
}

func (s *thompson) load(p progress, drawn []pair) error {
	told, err := p.scalar("told")
	if err != nil {
		return err
	}
	_, wins, err := p.counts("wins", "wins", s.k*s.k, told)
	if err != nil {
		return err
	}
	copy(s.wins, wins)
	if err := s.tally.load(told, len(drawn)); err != nil {
		return err
	}
	s.end = (s.told/int64(s.size) + 1) * int64(s.size)
	if s.drawn > s.end {
		return fmt.Errorf("%d duels drawn, and the sweep ends at %d", s.drawn, s.end)
	}
	return nil
}
