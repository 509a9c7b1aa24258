package duel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"thresher/internal/philox"
	"thresher/internal/race"
)

// falseAlarm is the probability, over random seeds, that one statistical comparison of
// this package fails a correct program; there are about 100. Seeds are fixed, so results
// are deterministic. It is the same with -short, which plays fewer trials (see trials)
// and misses errors about three times as large.
const falseAlarm = 1e-7

// trials is the number of trials a test plays: a tenth with -short, which CI's race
// detector uses. Races show in a few trials; the distributions need the full test.
func trials(full int) int {
	if testing.Short() {
		return max(4, full/10)
	}
	return full
}

// sameLaw is the two-sample Kolmogorov-Smirnov test at level falseAlarm; ties make it
// conservative.
func sameLaw(t *testing.T, what string, x, y []float64) {
	t.Helper()
	slices.Sort(x)
	slices.Sort(y)
	var apart float64
	for i, j := 0, 0; i < len(x) && j < len(y); {
		at := min(x[i], y[j])
		for i < len(x) && x[i] == at {
			i++
		}
		for j < len(y) && y[j] == at {
			j++
		}
		apart = max(apart, math.Abs(float64(i)/float64(len(x))-float64(j)/float64(len(y))))
	}
	n, m := float64(len(x)), float64(len(y))
	if limit := math.Sqrt(math.Log(2/falseAlarm) / 2 * (n + m) / (n * m)); apart > limit {
		t.Errorf("%s: distributions are %.4f apart, the limit is %.4f", what, apart, limit)
	}
}

// sameShare compares two shares of n trials within what falseAlarm allows.
func sameShare(t *testing.T, what string, x, y, n float64) {
	t.Helper()
	p := (x + y) / (2 * n)
	limit := distuv.UnitNormal.Quantile(1-falseAlarm/2)*math.Sqrt(2*p*(1-p)/n) + 2/n
	if math.Abs(x-y)/n > limit {
		t.Errorf("%s: %g and %g of %g trials", what, x, y, n)
	}
}

// Skipping ahead gives the same distribution as playing every duel: of the number of
// duels, the regret and the winner. The cases end in all ways: one arm left, the horizon
// in mid-sweep, N comparisons.
func TestSkipAheadHasTheSameLaw(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	uneven, err := NewPreferences([][]float64{
		{.5, .55, .9, .7}, {.45, .5, .8, .95}, {.1, .2, .5, .35}, {.3, .05, .65, .5},
	})
	if err != nil {
		t.Fatal(err)
	}
	trials := trials(2000)
	for _, c := range []struct {
		name string
		d    Design
		f    *Preferences
	}{
		{"to the last arm", Design{Algorithm: BeatTheMean, Horizon: 10000}, Constant(5, .4)},
		{"an uneven matrix", Design{Algorithm: BeatTheMean, Horizon: 2000}, uneven},
		{"certain wins", Design{Algorithm: BeatTheMean, Horizon: 1000}, Constant(4, .5)},
		{"horizon in the first sweeps", Design{Algorithm: BeatTheMean, Horizon: 17}, Constant(6, .45)},
		{"horizon between removals", Design{Algorithm: BeatTheMean, Horizon: 450}, Constant(4, .35)},
		{"relaxed", Design{Algorithm: BeatTheMean, Horizon: 3000, Gamma: 1.05}, Chain(3, .47, 1.05)},
		{"until N", Design{Algorithm: BeatTheMean, Epsilon: .49, Delta: .9}, Constant(2, .02)},
		{"filter 1", Design{Algorithm: InterleavedFilter1, Horizon: 20000}, Constant(4, .2)},
		{"filter 2", Design{Algorithm: InterleavedFilter2, Horizon: 20000}, Constant(4, .2)},
		{"filter to the horizon", Design{Algorithm: InterleavedFilter2, Horizon: 1001}, Constant(3, .1)},
		{"filter, uneven", Design{Algorithm: InterleavedFilter2, Horizon: 5000, Radius: Wide}, uneven},
		{"pac with a winner", Design{Algorithm: BeatTheMean, Epsilon: .49, Delta: .9}, Constant(3, .49)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Simulation{Design: c.d, Arms: c.f.Arms(), Model: Always(c.f), Trials: trials, Seed: 3}
			skipped := runAll(t, &s)
			s.OneByOne, s.Seed = true, 4
			played := runAll(t, &s)
			sameLaw(t, "duels", lengths(skipped), lengths(played))
			sameLaw(t, "regret", regrets(skipped), regrets(played))
			for arm := range c.f.Arms() {
				sameShare(t, "winner", winners(skipped, arm), winners(played, arm), float64(trials))
			}
		})
	}
}

func winners(o []Outcome, arm int) float64 {
	n := 0.
	for _, x := range o {
		if x.Winner == arm {
			n++
		}
	}
	return n
}

// Draws are tested against the exact probabilities by Pearson's chi-square, in cells of
// at least 20.
func TestBinomial(t *testing.T) {
	draws := trials(200000)
	for i, c := range []struct {
		n int64
		p float64
	}{
		{1, .5}, {5, .3}, {9, 1. / 3}, {64, 1. / 1024}, {64, .37}, {65, .1}, {40, .2}, {40, .9}, {1000, .004}, {20, .5}, {25, .45}, {100, .1}, {100, .101},
		{300, .5}, {300, .93}, {4000, .3}, {100000, .001}, {1000000, .4},
	} {
		r := philox.New(7, uint64(i))
		counts := map[int64]float64{}
		for range draws {
			x := binomial(r, c.n, c.p)
			if x < 0 || x > c.n {
				t.Fatalf("Bin(%d, %g) = %d", c.n, c.p, x)
			}
			counts[x]++
		}
		exact := distuv.Binomial{N: float64(c.n), P: c.p}
		mean, sd := exact.Mean(), exact.StdDev()
		var square, want, got float64
		cells := -1
		var all float64
		flush := func() {
			square += (got - want) * (got - want) / want
			all += want
			want, got = 0, 0
			cells++
		}
		for x := int64(max(0, mean-9*sd)); x <= min(c.n, int64(mean+9*sd)+1); x++ {
			want += float64(draws) * exact.Prob(float64(x))
			got += counts[x]
			if want >= 20 && float64(draws)-all-want >= 20 {
				flush()
			}
		}
		flush()
		if limit := (distuv.ChiSquared{K: float64(cells)}).Quantile(1 - falseAlarm); cells > 0 && square > limit {
			t.Errorf("Bin(%d, %g): chi-square %.1f in %d cells, limit %.1f", c.n, c.p, square, cells+1, limit)
		}
	}
	for _, c := range []struct {
		n    int64
		p    float64
		want int64
	}{{0, .5, 0}, {7, 0, 0}, {7, 1, 7}, {7, -1e-17, 0}, {7, 1 + 1e-15, 7}, {-1, .5, 0}} {
		if x := binomial(philox.New(1, 1), c.n, c.p); x != c.want {
			t.Errorf("Bin(%d, %g) = %d", c.n, c.p, x)
		}
	}
}

// atMost fails if the number of wrong trials contradicts a bound on their probability:
// if so many or more have a probability below falseAlarm at the bound itself.
func atMost(t *testing.T, what string, wrong, trials int, bound float64) {
	t.Helper()
	exact := distuv.Binomial{N: float64(trials), P: bound}
	if wrong > 0 && 1-exact.CDF(float64(wrong-1)) < falseAlarm {
		t.Errorf("%s: %d of %d, the bound is %g", what, wrong, trials, bound)
	}
	t.Logf("%s: %d of %d, the bound is %g", what, wrong, trials, bound)
}

// mistakes counts tournaments that eliminated the best arm, playing every duel.
func mistakes(t *testing.T, d Design, f *Preferences, trials int) (wrong int) {
	t.Helper()
	d, err := d.complete(f.Arms())
	if err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		results := rand.New(philox.New(11, uint64(2*i)))
		s := newStrategy(f.Arms(), d, rand.New(philox.New(11, uint64(2*i+1))))
		for !s.ended() {
			var sweep []pair
			for len(sweep) == 0 || d.Testing == Sweep {
				p, ok := s.draw()
				if !ok {
					break
				}
				sweep = append(sweep, p)
			}
			for _, p := range sweep {
				for _, e := range s.tell(p, results.Float64() < f.At(p.a, p.b)).eliminated {
					if e.Arm == f.Best() {
						wrong++
					}
				}
			}
		}
	}
	return wrong
}

// The best arm is eliminated with probability at most 1/T (Lemma 2), with either
// testing. T is small, so that trials can contradict the bound.
func TestMistakesOnline(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	trials := trials(4000)
	for name, c := range map[string]struct {
		d Design
		f *Preferences
	}{
		"strict":         {Design{Algorithm: BeatTheMean, Horizon: 300}, Constant(3, .3)},
		"sweep":          {Design{Algorithm: BeatTheMean, Horizon: 300, Testing: Sweep}, Constant(3, .3)},
		"close":          {Design{Algorithm: BeatTheMean, Horizon: 500}, Constant(4, .01)},
		"close sweep":    {Design{Algorithm: BeatTheMean, Horizon: 500, Testing: Sweep}, Constant(4, .01)},
		"relaxed":        {Design{Algorithm: BeatTheMean, Horizon: 1000, Gamma: 1.2}, Chain(3, .4, 1.2)},
		"filter 1":       {Design{Algorithm: InterleavedFilter1, Horizon: 300}, Constant(3, .2)},
		"filter 2":       {Design{Algorithm: InterleavedFilter2, Horizon: 300}, Constant(3, .2)},
		"filter 2, wide": {Design{Algorithm: InterleavedFilter2, Horizon: 300, Radius: Wide}, Constant(3, .2)},
	} {
		atMost(t, name, mistakes(t, c.d, c.f, trials), trials, 1/float64(c.d.Horizon))
	}
}

// A PAC winner is within epsilon of the best with probability at least 1 - delta
// (Theorem 2; Knockout's Theorem 3).
func TestPACWinners(t *testing.T) {
	trials := trials(2000)
	for name, c := range map[string]struct {
		d Design
		f *Preferences
	}{
		"gap above epsilon": {Design{Algorithm: BeatTheMean, Epsilon: .1, Delta: .2}, Constant(10, .12)},
		"gap below epsilon": {Design{Algorithm: BeatTheMean, Epsilon: .2, Delta: .2}, Constant(5, .1)},
		"relaxed":           {Design{Algorithm: BeatTheMean, Epsilon: .15, Delta: .1, Gamma: 1.5}, Chain(6, .2, 1.5)},
		"knockout":          {Design{Algorithm: Knockout, Epsilon: .3, Delta: .3}, Constant(6, .31)},
		"knockout relaxed":  {Design{Algorithm: Knockout, Epsilon: .3, Delta: .3, Gamma: 1.2}, Chain(6, .31, 1.2)},
	} {
		s := Simulation{Design: c.d, Arms: c.f.Arms(), Model: Always(c.f), Trials: trials, Seed: 2}
		far := 0
		for _, o := range runAll(t, &s) {
			if o.Gap > c.d.Epsilon {
				far++
			}
		}
		atMost(t, name, far, trials, c.d.Delta)
	}
}

// Double Thompson finds a Condorcet winner, and loses far less by it than
// Beat-the-Mean at such a horizon. The means differ by tens of standard errors.
func TestThompsonRegret(t *testing.T) {
	race.Skip(t, "one goroutine a tournament; TestSimulationIsDeterministic plays several at once")
	f := Constant(8, .2)
	trials := trials(12)
	mean := map[Algorithm]float64{}
	for _, d := range []Design{
		{Algorithm: DoubleThompson, Horizon: 3000}, {Algorithm: BeatTheMean, Horizon: 3000}, {Algorithm: DoubleThompson, Horizon: 3000, Testing: Sweep},
	} {
		o := runAll(t, &Simulation{Design: d, Arms: 8, Model: Always(f), Trials: trials, Seed: 1})
		mean[d.Algorithm+Algorithm(d.Testing)], _ = moments(regrets(o))
		if d.Algorithm == DoubleThompson && winners(o, 0) < float64(trials) {
			t.Errorf("%s: the best arm won %g of %d times", d.Testing, winners(o, 0), trials)
		}
	}
	t.Log(mean)
	if 3*mean[DoubleThompson] > mean[BeatTheMean] || 2*mean[DoubleThompson+Algorithm(Sweep)] > mean[BeatTheMean] {
		t.Errorf("mean regrets %v", mean)
	}
}

// Outcomes are functions of the seed and the trial, for any number of workers.
func TestSimulationIsDeterministic(t *testing.T) {
	s := Simulation{Design: Design{Algorithm: BeatTheMean, Horizon: 1e6}, Arms: 10, Model: RandomLogistic(10), Trials: 20, Seed: 8, Workers: 1}
	want := runAll(t, &s)
	s.Workers = 4
	if got := runAll(t, &s); !slices.Equal(got, want) {
		t.Errorf("4 workers\n%v\n1 worker\n%v", got, want)
	}
	s.Seed++
	if got := runAll(t, &s); slices.Equal(got, want) {
		t.Error("another seed, and the same outcomes")
	}
}

func TestSimulationStops(t *testing.T) {
	stop := errors.New("enough")
	for _, one := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(context.Background())
		s := Simulation{
			Design: Design{Algorithm: BeatTheMean, Horizon: 1e15}, Arms: 50, Model: Always(Constant(50, 0)), Trials: 1000, OneByOne: one,
			Progress: func(int, int) { t.Error("a trial of equal arms ended") },
		}
		s.Model = func(r *rand.Rand) *Preferences {
			cancel(stop)
			return Constant(50, 0)
		}
		if o, err := s.Run(ctx); !errors.Is(err, stop) || o != nil {
			t.Errorf("%v, %v", o, err)
		}
	}
}

func TestBadSimulations(t *testing.T) {
	cycle, err := NewPreferences([][]float64{{.5, .6, .4}, {.4, .5, .6}, {.6, .4, .5}})
	if err != nil {
		t.Fatal(err)
	}
	good := Simulation{Design: Design{Algorithm: BeatTheMean, Horizon: 100}, Arms: 3, Model: Always(Constant(3, .1)), Trials: 1}
	for name, change := range map[string]func(*Simulation){
		"cycle":   func(s *Simulation) { s.Model = Always(cycle) },
		"arms":    func(s *Simulation) { s.Arms = 4 },
		"trials":  func(s *Simulation) { s.Trials = 0 },
		"memory":  func(s *Simulation) { s.Trials = math.MaxInt64 },
		"workers": func(s *Simulation) { s.Workers = -1 },
		"gamma":   func(s *Simulation) { s.Design.Gamma = .5 },
		"no arms": func(s *Simulation) { s.Arms = 0 },
	} {
		s := good
		change(&s)
		if o, err := s.Run(context.Background()); err == nil {
			t.Errorf("%s: %v", name, o)
		}
	}
}

func TestForecast(t *testing.T) {
	s := Simulation{Design: Design{Algorithm: BeatTheMean, Epsilon: .2, Delta: .1}, Arms: 4, Model: Always(Constant(4, .25)), Trials: 200, Seed: 1}
	f, err := s.Forecast(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	o := lengths(runAll(t, &s))
	slices.Sort(o)
	for _, q := range f.Quantiles {
		enough := 0
		for _, n := range o {
			if n <= float64(q.Duels) {
				enough++
			}
		}
		below, _ := slices.BinarySearch(o, float64(q.Duels))
		if float64(enough) < q.Share*200-1e-9 || float64(below) >= q.Share*200 {
			t.Errorf("%g of trials took %d duels: %d took as many, %d fewer", q.Share, q.Duels, enough, below)
		}
	}
	if mean, _ := moments(o); math.Abs(f.Mean-mean) > 1e-6*mean || f.Best != 200 || f.Near != 200 {
		t.Errorf("%+v; mean %g", f, mean)
	}
}

// An arm that is worse by exactly epsilon counts as near despite rounding.
func TestForecastNear(t *testing.T) {
	for _, gap := range []float64{.1, .15, .2, .3, .4} {
		o := outcome(Design{Algorithm: BeatTheMean, Goal: PAC}, Constant(3, gap), 2, 5, 0)
		if f := sumUp([]Outcome{o}, Design{Algorithm: BeatTheMean, Epsilon: gap}); f.Near != 1 || f.Best != 0 {
			t.Errorf("gap %g: %+v", gap, f)
		}
		if f := sumUp([]Outcome{o}, Design{Algorithm: BeatTheMean, Epsilon: gap - 1e-6}); f.Near != 0 {
			t.Errorf("gap %g: %+v", gap, f)
		}
	}
}

// After the last duel a wrong winner costs its gap in every duel up to the horizon;
// without a horizon, nothing.
func TestRegretAfterTheWinner(t *testing.T) {
	f := Constant(3, .2)
	if o := outcome(Design{Algorithm: BeatTheMean, Goal: Online, Horizon: 100}, f, 2, 40, 5); math.Abs(o.Regret-17) > 1e-12 || math.Abs(o.Gap-.2) > 1e-12 || o.Best != 0 {
		t.Errorf("%+v", o)
	}
	if o := outcome(Design{Algorithm: BeatTheMean, Goal: PAC}, f, 2, 40, 5); o.Regret != 5 {
		t.Errorf("%+v", o)
	}
}

// Trials that reached the horizon are counted: their result is a guess.
func TestForecastAtHorizon(t *testing.T) {
	f := sumUp([]Outcome{{Duels: 99}, {Duels: 100}, {Duels: 100, Winner: 1}}, Design{Algorithm: BeatTheMean, Horizon: 100})
	if f.AtHorizon != 2 {
		t.Errorf("%+v", f)
	}
	if f := sumUp([]Outcome{{Duels: 99}}, Design{Algorithm: BeatTheMean, Epsilon: .1}); f.AtHorizon != 0 {
		t.Errorf("%+v", f)
	}
}
