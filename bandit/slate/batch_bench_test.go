package slate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// market is n items of 18 topics with two costs, uniform in [0.01, 1], against
// budgets of 3: lists of up to ten items that both budgets bind.
func market(tb testing.TB, kind string, n int) (*Items, *Constraint) {
	const d = 18
	r := rand.New(rand.NewPCG(1, 0))
	x := make([]float64, n*d)
	for e := range n {
		row := x[e*d : (e+1)*d]
		switch kind {
		case "news": // two topics, the others hardly
			for g := range row {
				row[g] = 0.01 * r.Float64()
			}
			for _, g := range r.Perm(d)[:2] {
				row[g] = 0.5 + 0.3*r.Float64()
			}
		case "films": // one to four genres, some far more common, by one rating
			rating := 0.4 + 0.5*r.Float64()
			for range 1 + r.IntN(4) {
				row[int(d*r.Float64()*r.Float64())] = rating
			}
		case "dense": // nothing for cells to find
			for g := range row {
				row[g] = r.Float64()
			}
		}
	}
	objective, err := NewCoverage(n, d, x)
	if err != nil {
		tb.Fatal(err)
	}
	costs := make([]float64, 2*n)
	for i := range costs {
		costs[i] = max(0.01, r.Float64())
	}
	items, err := NewItems(objective, Attributes{Knapsacks: 2, Costs: costs})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := items.Constrain(Limits{Length: 10, Budgets: []float64{3, 3}})
	if err != nil {
		tb.Fatal(err)
	}
	return items, c
}

// readers have seen so many lists of ten random items each, and taken what they
// like with the chance that it is worth to them.
func readers(tb testing.TB, items *Items, users, lists int) []*Estimator {
	d := items.Objective().Features()
	out := make([]*Estimator, users)
	for i := range out {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		// No two lambdas are equal, so that cold users do not share their work.
		u, err := NewEstimator(d, 1+1e-9*float64(i))
		if err != nil {
			tb.Fatal(err)
		}
		weights := make([]float64, d)
		var sum float64
		for g := range weights {
			weights[g] = r.Float64() * r.Float64() * r.Float64()
			sum += weights[g]
		}
		for range lists {
			list := r.Perm(items.Size())[:10]
			x, err := items.Features(list)
			if err != nil {
				tb.Fatal(err)
			}
			rewards := make([]float64, len(list))
			for j := range rewards {
				var worth float64
				for g, w := range weights {
					worth += w / sum * x[j*d+g]
				}
				if r.Float64() < worth {
					rewards[j] = 1
				}
			}
			if err := u.Update(x, rewards); err != nil {
				tb.Fatal(err)
			}
		}
		out[i] = u
	}
	return out
}

// BenchmarkBatch plans 1,000 users over 10,000 items in one call, and some of
// them one after the other in the same run, whose slates must be the same. ns/op
// is the call; ratios are by time a user.
func BenchmarkBatch(b *testing.B) {
	const users, sample = 1000, 5
	for _, kind := range []string{"news", "films", "dense"} {
		items, c := market(b, kind, 10_000)
		for _, lists := range []int{0, 20, 200} {
			for _, o := range []Options{
				{Confidence: Confidence{Rule: Tuned}},
				{Confidence: Confidence{Rule: Determinant}, Greedy: true},
			} {
				b.Run(fmt.Sprintf("%s/lists=%d/%s", kind, lists, o.Confidence.Rule), func(b *testing.B) {
					benchmarkBatch(b, items, c, readers(b, items, users, lists), sample, o)
				})
			}
		}
	}
}

func benchmarkBatch(b *testing.B, items *Items, c *Constraint, users []*Estimator, sample int, o Options) {
	batch, err := NewBatch(items, BatchOptions{Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	planner := NewPlanner(c)
	var together, alone time.Duration
	var slates []Slate
	scored, all := 0, 0
	for b.Loop() {
		start := time.Now()
		if slates, err = batch.Recommend(context.Background(), c, users, o); err != nil {
			b.Fatal(err)
		}
		together += time.Since(start)
		b.StopTimer()
		start = time.Now()
		for i := range sample {
			at := i * len(users) / sample
			s, err := planner.Recommend(users[at], o)
			if err != nil {
				b.Fatal(err)
			}
			if diff := cmp.Diff(s, slates[at], fewer); diff != "" {
				b.Fatalf("user %d:\n%s", at, diff)
			}
			scored += slates[at].Evaluations
			all += s.Evaluations
		}
		alone += time.Since(start)
		b.StartTimer()
	}
	perUser := together.Seconds() / float64(len(users))
	b.ReportMetric(perUser/float64(b.N)*1e6, "µs/user")
	b.ReportMetric(alone.Seconds()/float64(sample)/perUser, "×planner")
	b.ReportMetric(float64(scored)/float64(b.N*sample), "scores/user")
	b.ReportMetric(float64(all)/float64(b.N*sample), "scores/user-alone")
}
