package batch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
)

// TestSelves: queries that are atoms in any order find what they find in the order of the rows, and
// with LaterOnly, in a collection of a given order, each pair once.
func TestSelves(t *testing.T) {
	const n, dim = 500, 48
	rows := clusters(3, n, dim)
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		e := open(t, rows, dim, &collection.Options{Metric: metric, Seed: 1}, 2)
		var selves []int64
		var queries []float32
		order := make([]uint32, n)
		for i := range int64(n) {
			row := i * 7 % n
			selves = append(selves, row)
			queries = append(queries, rows[row*dim:(row+1)*dim]...)
			order[i] = uint32(row)
		}
		for _, method := range []batch.Method{batch.Certain, batch.Exact} {
			plain := search(t, e, batch.Request{Queries: rows, K: 4, Method: method, ExcludeSelf: true})
			resp := search(t, e, batch.Request{Queries: queries, K: 4, Method: method, ExcludeSelf: true, Selves: selves})
			for j, row := range selves {
				if diff := cmp.Diff(plain.Answers[row].IDs, resp.Answers[j].IDs); diff != "" {
					t.Fatalf("%s %s: row %d:\n%s", metric, method, row, diff)
				}
			}
		}

		c := e.Collection()
		given := build(t, rows, dim, &collection.Options{Metric: metric, Seed: 1, Order: order})
		over, err := e.Over(t.Context(), given)
		if err != nil {
			t.Fatal(err)
		}
		defer over.Close()
		least := metric.Shown(c.Score(c.Row(0), 64))
		both := search(t, e, batch.Request{Queries: rows, MinScore: &least, Method: batch.Certain, ExcludeSelf: true})
		once := search(t, over, batch.Request{Queries: queries, MinScore: &least, Method: batch.Certain, ExcludeSelf: true, Selves: selves, LaterOnly: true})
		want, got := map[[2]int64]int{}, map[[2]int64]int{}
		for i, a := range both.Answers {
			for _, id := range a.IDs {
				want[[2]int64{min(int64(i), id), max(int64(i), id)}] = 1
			}
		}
		for j, a := range once.Answers {
			for _, id := range a.IDs {
				got[[2]int64{min(selves[j], id), max(selves[j], id)}]++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s: pairs (-want +got):\n%s", metric, diff)
		}
	}
}

// TestSearchScores: the scores that order an answer are those of the collection, bit for bit.
func TestSearchScores(t *testing.T) {
	const n, dim = 300, 48
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		e := open(t, clusters(3, n, dim), dim, &collection.Options{Metric: metric, Seed: 1}, 1)
		c := e.Collection()
		for _, asked := range []bool{true, false} {
			resp := search(t, e, batch.Request{Queries: c.Rows[:5*dim], K: 7, Method: batch.Certain, SearchScores: asked})
			for j, a := range resp.Answers {
				if !asked && a.SearchScores == nil {
					continue
				}
				for i, id := range a.IDs {
					if want := c.Score(c.Row(j), int(id)); len(a.SearchScores) != len(a.IDs) || a.SearchScores[i] != want || a.Scores[i] != float32(metric.Shown(want)) {
						t.Fatalf("%s: query %d, vector %d: %v, want %g", metric, j, id, a.SearchScores, want)
					}
				}
			}
		}
	}
}
