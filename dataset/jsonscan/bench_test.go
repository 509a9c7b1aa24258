package jsonscan

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func BenchmarkFloats(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		name   string
		append func(dst []byte, v float32) []byte
	}{
		{"float32", func(dst []byte, v float32) []byte { return strconv.AppendFloat(dst, float64(v), 'g', -1, 32) }},
		{"float64", func(dst []byte, v float32) []byte { return strconv.AppendFloat(dst, float64(v), 'g', -1, 64) }},
		{"spaced", func(dst []byte, v float32) []byte {
			return append(strconv.AppendFloat(dst, float64(v), 'g', -1, 64), ' ')
		}},
		{"integers", func(dst []byte, v float32) []byte { return strconv.AppendInt(dst, int64(100*v), 10) }},
	} {
		text := []byte("[")
		for i := range 1 << 16 {
			if i > 0 {
				text = append(text, ',')
			}
			text = x.append(text, float32(rng.NormFloat64()))
		}
		text = append(text, ']')
		b.Run(x.name, func(b *testing.B) {
			var dst []float32
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var err error
				if dst, _, err = floats(dst[:0], text, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkValue(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := []byte("[")
	for i := range 1 << 16 {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendFloat(text, rng.NormFloat64(), 'g', -1, 32)
	}
	text = append(text, ']')
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Value(text, 0); err != nil {
			b.Fatal(err)
		}
	}
}
