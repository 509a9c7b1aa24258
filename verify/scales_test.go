package verify

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
)

// TestEveryScale: scores of every known form, at every precision, are on that scale or one that they are equally on, and
// none is wrong; scores on a scale that is not known are not called wrong. Both hold for recall and for verify.
func TestEveryScale(t *testing.T) {
	rounded := [precisions]func(float64) float64{
		single: func(x float64) float64 { return float64(float32(x)) },
		half: func(x float64) float64 {
			_, exp := math.Frexp(x)
			step := math.Ldexp(1, max(exp-11, -24))
			return math.RoundToEven(x/step) * step
		},
		digits: func(x float64) float64 { return float64(float32(math.Round(x*1e4) / 1e4)) },
	}
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(knownForms).Draw(t, "form")
		at := precision(rapid.IntRange(0, int(precisions)-1).Draw(t, "precision"))
		strange := rapid.Bool().Draw(t, "strange")
		n, dim := 40, rapid.IntRange(2, 24).Draw(t, "dim")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rows := make([]float32, n*dim)
		for i := range rows {
			rows[i] = float32(random.NormFloat64())
		}
		o, err := NewOracle(rows, dim, form.metric, 1)
		if err != nil {
			t.Fatal(err)
		}
		r, others := NewRecall(o, 5), &Others{}
		for j := range 6 {
			q := make([]float32, dim)
			for c := range q {
				q[c] = float32(random.NormFloat64())
			}
			pairs := o.pairs(q)
			var ids []int64
			var scores []float32
			for range 5 {
				id := random.Int64N(int64(n))
				p := pairs.pair(id)
				sum, _ := p.sumOf(form.metric, dim)
				x := rounded[at](form.of(sum))
				if strange {
					x = math.Exp(form.of(sum)/7) + 11
				}
				ids, scores = append(ids, id), append(scores, float32(x))
			}
			if _, err := r.Compare(int64(j), q, ids, ids, scores); err != nil {
				t.Fatal(err)
			}
			err := o.Each(t.Context(), q, func(_ int, s *Scores) { others.add(s, &batch.Answer{IDs: ids, Scores: scores}) })
			if err != nil {
				t.Fatal(err)
			}
		}
		report, err := r.Report()
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range []*FormCount{report.Scores, others.Form()} {
			if found.Wrong != 0 || found.Stated != 30 || strange != (found.Form == UnknownScale) {
				t.Fatalf("%s%s, strange %v: %+v", form.name, at.suffix(), strange, found)
			}
		}
	})
}

// TestWrongOnAScale: a score that is not its vector's is wrong on a known scale.
func TestWrongOnAScale(t *testing.T) {
	o, err := NewOracle([]float32{1, 2, 3, 4, 5, 6}, 1, collection.InnerProduct, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecall(o, 6)
	ids := []int64{5, 4, 3, 2, 1, 0}
	if _, err := r.Compare(0, []float32{.7}, ids, ids, []float32{4.2, 3.5, 2.8, 2.1, 1.4, .8}); err != nil {
		t.Fatal(err)
	}
	if p, err := r.Report(); err != nil || p.Scores.Wrong != 1 || p.Scores.Sample[0].ID != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}
