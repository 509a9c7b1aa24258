package batch_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"thresher/batch"
	"thresher/collection"
)

var chosen = flag.Int("chosen", 512, "dimension of TestChosenQueries")

// TestChosenQueries makes queries that fail under one known seed, and searches with other
// seeds. The rotation and the atoms determine the codes; a query of cosine .9 with an atom that
// is opposite to the codes that the first look reads of it has far too low an estimate. With
// a seed that is drawn afterwards each query fails with probability at most delta = .01. If the
// failures were independent, 9 or more of 60 would have probability below 1e-7; a shared
// rotation changes the variance of the number, not its mean.
func TestChosenQueries(t *testing.T) {
	const n, m, seed = 1500, 60, 1
	dim := *chosen
	rows := spread(n, dim)
	known := open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: seed}, 1)
	queries := leaning(known.Collection(), 64, m, .9)
	wrong, lost := failures(t, known, queries, m)
	t.Logf("under the seed that is known %d of %d are wrong, and lose up to %.0f%% of the score", wrong, m, 100*lost)
	if wrong < m/4 {
		t.Errorf("only %d of %d chosen queries fail: the attack is not one", wrong, m)
	}
	for _, drawn := range []uint64{0x9e3779b97f4a7c15, 0xd1b54a32d192ed03, 77} {
		wrong, _ := failures(t, open(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: drawn}, 1), queries, m)
		t.Logf("under another %d are", wrong)
		if wrong >= 9 {
			t.Errorf("under seed %d %d of %d chosen queries are wrong", drawn, wrong, m)
		}
	}
}

// spread returns atoms of norm 1 in random directions.
func spread(n, dim int) []float32 {
	r := rand.New(rand.NewPCG(5, 5))
	rows := make([]float32, n*dim)
	for i := range n {
		row := rows[i*dim : (i+1)*dim]
		var sum float64
		for j := range row {
			row[j] = float32(r.NormFloat64())
			sum += float64(row[j]) * float64(row[j])
		}
		for j := range row {
			row[j] /= float32(math.Sqrt(sum))
		}
	}
	return rows
}

// leaning returns m queries of norm 1. Each has cosine cos with a different atom, and its
// other component is opposite to the first width codes of that atom's rest.
func leaning(c *collection.Collection, width, m int, cos float64) []float32 {
	// Column j of the rotation, after the projection that removes the head, is the image of
	// unit vector j.
	columns := make([][]float32, c.Dim)
	var p collection.Query
	unit := make([]float32, c.Dim)
	for j := range columns {
		unit[j] = 1
		c.Prepare(&p, unit, 1, nil)
		columns[j] = append([]float32(nil), p.Rest[:width]...)
		unit[j] = 0
	}
	queries := make([]float32, 0, m*c.Dim)
	for i := range m {
		code, v := c.Codes[i*(c.R+c.D)+c.R:], c.Row(int(c.Order[i]))
		against := make([]float64, c.Dim)
		var along float64
		for j, col := range columns {
			for k, x := range col {
				against[j] -= float64(x) * (float64(code[k]) - 128)
			}
			along += against[j] * float64(v[j])
		}
		var sum float64
		for j := range against {
			against[j] -= along * float64(v[j])
			sum += against[j] * against[j]
		}
		for j := range against {
			queries = append(queries, float32(cos*float64(v[j])+math.Sqrt((1-cos*cos)/sum)*against[j]))
		}
	}
	return queries
}

// failures counts wrong answers and returns the greatest relative loss of score.
func failures(t *testing.T, e *batch.Engine, queries []float32, m int) (wrong int, lost float64) {
	t.Helper()
	got := search(t, e, batch.Request{Queries: queries, K: 1, Method: batch.Adaptive, Delta: .01, Plan: "64,rescore"})
	want := search(t, e, batch.Request{Queries: queries, K: 1, Method: batch.Exact})
	for i := range m {
		if is, best := float64(got.Answers[i].Scores[0]), float64(want.Answers[i].Scores[0]); is < best-1e-5 {
			wrong++
			lost = max(lost, 1-is/best)
		}
	}
	return wrong, lost
}
