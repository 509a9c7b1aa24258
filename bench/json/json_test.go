package json

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

const rows, dim = 256, 768

// values are normal deviates, as the coordinates of embeddings nearly are.
func values() []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, rows*dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// body is a search for v, in the fewest digits that give the same float of so many
// bits back. 64 is what Python's json makes of NumPy's float32.
func body(v []float32, bits int) []byte {
	b := []byte(`{"queries":[`)
	for i, x := range v {
		switch {
		case i%dim > 0:
			b = append(b, ',')
		case i > 0:
			b = append(b, "],["...)
		default:
			b = append(b, '[')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, bits)
	}
	return append(b, `]],"k":10,"delta":0.01}`...)
}

func BenchmarkDecode(b *testing.B) {
	want := values()
	for _, bits := range []int{32, 64} {
		text := body(want, bits)
		for _, c := range contestants() {
			b.Run("digits="+strconv.Itoa(bits)+"/by="+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					got, err := c.decode(text)
					if err != nil {
						b.Fatal(err)
					}
					if len(got) != len(want) || got[len(got)-1] != want[len(want)-1] {
						b.Fatal("wrong values")
					}
				}
			})
		}
	}
}

// hard are numbers at or near the middle of two float32, where rounding to float64
// first goes wrong.
func hard() []string {
	rng := rand.New(rand.NewPCG(3, 4))
	var all []string
	for len(all) < 20000 {
		f := math.Float32frombits(rng.Uint32())
		next := math.Nextafter32(f, math.MaxFloat32)
		if f-f != 0 || next-next != 0 {
			continue
		}
		middle := (float64(f) + float64(next)) / 2
		all = append(all, strconv.FormatFloat(middle, 'e', 16+rng.IntN(5), 64))
	}
	return all
}

// TestRounding counts values that are not the float32 nearest to the text. Only
// our own decoder may have none for certain; libraries are reported.
func TestRounding(t *testing.T) {
	texts := hard()
	for _, c := range contestants() {
		wrong := 0
		for _, s := range texts {
			f, _ := strconv.ParseFloat(s, 32)
			got, err := c.decode([]byte(`{"queries":[[` + s + `]]}`))
			if err != nil || len(got) != 1 || math.Float32bits(got[0]) != math.Float32bits(float32(f)) {
				wrong++
			}
		}
		t.Logf("%-20s %5d of %d wrong", c.name, wrong, len(texts))
		if c.name == ours && wrong > 0 {
			t.Errorf("%s rounds %d values wrongly", c.name, wrong)
		}
	}
}
