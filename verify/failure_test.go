package verify

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
)

// found checks the answer ids to the query 1 among rows of one dimension, or to the first query.
func found(t testing.TB, o *Oracle, req batch.Request, ids []int64, c batch.Certificate) (f Finding) {
	t.Helper()
	check, err := NewCheck(o, req)
	if err != nil {
		t.Fatal(err)
	}
	q := make([]float32, o.dim)
	for i := range q {
		q[i] = 1
	}
	if err := o.Each(t.Context(), q, func(_ int, s *Scores) { f = check.Answer(s, 0, &batch.Answer{IDs: ids, Certificate: c}) }); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCheckFindsTheBest: an answer that lacks the best atom fails though its atoms score as much as
// the k-th best.
func TestCheckFindsTheBest(t *testing.T) {
	top, least, most := 2.5, 1.5, 2.6
	exact := batch.Certificate{Guarantee: batch.GuaranteeExact}
	within := func(epsilon float64) batch.Certificate {
		return batch.Certificate{Guarantee: batch.GuaranteeCertain, Epsilon: epsilon}
	}
	paper := batch.Certificate{Method: batch.BoundedME, Guarantee: batch.GuaranteeProbabilistic, Delta: .01}
	stopped := func(open float64) batch.Certificate {
		return batch.Certificate{Guarantee: batch.GuaranteeCertain, StoppedBy: batch.Deadline, OpenBound: &open}
	}
	rows := []float32{2, 3, 2, 2, 1}
	for _, x := range []struct {
		name        string
		req         batch.Request
		ids         []int64
		certificate batch.Certificate
		missed      []int64
	}{
		{"the best and a tie", batch.Request{K: 2}, []int64{1, 3}, exact, nil},
		{"ties alone", batch.Request{K: 2}, []int64{0, 2}, exact, []int64{1}},
		{"ties alone, k 3", batch.Request{K: 3}, []int64{3, 0, 2}, exact, []int64{1}},
		{"k beyond n", batch.Request{K: 9}, []int64{1, 0, 2, 3, 4}, exact, nil},
		{"the best is denied", batch.Request{K: 2, Exclude: []int64{1}}, []int64{0, 3}, exact, nil},
		{"the best is itself", batch.Request{K: 2, ExcludeSelf: true, SelfFirst: 1}, []int64{0, 3}, exact, nil},
		{"the best is excluded", batch.Request{K: 2, Goals: []batch.QueryGoal{{Exclude: []int64{1}}}}, []int64{2, 3}, exact, nil},
		{"the best is above the ceiling", batch.Request{K: 2, MaxScore: &top}, []int64{0, 3}, exact, nil},
		{"below the ceiling, one for none", batch.Request{K: 3, MaxScore: &most}, []int64{0, 3, 4}, exact, []int64{2}},
		{"least score", batch.Request{K: 2, MinScore: &least}, []int64{0, 2}, exact, []int64{1}},
		{"least score and k beyond", batch.Request{K: 5, MinScore: &least}, []int64{0, 2, 3}, exact, []int64{1}},
		{"a smaller gap", batch.Request{K: 2}, []int64{0, 2}, within(.9), []int64{1}},
		{"a gap", batch.Request{K: 2}, []int64{0, 2}, within(1), nil},
		{"the paper's promise", batch.Request{K: 2}, []int64{0, 2}, paper, nil},
		{"less than that", batch.Request{K: 2}, []int64{1, 4}, paper, []int64{0}},
		{"stopped, open", batch.Request{K: 2}, []int64{0, 2}, stopped(3), nil},
		{"stopped, closed", batch.Request{K: 2}, []int64{0, 2}, stopped(2.5), []int64{1}},
	} {
		o := oracle(t, rows, 1, collection.InnerProduct, 1)
		if f := found(t, o, x.req, x.ids, x.certificate); f.Malformed != "" || !slices.Equal(f.Missed, x.missed) {
			t.Errorf("%s: %+v, want missed %v", x.name, f, x.missed)
		}
	}
}

// TestCheckFindsWhatCopiesHide: 25 copies of one row in place of 20 better ones, in every metric.
func TestCheckFindsWhatCopiesHide(t *testing.T) {
	const copies, better = 25, 20
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		var rows []float32
		ids := make([]int64, copies)
		for i := range copies + better {
			row := []float32{.5, 0} // at 45 degrees to the query
			if i >= copies {
				row = []float32{.66, .66}
			}
			if i < copies {
				ids[i] = int64(i)
			}
			rows = append(rows, row...)
		}
		f := found(t, oracle(t, rows, 2, metric, 1), batch.Request{K: copies}, ids, batch.Certificate{Guarantee: batch.GuaranteeExact})
		if f.Malformed != "" || len(f.Missed) != better || f.Failures != 1 || f.Gap <= 0 {
			t.Errorf("%v: %+v", metric, f)
		}
	}
}

// TestZeroVectors: with cosine all atoms tie for a zero query, and zero atoms with perpendicular ones.
func TestZeroVectors(t *testing.T) {
	o := oracle(t, []float32{0, 0, 1, -1, 1, 1, -1, -1}, 2, collection.Cosine, 1)
	for _, x := range []struct {
		ids    []int64
		missed []int64
	}{{[]int64{2, 0}, nil}, {[]int64{2, 1}, nil}, {[]int64{0, 1}, []int64{2}}, {[]int64{2, 3}, []int64{0}}} {
		if f := found(t, o, batch.Request{K: 2}, x.ids, batch.Certificate{Guarantee: batch.GuaranteeExact}); !slices.Equal(f.Missed, x.missed) {
			t.Errorf("%v: %+v, want missed %v", x.ids, f, x.missed)
		}
	}
	check := checkOf(t, o, batch.Request{K: 2})
	if err := o.Each(t.Context(), []float32{0, 0}, func(_ int, s *Scores) {
		if f := check.Answer(s, 0, &batch.Answer{IDs: []int64{3, 1}}); f.Wrong() || f.Malformed != "" {
			t.Errorf("a zero query: %+v", f)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// TestCriteria compares the criteria with their definitions by ranks, on whole numbers with many ties:
// the check excuses an answer only if each rank holds the score of the true rank less epsilon, and no
// missing atom scores more than the last returned plus epsilon; that of the papers is the weaker.
func TestCriteria(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		rows := make([]float32, n)
		for i := range rows {
			rows[i] = float32(rapid.IntRange(-2, 4).Draw(t, "row"))
		}
		k := rapid.IntRange(1, n).Draw(t, "k")
		ids := rapid.Permutation(rowNumbers(n)).Draw(t, "ids")[:k]
		epsilon := float64(rapid.IntRange(0, 3).Draw(t, "gap")) + .25
		if rapid.Bool().Draw(t, "exact") {
			epsilon = 0
		}
		score := func(id int64) float64 { return float64(rows[id]) }
		best := slices.Clone(rows)
		slices.Sort(best)
		slices.Reverse(best)
		got := make([]float64, k)
		for i, id := range ids {
			got[i] = score(id)
		}
		slices.Sort(got)
		slices.Reverse(got)
		ranks, missing := false, false
		for r := range k {
			ranks = ranks || got[r] < float64(best[r])-epsilon
		}
		for i := range int64(n) {
			missing = missing || !slices.Contains(ids, i) && score(i) > got[k-1]+epsilon
		}
		threshold := got[k-1] < float64(best[k-1])-epsilon

		o, err := NewOracle(rows, 1, collection.InnerProduct, 1)
		if err != nil {
			t.Fatal(err)
		}
		for c, want := range map[batch.Method]bool{batch.Certain: ranks || missing, batch.BoundedME: threshold} {
			var f Finding
			check, err := NewCheck(o, batch.Request{K: k})
			if err == nil {
				err = o.Each(t.Context(), []float32{1}, func(_ int, s *Scores) {
					f = check.Answer(s, 0, &batch.Answer{IDs: ids, Certificate: batch.Certificate{Method: c, Guarantee: batch.GuaranteeProbabilistic, Epsilon: epsilon}})
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.Malformed != "" || f.Wrong() != want {
				t.Fatalf("%s, rows %v, ids %v, k %d, epsilon %g: %+v, want wrong %v", c, rows, ids, k, epsilon, f, want)
			}
		}
		if ranks && !missing {
			t.Fatal("an answer that fails at a rank lacks a vector that clearly exceeds the last")
		}
	})
}

func rowNumbers(n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	return ids
}

// TestBarLowersTheGap: a certificate that grants too much is wrong, and its atoms are held to the bar.
func TestBarLowersTheGap(t *testing.T) {
	o := oracle(t, []float32{2, 3, 2, 2}, 1, collection.InnerProduct, 1)
	certificate := batch.Certificate{Guarantee: batch.GuaranteeCertain, Epsilon: 1e9}
	half, much := .5, 1e10
	for _, x := range []struct {
		bar     Bar
		exceeds bool
		missed  []int64
	}{
		{Bar{}, false, nil}, {Bar{Epsilon: &half}, true, []int64{1}}, {Bar{Epsilon: &much}, false, nil},
		{Bar{Require: batch.GuaranteeExact}, true, nil},
	} {
		check := checkOf(t, o, batch.Request{K: 2}).WithBar(x.bar)
		if err := o.Each(t.Context(), []float32{1}, func(_ int, s *Scores) {
			f := check.Answer(s, 0, &batch.Answer{IDs: []int64{0, 2}, Certificate: certificate})
			if (f.Exceeds != "") != x.exceeds || !slices.Equal(f.Missed, x.missed) || f.Wrong() != x.exceeds {
				t.Errorf("%+v: %+v", x.bar, f)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
