package vectors

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestBits fixes the bits of every generator, on which measurements and calibrated tests
// depend.
func TestBits(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors fuse products and sums")
	}
	for _, c := range []struct {
		name string
		make func(r *rand.Rand, n, dim int) []float32
		want uint32
	}{
		{"Gaussian", Gaussian, 0x09a0dea1},
		{"OwnMeans", OwnMeans, 0xbed85e8b},
		{"Embeddings", Embeddings, 0x5c244040},
		{"PowerLaw", PowerLaw, 0x5c430966},
		{"TFIDF", TFIDF, 0xdcdab200},
		{"Sparse", func(r *rand.Rand, n, dim int) []float32 { return Sparse(r, n, dim, 3) }, 0x8fb53e28},
		{"NearDuplicates", NearDuplicates, 0x3539c3a8},
		{"Ties", Ties, 0x558dcc6c},
		{"Scale", func(r *rand.Rand, n, dim int) []float32 { return Scale(r, Gaussian(r, n, dim), dim, -3, 3) }, 0xd2b68a9c},
	} {
		x := c.make(Rand(7), 50, 24)
		if len(x) != 50*24 {
			t.Fatalf("%s: %d values", c.name, len(x))
		}
		sum := crc32.NewIEEE()
		if err := binary.Write(sum, binary.LittleEndian, x); err != nil {
			t.Fatal(err)
		}
		if got := sum.Sum32(); got != c.want {
			t.Errorf("%s: rows of checksum %#08x, want %#08x", c.name, got, c.want)
		}
	}
}

// TestTies counts repeated rows and rows of integers.
func TestTies(t *testing.T) {
	const n, dim = 500, 16
	seen := map[string]bool{}
	twice, integers := 0, 0
	for row := range slices.Chunk(Ties(Rand(1), n, dim), dim) {
		bits, err := binary.Append(nil, binary.LittleEndian, row)
		if err != nil {
			t.Fatal(err)
		}
		key := string(bits)
		whole := !slices.ContainsFunc(row, func(v float32) bool { return v != float32(int(v)) })
		if seen[key] {
			twice++
		}
		seen[key] = true
		if whole {
			integers++
		}
	}
	if twice < n/10 || integers < n/8 {
		t.Errorf("%d rows stand twice, %d are of integers", twice, integers)
	}
}
