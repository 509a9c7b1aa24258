package collection

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"thresher/bandit"
	"thresher/internal/race"
)

// dims returns dimensions with Haar matrices, with padding, and with last blocks of every
// size.
func dims() []int {
	var d []int
	for v := 17; v <= 300; v += 13 {
		d = append(d, v)
	}
	return append(d, 16, 255, 256, 257, 288, 300, 352, 480, 512, 544, 768, 1000, 4096, 65536+32)
}

// rotateExactly returns R x, by the definition of each round, in float64.
func (t *transform) rotateExactly(x []float64) []float64 {
	y := make([]float64, t.D)
	if t.haar != nil {
		for i := range y {
			for j, v := range x {
				y[i] += float64(t.haar[i*t.D+j]) * v
			}
		}
		return y
	}
	copy(y, x)
	for k := range t.rounds {
		for i, s := range t.sign[k] {
			y[i] *= float64(s)
		}
		z := make([]float64, 0, t.D)
		left := t.D
		for _, b := range []int{256, 128, 64, 32} {
			for ; left >= b; left -= b {
				from := t.D - left
				for i := range b {
					var s float64
					for j := range b {
						if bits.OnesCount(uint(i&j))%2 == 0 {
							s += y[from+j]
						} else {
							s -= y[from+j]
						}
					}
					z = append(z, s/math.Sqrt(float64(b)))
				}
			}
		}
		for i, p := range t.perm[k] {
			y[i] = z[p]
		}
	}
	return y
}

func TestRotationIsItsDefinition(t *testing.T) {
	race.Skip(t, "one goroutine")
	r := rand.New(rand.NewPCG(3, 4))
	for _, dim := range dims() {
		tr := newTransform(dim, uint64(dim))
		D := tr.D
		if D < dim || D >= dim+32 || D%4 != 0 || D > bandit.HaarMaxDim && D%32 != 0 {
			t.Fatalf("D = %d for dimension %d", D, dim)
		}
		rho := bandit.RotationError(D, tr.rounds)
		packed := *tr
		packed.pack()
		split := newSplitter(&packed, 1)
		inputs := map[string][]float32{"gaussian": make([]float32, dim), "one-hot": make([]float32, dim), "last": make([]float32, dim), "spread": make([]float32, dim)}
		for j := range dim {
			inputs["gaussian"][j] = float32(r.NormFloat64())
			inputs["spread"][j] = float32(r.NormFloat64() * math.Pow(10, -10*r.Float64()))
		}
		inputs["one-hot"][r.IntN(dim)] = 1
		inputs["last"][dim-1] = -3
		turned := map[string][]float64{}
		for name, x := range inputs {
			dst := make([]float32, D)
			for j := range dst { // what is left of another vector must not matter
				dst[j] = float32(math.NaN())
			}
			split.loadVector(0, x, nil, 1)
			split.splitVectors(1)
			split.rotateRest(dst, 0)
			want := tr.rotateExactly(wide(x))
			turned[name] = wide(dst)
			norm := floats.Norm(wide(x), 2)
			if d := floats.Distance(wide(dst), want, 2); !(d <= rho*norm) {
				t.Errorf("dimension %d, %s: off by %g |o|, allowed %g", dim, name, d/norm, rho)
			}
			// The definition preserves lengths, to within the rounding of the blocks'
			// float64 or of the float32 entries of a Haar matrix.
			if e := math.Abs(floats.Norm(want, 2)/norm - 1); e > 4e-7 {
				t.Errorf("dimension %d, %s: length changes by %g", dim, name, e)
			}
		}
		for a, x := range inputs {
			for b, y := range inputs {
				limit := (2*rho + rho*rho) * floats.Norm(wide(x), 2) * floats.Norm(wide(y), 2)
				if e := math.Abs(floats.Dot(turned[a], turned[b]) - floats.Dot(wide(x), wide(y))); !(e <= limit) {
					t.Errorf("dimension %d: <%s, %s> moves by %g, allowed %g", dim, a, b, e, limit)
				}
			}
		}
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func TestRotationRounds(t *testing.T) {
	for _, c := range []struct{ D, rounds int }{
		{16, 0}, {256, 0}, {288, 3}, {512, 3}, {768, 3}, {8192, 3}, {8192 + 32, 4}, {16384 + 64, 4}, {65536, 3}, {65536 + 32, 4}, {1 << 21, 4}, {1<<21 - 32, 4},
	} {
		if got := rotationRounds(c.D); got != c.rounds {
			t.Errorf("%d rounds at D = %d, want %d", got, c.D, c.rounds)
		}
	}
}

func TestRotationIsItsSeeds(t *testing.T) {
	for _, dim := range []int{40, 256, 300, 512} {
		x := wide(data("gaussian", 1, dim, 9))
		a, b, other := newTransform(dim, 5), newTransform(dim, 5), newTransform(dim, 6)
		y := a.rotateExactly(x)
		if !slices.Equal(y, b.rotateExactly(x)) {
			t.Errorf("dimension %d: the same seed gives another rotation", dim)
		}
		// Independent rotations of one vector are nearly orthogonal: a cosine beyond
		// 6/sqrt(D) has probability below 1e-8.
		z := other.rotateExactly(x)
		if c := floats.Dot(y, z) / floats.Dot(x, x); math.Abs(c) > 6/math.Sqrt(float64(a.D)) {
			t.Errorf("dimension %d: seeds 5 and 6 agree to cosine %g", dim, c)
		}
	}
}

// zCheck fails beyond 6 standard errors, which has a false-alarm probability of 2e-9.
func zCheck(t *testing.T, what string, sample []float64, mean, variance float64) {
	t.Helper()
	var s float64
	for _, v := range sample {
		s += v
	}
	n := float64(len(sample))
	if z := (s/n - mean) / math.Sqrt(variance/n); !(math.Abs(z) < 6) {
		t.Errorf("%s: mean %g, want %g (%.1f standard errors)", what, s/n, mean, z)
	}
}

// TestHaarMatrix: the Haar measure on O(n) has E[x^2] = 1/n, E[x^4] = 3/(n(n+2)) for an
// entry, E[tr] = 0, E[tr^2] = 1, E[tr^4] = 3 for the trace, and both determinants are
// equally likely. A QR factor without corrected signs fails the last ones.
func TestHaarMatrix(t *testing.T) {
	race.Skip(t, "one goroutine")
	const draws = 3000
	for _, n := range []int{16, 20} {
		g := generator(uint64(n), streamRotation)
		entry, square, fourth, trace, trace2, det := make([]float64, draws), make([]float64, draws), make([]float64, draws),
			make([]float64, draws), make([]float64, draws), make([]float64, draws)
		cross := make([]float64, draws)
		for k := range draws {
			m := haarMatrix(n, g)
			i := k % (n * n)
			x := float64(m[i])
			entry[k], square[k], fourth[k] = x, x*x, x*x*x*x
			y := float64(m[(i+n+1)%(n*n)])
			cross[k] = x * y
			d := mat.NewDense(n, n, wide(m))
			trace[k] = mat.Trace(d)
			trace2[k] = trace[k] * trace[k]
			det[k] = mat.Det(d)
		}
		N := float64(n)
		zCheck(t, "entry", entry, 0, 1/N)
		zCheck(t, "entry^2", square, 1/N, 2*(N-1)/(N*N*(N+2)))
		eighth := 105 / (N * (N + 2) * (N + 4) * (N + 6))
		mean4 := 3 / (N * (N + 2))
		zCheck(t, "entry^4", fourth, mean4, eighth-mean4*mean4)
		zCheck(t, "product of entries of different rows and columns", cross, 0, 1/(N*N)*1.1)
		zCheck(t, "trace", trace, 0, 1)
		zCheck(t, "trace^2", trace2, 1, 2)
		zCheck(t, "determinant", det, 0, 1)
	}
	for _, n := range []int{16, 100, 256} {
		m := mat.NewDense(n, n, wide(haarMatrix(n, generator(1, streamRotation))))
		var gram mat.Dense
		gram.Mul(m, m.T())
		for i := range n {
			gram.Set(i, i, gram.At(i, i)-1)
		}
		// Each entry is rounded once, by at most 2^-24 of itself.
		if e := mat.Norm(&gram, 2); e > 2*0x1p-24*math.Sqrt(float64(n)) {
			t.Errorf("a Haar matrix of %d misses orthogonality by %g (Frobenius)", n, e)
		}
	}
}

// TestFastRotationMixesFewHot: a few-hot vector is the hardest for a fast rotation to mix.
// Over seeds, a coordinate of its image has second moment 1/D and nearly the fourth moment
// of a Haar rotation, to 6 standard errors.
func TestFastRotationMixesFewHot(t *testing.T) {
	race.Skip(t, "one goroutine")
	const draws = 400
	for _, dim := range []int{512, 544, 1000} {
		for hot := 1; hot <= 4; hot++ {
			x := make([]float32, dim)
			for j := range hot {
				x[j*7] = float32(1 / math.Sqrt(float64(hot)))
			}
			var squares, fourths []float64
			for s := range draws {
				tr := newTransform(dim, uint64(1000*hot+s))
				y := make([]float32, tr.D)
				tr.rotate(y, append(slices.Clone(x), make([]float32, tr.D-dim)...), make([]float32, tr.D))
				for _, j := range []int{0, tr.D / 3, tr.D - 1} {
					v := float64(y[j]) * math.Sqrt(float64(tr.D))
					squares, fourths = append(squares, v*v), append(fourths, v*v*v*v)
				}
			}
			name := fmt.Sprintf("dimension %d, %d-hot", dim, hot)
			zCheck(t, name+", square", squares, 1, 2)
			// Haar's value is 3; 20% are allowed in addition to the statistical error.
			mean := floats.Sum(fourths) / float64(len(fourths))
			if math.Abs(mean-3) > .6+6*math.Sqrt(96/float64(len(fourths))) {
				t.Errorf("%s: fourth moment %.2f, a Haar rotation has 3", name, mean)
			}
		}
	}
}

func TestExponent(t *testing.T) {
	for _, c := range []struct {
		metric Metric
		norm   float64
		want   int
	}{
		{InnerProduct, 0, 0}, {InnerProduct, 1, 1}, {Cosine, .75, 0}, {Euclidean, 1024, 11},
		{InnerProduct, 0x1p-149, -148}, {InnerProduct, 0x1p130, 131}, {Euclidean, 0x1p-10, -9}, {Euclidean, 0x1p-149, minExpEuclidean},
	} {
		if got := c.metric.Exponent(c.norm); got != c.want {
			t.Errorf("%v: exponent %d of norm %g, want %d", c.metric, got, c.norm, c.want)
		}
	}
}
