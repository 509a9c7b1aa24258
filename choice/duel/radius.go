package duel

import (
	"fmt"
	"math"
)

// All radii are c(n) = scale/sqrt(n), with c(0) = 1; this file has the scales.

// beatScale returns the scale of Beat-the-Mean for a completed design: equations (4),
// (7) and (9). limit is the N of Algorithm 3, or math.MaxInt64 online.
func beatScale(k int, d Design) (scale float64, limit int64) {
	if d.Goal == PAC {
		n, err := pacComparisons(k, d.Gamma, d.Epsilon, d.Delta)
		if err != nil {
			n = maxCount // unreachable for a completed design
		}
		return 3 * d.Gamma * d.Gamma * math.Sqrt(pacLog(k, float64(n), d.Delta)), n
	}
	scale = math.Sqrt(math.Log(2 * float64(d.Horizon) * float64(k))) // delta = 1/(2TK)
	if d.Radius == Wide {
		scale *= 3 * d.Gamma * d.Gamma
	}
	return scale, math.MaxInt64
}

// filterScale returns the scale of Interleaved Filter, with delta = 1/(T K^2).
func filterScale(k int, d Design) float64 {
	log := math.Log(float64(d.Horizon)) + 2*math.Log(float64(k))
	if d.Radius == Wide {
		log *= 4
	}
	return math.Sqrt(log)
}

// Comparisons returns the N of Algorithm 3 of Beat-the-Mean for k arms: how often each arm that is left has
// been compared when it ends at the latest. It is the smallest solution of equation (8); delta is in (0, 1),
// gamma at least 1 and epsilon in (0, 1/2). It is an error if N is above 2^53.
func Comparisons(k int, gamma, epsilon, delta float64) (int64, error) {
	if k < 2 || k > MaxArms || !(gamma >= 1) || !(epsilon > 0 && epsilon < .5) || !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("duel: N of (8) for %d arms, gamma %g, epsilon %g, delta %g", k, gamma, epsilon, delta)
	}
	return pacComparisons(k, gamma, epsilon, delta)
}

// pacComparisons returns the smallest positive integer N with
// N = ceil((36 gamma^6/epsilon^2) ln(K^3 N/delta)), equation (8). The right side does
// not decrease with N and exceeds 1 at N = 1, so iteration from 1 climbs to the smallest
// fixed point.
func pacComparisons(k int, gamma, epsilon, delta float64) (int64, error) {
	factor := 36 * math.Pow(gamma, 6) / (epsilon * epsilon)
	for n := 1.; n <= maxCount; {
		next := math.Ceil(factor * pacLog(k, n, delta))
		if next == n {
			return int64(n), nil
		}
		n = next
	}
	return 0, fmt.Errorf("duel: gamma %g with epsilon %g wants more than 2^53 comparisons an arm", gamma, epsilon)
}

// pacLog returns ln(K^3 N/delta).
func pacLog(k int, n, delta float64) float64 {
	return 3*math.Log(float64(k)) + math.Log(n) - math.Log(delta)
}
