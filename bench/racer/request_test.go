package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/vectors"
)

// writeRandom writes n rows of dimension d and returns them.
func writeRandom(t *testing.T, path string, n, d int, seed uint64) []float32 {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	rows := vectors.Gaussian(r, n, d)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := dataset.WriteNPY(f, n, d, rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestServe asks for more batches than there are, from the third on, and reads
// the answers back: 10 queries make 2 batches of 4, counted 2, 0, 1 and so on.
func TestServe(t *testing.T) {
	for _, metric := range collection.Metrics() {
		t.Run(metric, func(t *testing.T) { testServe(t, metric) })
	}
}

func testServe(t *testing.T, metric string) {
	const n, d, m, k = 300, 32, 4, 5
	dir := t.TempDir()
	atoms := writeRandom(t, filepath.Join(dir, "atoms.npy"), n+50, d, 1)
	queries := writeRandom(t, filepath.Join(dir, "queries.npy"), 10, d, 2)
	answers := filepath.Join(dir, "answers.bin")
	ask, err := json.Marshal(request{M: m, K: k, First: 1, Count: 2, Method: "exact", Delta: .01, Dump: answers})
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(request{M: m, K: k, Count: 5, Method: "certain", Delta: .01})
	if err != nil {
		t.Fatal(err)
	}
	plans, err := json.Marshal(request{M: m, K: k, Method: "auto", Delta: .01, Count: 1, Forecast: true})
	if err != nil {
		t.Fatal(err)
	}
	forced, err := json.Marshal(request{M: m, K: k, Count: 1, Method: "certain", Delta: .01, Plan: "whole,rescore"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := strings.NewReader(fmt.Sprintf("%s\n%s\n%s\n%s\n", ask, again, plans, forced))
	if err := serve(t.Context(), in, &out, filepath.Join(dir, "atoms.npy"), filepath.Join(dir, "queries.npy"), metric, n, 1, 1); err != nil {
		t.Fatal(err)
	}
	var ready prepared
	var dense, certain, forecasts, whole result
	lines := json.NewDecoder(&out)
	for _, v := range []any{&ready, &dense, &certain, &forecasts, &whole} {
		if err := lines.Decode(v); err != nil {
			t.Fatal(err)
		}
	}
	if ready.Atoms != n || ready.Dimension != d || ready.CollectionBytes < 4*n*d {
		t.Errorf("prepared %+v", ready)
	}
	if dense.Queries != 2*m || dense.Pulls != 2*m*n*d || dense.Exact != 2*m || dense.Seconds <= 0 {
		t.Errorf("exact: %+v", dense)
	}
	if certain.Queries != 2*m || certain.DensePulls != 2*m*n*d {
		t.Errorf("certain, of one round of the batches: %+v", certain)
	}

	chosen := 0
	for i, f := range forecasts.Forecasts {
		if f.Chosen {
			chosen++
		}
		if i > 0 && f.Cost < forecasts.Forecasts[i-1].Cost {
			t.Errorf("forecast %d of %+v is cheaper than the one before", i, forecasts.Forecasts)
		}
	}
	if chosen != 1 {
		t.Errorf("%d plans of %+v are chosen", chosen, forecasts.Forecasts)
	}
	if len(whole.Plans) != 1 || whole.Plans["certain, certain: whole,rescore"] != m {
		t.Errorf("plans %v, want whole rows alone", whole.Plans)
	}

	dumped, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int32, len(dumped)/4)
	if err := binary.Read(bytes.NewReader(dumped), binary.LittleEndian, got); err != nil {
		t.Fatal(err)
	}
	var want []int32
	for _, j := range []int{4, 5, 6, 7, 0, 1, 2, 3} {
		want = append(append(want, best(metric, atoms[:n*d], queries[j*d:(j+1)*d], k)...), 1)
	}
	if !slices.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
}

// best returns the k best rows for q by a metric.
func best(metric string, rows, q []float32, k int) []int32 {
	scores := make([]float64, len(rows)/len(q))
	ids := make([]int32, len(scores))
	for i := range ids {
		ids[i] = int32(i)
		var product, square float64
		for j, x := range q {
			v := float64(rows[i*len(q)+j])
			product, square = product+float64(x)*v, square+v*v
		}
		scores[i] = product
		switch metric {
		case "cosine":
			scores[i] /= math.Sqrt(square)
		case "l2":
			scores[i] -= square / 2
		}
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
	return ids[:k]
}
