package verify

import (
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
)

// TestCheckMaxScore: with a greatest score, the k best of the atoms within it are right; an atom above
// it, or the lack of one below it, is found; an atom at the limit may be in the answer or not.
func TestCheckMaxScore(t *testing.T) {
	const n, d, k = 40, 9, 4
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		o := oracle(t, gaussian(1, n, d), d, metric, 1)
		answered(t, o, gaussian(2, 1, d), n, func(j int64, s *Scores, all batch.Answer) {
			limit := float64(all.Scores[6]) // equal to the exact score within rounding
			for _, goal := range []bool{false, true} {
				req := batch.Request{K: k, MaxScore: &limit}
				if goal {
					req = batch.Request{K: k, Goals: []batch.QueryGoal{{MaxScore: &limit}}}
				}
				c := checkOf(t, o, req)
				for _, x := range []struct {
					name      string
					ranks     []int
					malformed bool
					missed    int
				}{
					{"with the vector at the limit", []int{6, 7, 8, 9}, false, 0},
					{"without it", []int{7, 8, 9, 10}, false, 0},
					{"a vector above the limit", []int{5, 7, 8, 9}, true, 0},
					{"too few", []int{6, 7, 8}, true, 0},
					{"one of the best is missing", []int{7, 8, 9, 11}, false, 1},
					{"one of the best is missing, with the vector at the limit", []int{6, 7, 9, 11}, false, 2}, // ranks 8 and 10
				} {
					a := batch.Answer{Certificate: all.Certificate}
					for _, rank := range x.ranks {
						a.IDs, a.Scores = append(a.IDs, all.IDs[rank]), append(a.Scores, all.Scores[rank])
					}
					f := c.Answer(s, j, &a)
					if (f.Malformed != "") != x.malformed || len(f.Missed) != x.missed {
						t.Errorf("%v, %s, limit of the goal %v: %+v", metric, x.name, goal, f)
					}
				}
				stopped := batch.Answer{IDs: slices.Clone(all.IDs[7:9]), Certificate: all.Certificate}
				stopped.Certificate.StoppedBy = batch.Deadline
				for _, open := range []int{6, 10} { // up to the score of this rank
					bound := s.Search[all.IDs[open]]
					stopped.Certificate.OpenBound = &bound
					if f := c.Answer(s, j, &stopped); wrong(f) != (open == 10) {
						t.Errorf("%v: stopped, open up to rank %d: %+v", metric, open, f)
					}
				}
			}
		})
	}
}
