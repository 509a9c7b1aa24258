package slate

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

// news generates articles: two topics of each are covered well, the others hardly (UAI
// 2020, section 7.1, with other ranges).
func news(r *rand.Rand, n, d int) (vectors, costs []float64) {
	vectors = make([]float64, 0, n*d)
	for range n {
		vectors = append(vectors, twoTopics(r, d)...)
	}
	return vectors, uniform(r, n, 0.01, 1)
}

func twoTopics(r *rand.Rand, d int) []float64 {
	x := uniform(r, d, 0, 0.01)
	for _, g := range r.Perm(d)[:2] {
		x[g] = 0.5 + 0.3*r.Float64()
	}
	return x
}

// reader returns a user's weights, of sum 1.
func reader(r *rand.Rand, d int) []float64 {
	w := twoTopics(r, d)
	var sum float64
	for _, x := range w {
		sum += x
	}
	for g := range w {
		w[g] /= sum
	}
	return w
}

// play runs rounds of an algorithm for one user, who likes an item with the probability of
// its gain, and returns the mean of f over the rounds.
func play(r *rand.Rand, p *Planner, w []float64, user *Estimator, o Options, rounds int) (mean float64, evaluations int) {
	it := p.c.Items()
	for t := range rounds {
		o.Round = uint64(t)
		s := must(p.Recommend(user, o))
		x := must(it.Features(s.Items()))
		rewards := make([]float64, len(s.Picks))
		for i := range rewards {
			gain := dot(w, x[i*len(w):(i+1)*len(w)])
			mean += gain
			rewards[i] = coin(r, gain)
		}
		if err := user.Update(x, rewards); err != nil {
			panic(err)
		}
		evaluations += s.Evaluations
	}
	return mean / float64(rounds), evaluations / rounds
}

var allNews = flag.Bool("news", false, "all four settings of TestNews, a minute")

// Four settings of news, each with 10 users who read 300 lists, and the results of an
// independent program on another instance for AFSM-UCB, LSBGreedy and the modified greedy:
// means of f over the rounds, and f of the lists for known weights. Instances differ: over
// 20 seeds the first setting gives 0.756, 0.729, 0.613 with standard deviations of 0.020,
// 0.036, 0.048, and 0.826, 0.785, 0.777 for known weights, so figures are compared within
// 0.2 and 0.1. If length and budget both bind, the order of the algorithms is that of 17
// of the 20 seeds.
func TestNews(t *testing.T) {
	skipLong(t)
	const n, d, users, rounds = 300, 15, 10, 300
	algorithms := [3]Algorithm{AFSM, LSBGreedy, ModifiedGreedy}
	for i, c := range []struct {
		length         int
		budget         float64
		learned, known [3]float64
	}{
		{3, 0.3, [3]float64{.791, .756, .686}, [3]float64{.868, .807, .789}},
		{5, 1, [3]float64{.889, .906, .756}, [3]float64{.944, .932, .907}},
		{3, 5, [3]float64{.833, .893, .686}, [3]float64{.922, .922, .789}},
		{15, 1, [3]float64{.917, .912, .928}, [3]float64{.956, .936, .986}},
	} {
		if i > 0 && !*allNews {
			break
		}
		var mean, known [3]float64
		for k, a := range algorithms {
			o := Options{Algorithm: a, Lowest: 0.1, Confidence: Confidence{Rule: Fixed, Base: 0.3}}
			evaluations := 0
			for u := range users {
				r := newRand(1, uint64(u))
				vectors, costs := news(r, n, d)
				w := reader(r, d)
				it := must(NewItems(must(NewCoverage(n, d, vectors)), Attributes{Knapsacks: 1, Costs: costs}))
				p := NewPlanner(must(it.Constrain(Limits{Length: c.length, Budgets: []float64{c.budget}})))
				v, e := play(r, p, w, must(NewEstimator(d, 1)), o, rounds)
				mean[k] += v / users
				known[k] += must(p.Known(w, o)).Value / users
				evaluations += e / users
			}
			t.Logf("length %d, budget %v, %s: %.3f (%.3f there), known weights %.3f (%.3f there), %d evaluations a list",
				c.length, c.budget, a, mean[k], c.learned[k], known[k], c.known[k], evaluations)
			if math.Abs(mean[k]-c.learned[k]) > 0.2 || math.Abs(known[k]-c.known[k]) > 0.1 {
				t.Errorf("length %d, budget %v, %s: far from the reference", c.length, c.budget, a)
			}
		}
		if i == 0 && (mean[0] <= mean[1] || mean[1] <= mean[2] || known[0] <= known[1]) {
			t.Errorf("means %.3f and %.3f for known weights: not in the order of %v", mean, known, algorithms)
		}
	}
}
