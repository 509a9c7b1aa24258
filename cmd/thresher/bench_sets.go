package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// benchSet is a generated set of atoms and queries.
type benchSet struct {
	name string
	n, d int
	fill func(r *rand.Rand, rows []float32, d int)
}

// benchSets are those whose figures the specification of the method states, at
// sizes that fit a small machine.
func benchSets() []benchSet {
	return []benchSet{
		{"gaussian", 2000, 10000, fillGaussian},
		{"embeddings", 20000, 768, fillEmbeddings},
		{"normal-custom", 5000, 10000, fillNormalCustom},
	}
}

// parseBenchSet reads NAME or NAME:ATOMSxDIMENSION.
func parseBenchSet(text string) (benchSet, error) {
	name, size, sized := strings.Cut(text, ":")
	all := benchSets()
	i := slices.IndexFunc(all, func(s benchSet) bool { return s.name == name })
	if i < 0 {
		return benchSet{}, fmt.Errorf("set %q is none of gaussian, embeddings, normal-custom", name)
	}
	s := all[i]
	if !sized {
		return s, nil
	}
	n, d, ok := strings.Cut(size, "x")
	var err1, err2 error
	s.n, err1 = strconv.Atoi(n)
	s.d, err2 = strconv.Atoi(d)
	if !ok || err1 != nil || err2 != nil || s.n < 1 || s.d < 1 {
		return benchSet{}, fmt.Errorf("set %q: size %q is not ATOMSxDIMENSION, for instance 2000x768", text, size)
	}
	return s, nil
}

// generate makes the atoms and m queries of the same law. Which query or atom
// comes out does not depend on m.
func (s benchSet) generate(m int, seed uint64) (atoms, queries []float32) {
	r := rand.New(rand.NewPCG(seed, 0x7468726573686572))
	rows := make([]float32, (s.n+m)*s.d)
	s.fill(r, rows, s.d)
	return rows[: s.n*s.d : s.n*s.d], rows[s.n*s.d:]
}

// fillGaussian: every coordinate standard normal. No method can save much.
func fillGaussian(r *rand.Rand, rows []float32, _ int) {
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
	}
}

// fillNormalCustom is NORMAL_CUSTOM of arXiv 2212.07551: every vector has a
// mean of its own, standard normal, and coordinates of variance 1 about it.
func fillNormalCustom(r *rand.Rand, rows []float32, d int) {
	for row := range slices.Chunk(rows, d) {
		mean := r.NormFloat64()
		for j := range row {
			row[j] = float32(mean + r.NormFloat64())
		}
	}
}

// fillEmbeddings: directions of variance 1, 1/2, 1/3, ... carry most of a
// vector, a common offset and noise the rest, as in sentence embeddings.
func fillEmbeddings(r *rand.Rand, rows []float32, d int) {
	const directions = 64
	basis := make([]float64, (directions+1)*d)
	for i := range basis {
		basis[i] = r.NormFloat64() / math.Sqrt(float64(d))
	}
	offset := basis[directions*d:]
	sum := make([]float64, d)
	for row := range slices.Chunk(rows, d) {
		for j := range sum {
			sum[j] = offset[j] + .5*r.NormFloat64()/math.Sqrt(float64(d))
		}
		for f := range directions {
			w := r.NormFloat64() / math.Sqrt(float64(f+1))
			for j, u := range basis[f*d : (f+1)*d] {
				sum[j] += w * u
			}
		}
		for j, x := range sum {
			row[j] = float32(x)
		}
	}
}
