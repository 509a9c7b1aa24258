package bandit

import "math"

const (
	// Unit is the unit roundoff of float32, 2^-24: |fl(x) - x| <= Unit |x|.
	Unit = 0x1p-24
	// unit64 is the unit roundoff of float64.
	unit64 = 0x1p-53
	// HeadChunk is the number of coordinates in one float32 chain of a head
	// projection. Up to HeadChunks chains are summed in float32 before their sum is
	// added in float64.
	HeadChunk  = 64
	HeadChunks = 16
	headChain  = HeadChunk + HeadChunks // roundings of one product at most
	// HaarChunk is the number of coordinates in one float32 chain of a Haar
	// matrix's product; the chains are added up in float32 too.
	HaarChunk = 16
	// HaarMaxDim is the largest dimension rotated by a true Haar matrix.
	HaarMaxDim = 256
	// roundingsPerRound bounds the roundings one coordinate passes in one round
	// of the fast rotation: eight stages of additions in blocks of at most 256
	// and, where 1/sqrt(block) is not a power of two, the rounding of that
	// constant and of the product. Signs, permutation and 1/16 are exact.
	roundingsPerRound = 10
	// epilogueRoundings bounds the float32 operations that turn accumulators
	// into an upper bound: scales, radius, head, sums, the comparison.
	epilogueRoundings = 16
)

// CentreSlack is added to Slack if atom and query are relative to a centre: each
// coordinate of both is rounded once more.
const CentreSlack = 2.1 * Unit

// AccumulateError returns gamma_n = n u/(1 - n u), u = 2^-24: a sum of n
// products computed in float32, in any order, with or without fused operations,
// differs from the exact one by at most gamma_n sum |a_i||b_i| <= gamma_n |a||b|
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., eq. 3.5).
// It is +Inf for n >= 2^24, for which float32 sums have no bound. Products must not
// underflow: |a||b| above 2^-100 or so.
func AccumulateError(terms int) float64 {
	return chainError(terms, Unit)
}

func chainError(terms int, unit float64) float64 {
	if terms <= 0 {
		return 0
	}
	loss := float64(terms) * unit
	if loss >= 1 {
		return math.Inf(1)
	}
	return loss / (1 - loss)
}

// RotationError returns rho with |fl(R o) - R o| <= rho |o| for the float32
// rotation of the rest in dimension D.
//
// D <= HaarMaxDim, a Haar matrix: haarError(D); rounds is ignored.
//
// Above: `rounds` rounds of signs, Walsh-Hadamard blocks of at most 256 and a
// permutation. A stage is sqrt(2) times an orthogonal matrix and each result is
// rounded once, so it is exact to u in norm, and errors of earlier stages are
// carried along unmagnified: (1+u)^(10 rounds) - 1, whatever D is.
//
// Underflow is left out: norms must lie above 2^-80, or rows be scaled by a
// power of two first.
func RotationError(D, rounds int) float64 {
	if D <= HaarMaxDim {
		return haarError(D)
	}
	return AccumulateError(roundingsPerRound * max(rounds, 0))
}

// haarError is the rotation error of a D x D orthogonal matrix whose entries
// were rounded to float32. A row's product is a sum of D terms in float32, over
// chains of at most HaarChunk terms and then over the chains, so that no product
// passes more than HaarChunk + ceil(D/HaarChunk) sums. The matrix |R| of absolute
// values has norm at most |R|_F = sqrt(D), hence
// gamma_{HaarChunk + ceil(D/HaarChunk) + 1} sqrt(D).
func haarError(D int) float64 {
	if D <= 0 {
		return 0
	}
	chain := AccumulateError(min(D, HaarChunk) + (D+HaarChunk-1)/HaarChunk + 1)
	return roundUp(chain * math.Sqrt(float64(D)))
}

// HeadError returns a bound, relative to |q||v|, of the head's rounding error: with
// g^, h^ the computed head coordinates of q and v, and q^, o^ the computed rests,
// |<g^,h^> + <q^,o^> - <q,v>| <= HeadError |q||v|, all four taken as exact.
//
// Coordinates are summed in float32 over chains of at most HeadChunk of the d
// coordinates, the chains in float32 up to HeadChunks of them, and in float64
// beyond; a rest is v less a sum of r products, in float32. defect bounds the
// spectral norm of U^T U - I for the d x r float32 matrix U in use (its
// Frobenius norm, computed in float64, will do). docs/guarantee.md derives the
// formula.
func HeadError(d, r int, defect float64) float64 {
	if r <= 0 {
		return 0
	}
	size := math.Sqrt(float64(r) * (1 + defect)) // |U|_F
	stretch := 1 + defect                        // |U^T v| <= sqrt(stretch)|v|, |I - UU^T| <= stretch
	coordinate := AccumulateError(min(d, headChain)+1) + chainError(d+2, unit64)
	projection := coordinate * size // |h^ - h| / |v|
	head := math.Sqrt(stretch) + projection
	subtraction := AccumulateError(r+1) * (1 + size*head) // |o^ - (v - U h^)| / |v|
	rest := stretch + math.Sqrt(stretch)*projection       // |v - U h^| / |v|
	return roundUp(defect*head*head + 2*projection*head + 2*subtraction*rest + subtraction*subtraction)
}

// Slack returns gamma with |<g^,h^> + <q',o'> - <q,v>| <= gamma |q||v|: head
// coordinates g^, h^ and rotated rests q', o' computed in float32 as in HeadError
// and RotationError, the two products and their sum evaluated in float32 from
// exact accumulators (a float32 accumulation of n terms costs AccumulateError(n)
// more). d is the dimension of the data, D that of the rotation, r the head's
// width (0: no head), defect as in HeadError.
func Slack(d, D, r, rounds int, defect float64) float64 {
	head, rest, coordinates := 0.0, 1.0, 1.0
	if r > 0 {
		size := math.Sqrt(float64(r) * (1 + defect))
		head = HeadError(d, r, defect)
		// |o^|^2 <= |v|^2 (1 + what HeadError allows <v,v> to move) and
		// |h^| likewise: the identity with q = v.
		coordinates = math.Sqrt(1+defect) + (AccumulateError(min(d, headChain)+1)+chainError(d+2, unit64))*size
		rest = 1 + head
	}
	rho := RotationError(D, rounds)
	rotation := (2*rho + rho*rho) * rest
	epilogue := AccumulateError(epilogueRoundings) * (coordinates*coordinates + rest*(1+rho)*(1+rho))
	return roundUp(head + rotation + epilogue)
}

// CodeSlack returns gamma_x, to be multiplied by |q_rest| max(|x~|, |o|), |x~| =
// Scale |x|: the error of a look on a code, because the moments, the radius and the
// product <x,q> are those of the computed rotation and not of the exact one (10
// times RotationError), because moments are float64 sums of up to D terms
// (3 sqrt(gamma_{D+8}): H of nearly parallel vectors is a small difference), and
// because terms are stored and combined in float32. It is added to Slack and to the
// rounding of the query's codes. docs/guarantee.md derives it.
func CodeSlack(D, rounds int) float64 {
	moments := 3 * math.Sqrt(chainError(max(D, 0)+8, unit64))
	return roundUp(10*RotationError(D, rounds) + moments + 3*AccumulateError(epilogueRoundings))
}
