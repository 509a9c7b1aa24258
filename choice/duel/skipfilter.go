package duel

import (
	"context"
	"math"
	"math/rand/v2"

	"thresher/internal/philox"
)

// skipFilter plays Interleaved Filter and replaces sweeps after which no test can fire,
// whatever their duels bring, by one binomial draw a challenger. The distribution of the
// outcome is that of play. Two nearly equal arms would otherwise take up to the horizon.
func skipFilter(ctx context.Context, d Design, f *Preferences, choices *rand.Rand, results *philox.Source) (Outcome, error) {
	const worthwhile = 8 // sweeps from which a draw is cheaper than duels
	losses := f.losses()
	s := newFilter(f.k, d, choices)
	var regret float64 // times 2
	for looked := int64(0); !s.ended(); looked++ {
		if looked&0xfff == 0 && ctx.Err() != nil {
			return Outcome{}, context.Cause(ctx)
		}
		sweeps := min(s.certain(), (s.horizon-s.told)/int64(len(s.active)))
		if sweeps >= worthwhile {
			for _, b := range s.active {
				regret += float64(sweeps) * (losses[s.champion] + losses[b])
			}
			s.skip(sweeps, f, results)
			continue
		}
		for duel, ok := s.draw(); ok; duel, ok = s.draw() {
			regret += losses[duel.a] + losses[duel.b]
			s.tell(duel, uniform(results) < f.p[duel.a*f.k+duel.b])
			if s.heard == 0 {
				break // the sweep is complete
			}
		}
	}
	return outcome(d, f, s.champion, s.told, regret/2), nil
}

// certain returns a number of sweeps after which no test can fire: all rates stay within
// c of 1/2.
func (s *filter) certain() int64 {
	sure := int64(maxCount)
	for _, b := range s.active {
		n, w := float64(s.n[b]), float64(s.w[b])
		sure = min(sure, belowSquare(root(.5, s.scale, min(w, n-w)))-s.n[b])
	}
	return sure
}

// skip plays whole sweeps at once.
func (s *filter) skip(sweeps int64, f *Preferences, r *philox.Source) {
	for _, b := range s.active {
		s.w[b] += binomial(r, sweeps, f.At(s.champion, b))
		s.n[b] += sweeps
	}
	s.told += sweeps * int64(len(s.active))
	s.drawn = s.told
}

// root returns the positive root of a x^2 - b x - c for a > 0 and b, c >= 0.
func root(a, b, c float64) float64 {
	return (b + math.Sqrt(b*b+4*a*c)) / (2 * a)
}
