package slate

import "testing"

// BenchmarkUpdate takes the rewards of slates of ten items at d = 18.
func BenchmarkUpdate(b *testing.B) {
	const d, m = 18, 10
	r := newRand(1, 0)
	user := must(NewEstimator(d, 1))
	x, y := uniform(r, m*d, 0, 1), uniform(r, m, 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := user.Update(x, y); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "slates/s")
}

// BenchmarkScore computes one UCB of one item.
func BenchmarkScore(b *testing.B) {
	const n, d = 1000, 18
	r := newRand(1, 0)
	vectors := uniform(r, n*d, 0, 1)
	it := must(NewItems(must(NewCoverage(n, d, vectors)), Attributes{}))
	p := NewPlanner(must(it.Constrain(Limits{Length: 10})))
	p.user = must(NewEstimator(d, 1))
	must(0, p.user.Update(vectors[:d*30], uniform(r, 30, 0, 1)))
	b.ReportAllocs()
	e := 0
	for b.Loop() {
		p.estimate(e)
		e = (e + 1) % n
	}
}

// BenchmarkRecommend chooses ten of a thousand articles for a user with a hundred observed
// slates.
func BenchmarkRecommend(b *testing.B) {
	const n, d = 1000, 18
	r := newRand(1, 0)
	vectors, costs := news(r, n, d)
	it := must(NewItems(must(NewCoverage(n, d, vectors)), Attributes{Knapsacks: 1, Costs: costs}))
	p := NewPlanner(must(it.Constrain(Limits{Length: 10, Budgets: []float64{2}})))
	w := reader(r, d)
	user := must(NewEstimator(d, 1))
	play(r, p, w, user, Options{}, 100)
	for _, a := range []Algorithm{AFSM, LSBGreedy, ModifiedGreedy} {
		b.Run(string(a), func(b *testing.B) {
			b.ReportAllocs()
			var s Slate
			for b.Loop() {
				s = must(p.Recommend(user, Options{Algorithm: a}))
			}
			b.ReportMetric(float64(s.Evaluations), "evaluations/op")
		})
	}
}
