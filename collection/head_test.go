package collection

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/internal/vectors"

	"gonum.org/v1/gonum/floats"
)

func TestHeadSize(t *testing.T) {
	for _, c := range []struct{ n, dim, want int }{
		{100000, 16, 0}, {100000, 63, 0}, // more than half the space
		{100000, 64, 32}, {100000, 128, 32}, {100000, 768, 32},
		{127, 128, 0}, {128, 128, 32}, // too few atoms
		{256, 1000, 32},
		{1000, 1 << 16, 0}, {1600, 1 << 16, 32}, // 2% of the data
		{1, 512, 0},
	} {
		got := headSize(c.n, c.dim)
		if got != c.want {
			t.Errorf("headSize(%d, %d) = %d, want %d", c.n, c.dim, got, c.want)
		}
	}
	for dim := 1; dim < 2000; dim += 3 {
		for _, n := range []int{1, 64, 128, 300, 1e6} {
			r := headSize(n, dim)
			if r > 0 && (r > dim/2 || dim-r < MinRotated || r%16 != 0 || n < r) {
				t.Fatalf("headSize(%d, %d) = %d", n, dim, r)
			}
		}
	}
}

// orthonormal checks that the nonzero rows of u are orthonormal to within d, and returns
// their number.
func orthonormal(t *testing.T, u []float32, r, dim int, d float64) int {
	t.Helper()
	if !(d >= 0 && d < 1e-5) {
		t.Errorf("defect %g", d)
	}
	var sum float64
	rows := 0
	for i := range r {
		a := wide(u[i*dim : (i+1)*dim])
		n := floats.Dot(a, a)
		if n == 0 {
			continue
		}
		rows++
		if math.Abs(n-1) > 1e-6 {
			t.Errorf("direction %d has length^2 %g", i, n)
		}
		sum += (n - 1) * (n - 1)
		for j := range i {
			s := floats.Dot(a, wide(u[j*dim:(j+1)*dim]))
			sum += 2 * s * s
		}
	}
	if e := math.Sqrt(sum); !(e <= d) {
		t.Errorf("U U^T - I has norm %g, the defect says %g", e, d)
	}
	return rows
}

func sampleOf(x []float32, rows, dim int) *sample {
	s := newSample(rows, dim)
	for i := range rows {
		s.setRow(i, x[i*dim:(i+1)*dim], nil, 1)
	}
	return s
}

func TestFitHeadFindsPlantedSubspace(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const rows, dim, planted, size = 1500, 200, 20, 32
	dirs := vectors.Gaussian(r, planted, dim)
	orthonormalize(dirs, planted, dim)
	sample := make([]float32, rows*dim)
	for i := range rows {
		for j := range dim {
			sample[i*dim+j] = float32(r.NormFloat64())
		}
		for p := range planted {
			f := float32(r.NormFloat64() * (30 - float64(p)))
			for j := range dim {
				sample[i*dim+j] += f * dirs[p*dim+j]
			}
		}
	}
	u, d := fitHead(sampleOf(sample, rows, dim), size, 1, 2)
	if n := orthonormal(t, u, size, dim, d); n != size {
		t.Errorf("%d directions of %d", n, size)
	}
	for p := range planted {
		var inside float64
		for i := range size {
			s := floats.Dot(wide(u[i*dim:(i+1)*dim]), wide(dirs[p*dim:(p+1)*dim]))
			inside += s * s
		}
		// Sampling changes the square of a direction's length in the subspace by about
		// dim/(100 rows).
		if inside < .99 {
			t.Errorf("planted direction %d: %.4f of its square is in the head", p, inside)
		}
	}
	// After mixing no direction has a much larger variance than another, though the planted
	// variances are 900 to 1 times that of the noise.
	var energy []float64
	for i := range size {
		var e float64
		for k := range rows {
			s := floats.Dot(wide(u[i*dim:(i+1)*dim]), wide(sample[k*dim:(k+1)*dim]))
			e += s * s
		}
		energy = append(energy, e)
	}
	if ratio := slices.Max(energy) / slices.Min(energy); ratio > 10 {
		t.Errorf("energies of head directions differ %.0f times", ratio)
	}
	again, _ := fitHead(sampleOf(sample, rows, dim), size, 1, 3)
	if !slices.Equal(u, again) {
		t.Error("the same seed fits another head with more threads")
	}
}

func TestFitHeadDegenerate(t *testing.T) {
	const rows, dim, size = 140, 70, 32
	zero := make([]float32, rows*dim)
	u, d := fitHead(sampleOf(zero, rows, dim), size, 1, 1)
	if n := orthonormal(t, u, size, dim, d); n != 0 && n != size {
		t.Errorf("%d directions of nothing", n)
	}

	r := rand.New(rand.NewPCG(7, 8))
	for rank := 1; rank <= 5; rank += 2 {
		basis := vectors.Gaussian(r, rank, dim)
		orthonormalize(basis, rank, dim)
		sample := make([]float32, rows*dim)
		for i := range rows {
			if i%4 == 0 {
				continue // zero rows
			}
			for p := range rank {
				f := float32(r.NormFloat64())
				for j := range dim {
					sample[i*dim+j] += f * basis[p*dim+j]
				}
			}
		}
		u, d := fitHead(sampleOf(sample, rows, dim), size, 2, 1)
		if n := orthonormal(t, u, size, dim, d); n < rank {
			t.Errorf("rank %d: %d directions", rank, n)
		}
		for p := range rank {
			var inside float64
			for i := range size {
				s := floats.Dot(wide(u[i*dim:(i+1)*dim]), wide(basis[p*dim:(p+1)*dim]))
				inside += s * s
			}
			if inside < .999 {
				t.Errorf("rank %d: %.5f of direction %d is in the head", rank, inside, p)
			}
		}
	}
}

func TestOrthonormalize(t *testing.T) {
	y := []float32{
		3, 0, 4, 0,
		6, 0, 8, 0, // parallel: vanishes
		0, 0, 0, 0,
		1, 1, 1, 1e-20,
		1, 1, 1, 0, // parallel but for 1e-20
	}
	orthonormalize(y, 5, 4)
	for _, row := range []int{1, 2, 4} {
		if slices.Max(y[row*4:row*4+4]) != 0 || slices.Min(y[row*4:row*4+4]) != 0 {
			t.Errorf("row %d is %v, want zero", row, y[row*4:row*4+4])
		}
	}
	orthonormal(t, y, 5, 4, defect(y, 5, 4))
}

// TestOrthonormalizeNearlyParallel: nearly parallel rows lose digits in the first pass,
// which the second pass restores.
func TestOrthonormalizeNearlyParallel(t *testing.T) {
	const k, dim = 6, 90
	r := rand.New(rand.NewPCG(9, 9))
	y := make([]float32, k*dim)
	for j := range dim {
		common := r.NormFloat64()
		for i := range k {
			y[i*dim+j] = float32(common + 3e-5*r.NormFloat64())
		}
	}
	orthonormalize(y, k, dim)
	if n := orthonormal(t, y, k, dim, defect(y, k, dim)); n != k {
		t.Errorf("%d directions of %d", n, k)
	}
}

// TestAtomHeads: the coded heads differ from those of the atoms by their stated errors, for norms of any size and in
// any batches.
func TestAtomHeads(t *testing.T) {
	const n, dim = 400, 128
	for _, metric := range []Metric{InnerProduct, Cosine, Euclidean} {
		rows := vectors.PowerLaw(vectors.Rand(7), n, dim)
		for i := range n / 2 { // some far from norm 1
			for j := range dim {
				rows[i*dim+j] *= float32(math.Ldexp(1, i%40-20))
			}
		}
		c, err := Build(t.Context(), rows, dim, &Options{Metric: metric, Seed: 1, Head: 32})
		if err != nil {
			t.Fatal(err)
		}
		heads, some := make([]float32, n*c.R), make([]float32, 70*c.R)
		c.AtomHeads(heads, 0, n, nil)
		c.AtomHeads(some, 100, 170, &PrepareScratch{})
		if !slices.Equal(some, heads[100*c.R:170*c.R]) {
			t.Errorf("%v: heads depend on their batch", metric)
		}
		errors, allowed := 0., 0.
		for i := range n {
			square := 0.
			for j, code := range c.Code(i)[:c.R] {
				d := float64(heads[i*c.R+j]) - float64(c.HeadScale[i])*(float64(code)-128)
				square += d * d
			}
			e, most := math.Sqrt(square), float64(c.HeadErr[i])
			if e > most*(1+1e-6)+1e-6*float64(c.HeadNorm[i]) {
				t.Errorf("%v: the head of atom %d differs from its codes by %g, stated are %g", metric, i, e, most)
			}
			errors, allowed = errors+e/most, allowed+1
		}
		if errors < .99*allowed {
			t.Errorf("%v: heads differ from their codes by %.3f of the stated errors", metric, errors/allowed)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
