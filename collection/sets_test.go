package collection

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// kinds are the kinds of data that the tests prepare.
var kinds = []string{"gaussian", "powerlaw", "sparse", "one-hot", "spread", "row-spread", "zero", "duplicates", "tiny", "constant"}

// data returns n rows of dim coordinates of one kind.
func data(kind string, n, dim int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 77))
	x := make([]float32, n*dim)
	gauss := func() float64 { return r.NormFloat64() }
	weight := make([]float64, dim)
	for j := range weight {
		weight[j] = math.Pow(float64(j+1), -.8)
	}
	for i := range n {
		row := x[i*dim : (i+1)*dim]
		switch kind {
		case "gaussian":
			for j := range row {
				row[j] = float32(gauss())
			}
		case "powerlaw":
			for j := range row {
				row[j] = float32((gauss() + .5) * weight[j])
			}
		case "sparse":
			for range min(dim, 5) {
				row[r.IntN(dim)] = float32(gauss())
			}
		case "one-hot":
			row[r.IntN(dim)] = float32(1 - 2*r.IntN(2))
		case "spread": // norms from 1e-30 to 1e30, zeros now and then
			f := math.Pow(10, -30+60*r.Float64())
			if i%17 == 3 {
				f = 0
			}
			for j := range row {
				row[j] = float32(f * gauss() / math.Sqrt(float64(dim)))
			}
		case "row-spread": // coordinates of one row from 1e-30 to 1e15
			for j := range row {
				row[j] = float32(gauss() * math.Pow(10, -30+45*r.Float64()))
			}
		case "zero":
		case "duplicates":
			copy(row, x[:dim])
			if i%3 == 0 {
				for j := range row {
					row[j] = float32(gauss())
				}
			}
		case "tiny": // around and below the least normal float32
			for j := range row {
				row[j] = float32(gauss() * math.Pow(10, -44+14*float64(i)/float64(n)))
			}
		case "constant":
			for j := range row {
				row[j] = 3
			}
		default:
			panic(kind)
		}
	}
	return x
}

// squaredSafe scales rows so that they pass the limit of every metric.
func squaredSafe(x []float32) []float32 {
	var most float64
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	if most > 1e12 {
		for i, v := range x {
			x[i] = float32(float64(v) * 1e12 / most)
		}
	}
	return x
}

var metrics = []Metric{InnerProduct, Cosine, Euclidean}

func build(t testing.TB, rows []float32, dim int, o *Options) *Collection {
	t.Helper()
	c, err := Build(context.Background(), rows, dim, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testWorking returns the working vector of internal index i in float64: the row, or for
// cosine the row over its norm.
func (c *Collection) testWorking(i int) []float64 {
	v := relative(c, c.Row(int(c.Order[i])))
	if n := floats.Norm(v, 2); c.Metric == Cosine && n > 0 {
		floats.Scale(1/n, v)
	}
	return v
}

// testParts repeats Build's arithmetic for atom i before the rounding to codes: head and
// rotated rest as computed in float32, in units of the working vector.
func (c *Collection) testParts(i int) (head, rest []float64) {
	b := &builder{c: c, rowNorms: make([]float64, c.N)}
	b.rowNorms[c.Order[i]] = floats.Norm(relative(c, c.Row(int(c.Order[i]))), 2)
	k := newCoder(b)
	k.loadAtom(i, 0)
	k.split.splitVectors(1)
	k.split.rotateRest(k.rot, 0)
	unit := math.Ldexp(b.workingFactor(c.Order[i]), k.exp[0])
	head, rest = make([]float64, c.R), make([]float64, c.D)
	for j, v := range k.split.head(0) {
		head[j] = float64(v) * unit
	}
	for j, v := range k.rot {
		rest[j] = float64(v) * unit
	}
	return head, rest
}
