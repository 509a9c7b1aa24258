package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"thresher/internal/vectors"
)

// benchSet is a generated set of atoms and queries.
type benchSet struct {
	name string
	n, d int
	rows func(r *rand.Rand, n, d int) []float32
}

// benchSets are the sets for which the specification of the method has figures, at sizes that
// fit a small machine.
func benchSets() []benchSet {
	return []benchSet{
		{"gaussian", 2000, 10000, vectors.Gaussian},
		{"embeddings", 20000, 768, vectors.Embeddings},
		{"normal-custom", 5000, 10000, vectors.OwnMeans},
	}
}

// parseBenchSet reads NAME or NAME:VECTORSxDIMENSION.
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
		return benchSet{}, fmt.Errorf("set %q: size %q is not VECTORSxDIMENSION, for instance 2000x768", text, size)
	}
	return s, nil
}

// generate makes the atoms and m queries of the same distribution. Each atom and query is
// independent of m.
func (s benchSet) generate(m int, seed uint64) (atoms, queries []float32) {
	rows := s.rows(vectors.Rand(seed), s.n+m, s.d)
	return rows[: s.n*s.d : s.n*s.d], rows[s.n*s.d:]
}
