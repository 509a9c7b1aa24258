package slate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// market returns n items of 18 topics with two costs, uniform in [0.01, 1], and budgets of
// 3: lists have up to ten items and both budgets bind.
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
		case "films": // one to four genres, some far more common, weighted by one rating
			rating := 0.4 + 0.5*r.Float64()
			for range 1 + r.IntN(4) {
				row[int(d*r.Float64()*r.Float64())] = rating
			}
		case "dense": // cells find no structure
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

// readers returns users who have seen so many lists of ten random items each and rewarded
// items with the probability of their value.
func readers(tb testing.TB, items *Items, users, lists int) []*Estimator {
	d := items.Objective().Features()
	out := make([]*Estimator, users)
	for i := range out {
		r := rand.New(rand.NewPCG(2, uint64(i)))
		// Lambdas are distinct, so that cold users do not share their work.
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
			list := make([]int, 10)
			for j := range list { // one of each tenth
				list[j] = (j*items.Size() + r.IntN(items.Size())) / 10
			}
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

// plainLoop is AFSM without shortcuts, except that ucb(e|{}) is computed once: all items
// are scored for every threshold and position.
func plainLoop(tb testing.TB, c *Constraint, user *Estimator, o Options) Slate {
	o = must(o.filled())
	grid, err := o.thresholds(c)
	if err != nil {
		tb.Fatal(err)
	}
	p := NewPlanner(c)
	p.user, p.beta, p.judge = user, must(user.Beta(o.Confidence)), p.estimate
	p.rewind(0)
	p.build(0) // for ucb(e|{})
	best := Slate{UCB: math.Inf(-1)}
	for _, rho := range grid {
		p.rewind(0)
		s := Slate{Algorithm: AFSM, Beta: p.beta, Rho: rho, Picks: []Pick{}}
		for {
			next, top := Pick{Item: -1}, math.Inf(-1)
			for e := range p.c.items.Size() {
				if !p.basket.fits(e) {
					continue
				}
				mean, width := p.estimate(e)
				if ucb := mean + width; p.passes(int32(e), ucb, rho) && ucb > top {
					next, top = Pick{Item: e, Mean: mean, Width: width}, ucb
				}
			}
			if next.Item < 0 {
				break
			}
			p.push(next.Item)
			s.Value += next.Mean
			s.Width += next.Width
			next.Value = s.Value
			s.Picks = append(s.Picks, next)
		}
		if s.UCB = s.Value + 3*s.Width; s.UCB > best.UCB {
			best = s
		}
	}
	return best
}

// BenchmarkMany plans 1,000 users over 10,000 items in one call. In the same run it plans
// some of them one after the other, by a Planner and by the plain loop, whose slates must
// be the same. ns/op is the call; ratios are of times per user.
func BenchmarkMany(b *testing.B) {
	for _, kind := range []string{"news", "films", "dense"} {
		items, c := market(b, kind, 10_000)
		for _, lists := range []int{0, 50} {
			for _, rule := range []Rule{Tuned, Determinant} {
				b.Run(fmt.Sprintf("%s/lists=%d/%s", kind, lists, rule), func(b *testing.B) {
					benchmarkMany(b, items, c, readers(b, items, 1000, lists), Options{Confidence: Confidence{Rule: rule}})
				})
			}
		}
	}
}

func benchmarkMany(b *testing.B, items *Items, c *Constraint, users []*Estimator, o Options) {
	const sample = 5 // for the Planner; the first of them for the plain loop too
	many := must(NewMany(items, ManyOptions{Workers: 1}))
	planner := NewPlanner(c)
	var together, alone, plainly time.Duration
	scored, all := 0, 0
	for b.Loop() {
		start := time.Now()
		slates, err := many.Recommend(context.Background(), c, users, o)
		if err != nil {
			b.Fatal(err)
		}
		together += time.Since(start)
		b.StopTimer()
		for i := range sample {
			at := i * len(users) / sample
			start = time.Now()
			s := must(planner.Recommend(users[at], o))
			alone += time.Since(start)
			all += s.Evaluations
			scored += slates[at].Evaluations
			if diff := cmp.Diff(s, slates[at], fewer); diff != "" {
				b.Fatalf("user %d: planner -, many +\n%s", at, diff)
			}
		}
		start = time.Now()
		s := plainLoop(b, c, users[0], o)
		plainly += time.Since(start)
		if diff := cmp.Diff(s, slates[0], fewer, cmpopts.IgnoreFields(Slate{}, "Alpha")); diff != "" {
			b.Fatalf("plain -, many +\n%s", diff)
		}
		b.StartTimer()
	}
	each := together.Seconds() / float64(len(users))
	b.ReportMetric(each/float64(b.N)*1e6, "µs/user")
	b.ReportMetric(alone.Seconds()/sample/each, "×planner")
	b.ReportMetric(plainly.Seconds()/each, "×plain")
	b.ReportMetric(float64(scored)/float64(b.N*sample), "scores/user")
	b.ReportMetric(float64(all)/float64(b.N*sample), "scores/user-planner")
}
