package duel

import "math"

// wagers is the number of bets that a capital is spread over.
const wagers = 18

// capital is the wealth of a gambler who bets on an arm's losses, divided among wagers: a
// test martingale of the hypothesis that the arm is unbeaten, which means that no other
// arm wins against it with a probability above 1/2. It starts with 1 in all. A fair game
// cannot be expected to multiply it: if the arm is unbeaten, the capital ever reaches
// 1/delta with probability at most delta (J. Ville, "Etude critique de la notion de
// collectif", 1939). So it may be looked at after every duel, and duels may stop at any
// time. Such capitals are the subject of A. Ramdas, P. Grunwald, V. Vovk and G. Shafer,
// "Game-theoretic statistics and safe anytime-valid inference" (Statistical Science 38,
// 2023); betting on a mean, of I. Waudby-Smith and A. Ramdas, "Estimating means of bounded
// random variables by betting" (JRSS B 86, 2024). choice/docs/duels.md has the proof for duels.
type capital [wagers]float64

func (c *capital) total() (sum float64) {
	for _, x := range c {
		sum += x
	}
	return sum
}

// odds holds, for every wager, the logarithms of the factors by which a win and a loss of
// the arm multiply it.
type odds struct{ win, lose [wagers]float64 }

// bets are the wagers on an arm against two hypotheses: that it wins with probability 1/2
// or more, and 1/2 + epsilon or more. Wager m expects the same probability of a win in
// both; where that is not below 1/2, nothing is bet against the first.
type bets struct {
	start      capital
	even, near odds
	raise      [wagers]float64 // by a loss, against near
}

// Wager m expects the arm to win with a probability below the hypothesis by the share
// widest narrowing^m of it. The start is spread over them as by a Cauchy distribution of
// the logarithm of the share; centre and spread were chosen by simulation.
const (
	widest    = .88
	narrowing = .64
	centre    = .26
	spread    = .8
)

func newBets(epsilon float64) *bets {
	b := &bets{}
	limit := .5 + epsilon
	share, all := widest, 0.
	for m := range wagers {
		x := math.Log(share/centre) / spread
		b.start[m] = 1 / (1 + x*x)
		all += b.start[m]
		p := limit * (1 - share)
		b.near.win[m], b.near.lose[m] = math.Log1p(-share), math.Log((1-p)/(1-limit))
		b.raise[m] = math.Exp(b.near.lose[m])
		if p < .5 {
			b.even.win[m], b.even.lose[m] = math.Log(2*p), math.Log(2*(1-p))
		}
		share *= narrowing
	}
	for m := range wagers {
		b.start[m] /= all
	}
	return b
}

// largest bounds a logarithm; a capital may be counted for less than it is.
const largest = 400

// near multiplies c by what its wagers made of w wins and l losses against the opponent
// that may be named: near tests 1/2 + epsilon. The part 1 - share of each is not bet.
func (b *bets) multiplyNear(c *capital, share float64, w, l int64) {
	wins, losses := float64(w), float64(l)
	for m := range c {
		c[m] *= 1 - share + share*math.Exp(min(wins*b.near.win[m]+losses*b.near.lose[m], largest))
	}
}

// multiply is multiplyNear for any other opponent. It is not known which of both
// hypotheses holds, so each wager counts the worse.
func (b *bets) multiply(c *capital, share float64, w, l int64) {
	wins, losses := float64(w), float64(l)
	for m := range c {
		x := min(wins*b.near.win[m]+losses*b.near.lose[m], wins*b.even.win[m]+losses*b.even.lose[m])
		c[m] *= 1 - share + share*math.Exp(min(x, largest))
	}
}

// lossesWanted returns a number of losses, at least l+1, that the arm must have before a
// capital of rest, multiplied by its duels with one opponent, can reach the threshold,
// whatever it wins in the meantime. So far it has w wins and l losses there.
func (b *bets) lossesWanted(rest *capital, share float64, w, l int64, threshold float64) int64 {
	const most = 64        // steps ahead
	threshold *= 1 - slack // covers rounding: steps multiply, tests take the exponential
	wins, losses := float64(w), float64(l)
	var bet capital
	for m := range bet {
		bet[m] = rest[m] * share * math.Exp(min(wins*b.near.win[m]+losses*b.near.lose[m], largest))
	}
	idle := rest.total() * (1 - share)
	for range most {
		sum := idle
		for m := range bet {
			bet[m] *= b.raise[m]
			sum += bet[m]
		}
		l++
		if !(sum < threshold) {
			break
		}
	}
	return l
}
