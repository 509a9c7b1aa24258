package verify

import (
	"context"
	"math"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/draws"
)

// TestAnswersToRoundedNumbers: an oracle of the values given allows an answer what its certificate says
// that rounding changed, and no more.
func TestAnswersToRoundedNumbers(t *testing.T) {
	const n, m, dim, k = 400, 12, 16, 5
	r := draws.Rand(41)
	draw := func(count int) (wide []float64, rounded, rests []float32, change float64) {
		base := make([]float64, dim)
		for i := range count * dim {
			if i%(40*dim) < dim {
				base[i%dim] = r.NormFloat64()
			}
			x := base[i%dim] + 2e-8*r.NormFloat64() // ties of many, for float32
			v := float32(x)
			wide, rounded, rests = append(wide, x), append(rounded, v), append(rests, float32(x-float64(v)))
			change = max(change, math.Abs(x-float64(v)))
		}
		return wide, rounded, rests, change
	}
	near, rows, rowRests, rowChange := draw(n)
	var queries []float64
	var roundedQueries []float32
	queryChange := 0.
	for i := range m * dim { // every other so near a row that rounding is most of the distance
		x := near[i/dim*33*dim+i%dim] + []float64{2e-8, .1}[i/dim%2]*r.NormFloat64()
		queries, roundedQueries = append(queries, x), append(roundedQueries, float32(x))
		queryChange = max(queryChange, math.Abs(x-float64(float32(x))))
	}
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		best := func(o *Oracle, wide []float64) (answers []batch.Answer) {
			answers = make([]batch.Answer, m)
			visit := func(j int, s *Scores) {
				a := &answers[j]
				a.Certificate = batch.Certificate{Method: batch.Exact, Guarantee: batch.GuaranteeExact, Exact: true, StoppedBy: batch.Done}
				for _, i := range ranking(s.Search, k, nil, -1, nil) {
					a.IDs = append(a.IDs, int64(i))
					a.Scores = append(a.Scores, float32(metric.Shown(s.Search[i])))
				}
			}
			err := each(context.Background(), o, wide, visit)
			if wide == nil {
				err = o.Each(context.Background(), roundedQueries, visit)
			}
			if err != nil {
				t.Fatal(err)
			}
			return answers
		}
		plain, err := NewOracle(rows, dim, metric, 1)
		if err != nil {
			t.Fatal(err)
		}
		given, err := NewOracle(rows, dim, metric, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := given.AddRests(rowRests); err != nil {
			t.Fatal(err)
		}
		if err := given.AddRests(rowRests[1:]); err == nil {
			t.Error("rests of another shape are taken")
		}
		check := func(name string, answers []batch.Answer, wrong bool) {
			t.Helper()
			report, err := Response(context.Background(), given, batch.Request{Queries64: queries, K: k}, &batch.Response{Answers: answers})
			if err != nil {
				t.Fatal(err)
			}
			if (report.Wrong+report.Malformed > 0) != wrong {
				t.Errorf("%s, %s: %d wrong and %d malformed", metric, name, report.Wrong, report.Malformed)
			}
		}
		right, rough := best(given, queries), best(plain, nil)
		check("of the values given", right, false)
		check("of rounded values, which the certificates do not say", rough, true)
		for j := range rough {
			rough[j].Certificate.VectorsChange, rough[j].Certificate.QueryChange = rowChange, queryChange
		}
		check("of rounded values", rough, false)
		for j := range rough {
			rough[j].Certificate.VectorsChange, rough[j].Certificate.QueryChange = rowChange/1e6, queryChange/1e6
		}
		check("of values rounded by less", rough, true)
		for j := range rough {
			rough[j].Certificate.VectorsChange, rough[j].Certificate.QueryChange = rowChange, queryChange
			worse := int64(n - 1)
			for slices.Contains(rough[j].IDs, worse) || worse/40 == rough[j].IDs[0]/40 {
				worse--
			}
			rough[j].IDs[k-1] = worse // of another cluster
		}
		check("of vectors that are clearly worse", rough, true)
	}
}
