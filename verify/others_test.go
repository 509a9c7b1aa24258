package verify

import (
	"math"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
)

// toHalf and toDigits round as programs do that state short scores.
func toHalf(x float64) float64 {
	frac, exp := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(frac*(1<<11))/(1<<11), exp)
}

func toDigits(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// otherForms are what other programs make of scores, written independently of knownForms.
func otherForms() map[collection.Metric]map[string]func(float64) float64 {
	return map[collection.Metric]map[string]func(float64) float64{
		collection.InnerProduct: {
			"1 + inner product, 1/(1 - inner product) if negative": func(s float64) float64 {
				if s < 0 {
					return 1 / (1 - s)
				}
				return s + 1
			},
			"inner products": func(s float64) float64 { return s }, "1 + inner product": func(s float64) float64 { return s + 1 },
		},
		collection.Cosine: {
			"(1 + cosine)/2": func(s float64) float64 { return (1 + s) / 2 }, "1/(2 - cosine)": func(s float64) float64 { return 1 / (2 - s) },
			"1 - cosine": func(s float64) float64 { return 1 - s }, "cosines": func(s float64) float64 { return s },
		},
		collection.Euclidean: {
			"1/(1 + squared distance)": func(s float64) float64 { return 1 / (1 - 2*s) },
			"distances":                func(s float64) float64 { return math.Sqrt(-2 * s) },
			"squared distances":        func(s float64) float64 { return -2 * s },
			"1/(1 + distance)":         func(s float64) float64 { return 1 / (1 + math.Sqrt(-2*s)) },
		},
	}
}

// TestScoresOfOthers: answers that state scores in any usual form, at any usual precision, are well formed,
// and those with a score that is not their vector's are named.
func TestScoresOfOthers(t *testing.T) {
	const n, d, m, k = 80, 12, 8, 5
	rows, queries := gaussian(3, n, d), gaussian(4, m, d)
	for metric, all := range otherForms() {
		for name, of := range all {
			for suffix, rounded := range map[string]func(float64) float64{
				"": func(x float64) float64 { return x }, " at float16": toHalf, " at four digits": toDigits,
			} {
				o := oracle(t, rows, d, metric, 1)
				var others Others
				check := checkOf(t, o, batch.Request{K: k}).OfOthers(&others)
				findings := make([]Finding, m)
				answered(t, o, queries, k, func(j int64, s *Scores, a batch.Answer) {
					for at, id := range a.IDs {
						a.Scores[at] = float32(rounded(of(s.Search[id])))
					}
					if j == 6 {
						a.Scores[2] *= 1.03
					}
					findings[j] = check.Answer(s, j, &a)
					others.Found(j, &findings[j])
				})
				f := others.Form()
				if metric != collection.Cosine {
					suffix = "" // the bound of float32 sums of longer vectors may contain that of rounding
				}
				if f == nil || !strings.HasPrefix(f.Form, strings.Split(name, ",")[0]) || !strings.HasSuffix(f.Form, suffix) || f.Stated != m*k || f.Wrong != 1 {
					t.Errorf("%v %s%s: %+v", metric, name, suffix, f)
				}
				if count, first := others.Misstated(); count != 1 || first != 6 {
					t.Errorf("%v %s%s: %d misstated, the first %d", metric, name, suffix, count, first)
				}
				for j := range findings {
					if findings[j].Malformed != "" || others.Misstates(&findings[j]) != (j == 6) {
						t.Errorf("%v %s%s: query %d: %+v", metric, name, suffix, j, findings[j])
					}
				}
			}
		}
	}
}

// TestScoresOnNoKnownScale: none of them is wrong.
func TestScoresOnNoKnownScale(t *testing.T) {
	const n, d, m, k = 80, 12, 8, 5
	o := oracle(t, gaussian(3, n, d), d, collection.Cosine, 1)
	var others Others
	check := checkOf(t, o, batch.Request{K: k}).OfOthers(&others)
	answered(t, o, gaussian(4, m, d), k, func(j int64, s *Scores, a batch.Answer) {
		for at, id := range a.IDs {
			a.Scores[at] = float32(math.Exp(7 * s.Search[id]))
		}
		f := check.Answer(s, j, &a)
		others.Found(j, &f)
		if f.Malformed != "" || f.Wrong() || others.Misstates(&f) {
			t.Errorf("query %d: %+v", j, f)
		}
	})
	if f := others.Form(); f.Form != UnknownScale || f.Wrong != 0 || !strings.Contains(f.String(), "not known") {
		t.Errorf("%+v", f)
	}
	if count, _ := others.Misstated(); count != 0 {
		t.Errorf("%d misstated", count)
	}
	var none *Others
	if count, _ := none.Misstated(); count != 0 || none.Form() != nil || none.Misstates(&Finding{}) || (&Others{}).Form() != nil {
		t.Error("no answers state scores")
	}
}

// TestPrecisions: a coarse precision excuses only values that it can hold, and no more than its step.
func TestPrecisions(t *testing.T) {
	for _, x := range []struct {
		stated, score        float64
		single, half, digits bool
	}{
		{.7321, .7321, true, true, true},
		{.7321, .73214, false, false, true},
		{.73211, .73214, false, false, false}, // five digits
		{.7322, .73214, false, false, false},
		{float64(float32(toHalf(.73214))), .73214, false, true, false},
		{toHalf(.73214) + 0x1p-12, .73214, false, false, false}, // not a float16
		{toHalf(.73214) + 0x1p-10, .73214, false, false, false}, // a step off
		{123.4, 123.44, false, false, true},
		{123.5, 123.44, false, true, false}, // the nearest of 1/16
		{1.234e-6, 1.2343e-6, false, false, true},
		{toHalf(3e-7), 3e-7, false, false, false}, // more digits than a float16 of that size has
		{math.NaN(), .5, false, false, false}, {math.Inf(1), .5, false, false, false}, {0, 0, true, true, true},
	} {
		if got := fits(x.stated, x.score, 1e-7*x.score); got != [precisions]bool{x.single, x.half, x.digits} {
			t.Errorf("%g for %g: %v", x.stated, x.score, got)
		}
	}
}

// TestScoresThatAreNoNumbers: a score of another program that is NaN is on no scale, and makes its answer malformed.
func TestScoresThatAreNoNumbers(t *testing.T) {
	const n, d, m, k = 40, 8, 3, 5
	rows, queries := gaussian(3, n, d), gaussian(4, m, d)
	o := oracle(t, rows, d, collection.Euclidean, 1)
	var others Others
	check := checkOf(t, o, batch.Request{K: k}).OfOthers(&others)
	answered(t, o, queries, k, func(j int64, s *Scores, a batch.Answer) {
		a.Scores[j] = float32(math.NaN())
		if f := check.Answer(s, j, &a); !strings.Contains(f.Malformed, "has the score NaN") {
			t.Errorf("query %d: malformed %q; its score %d is NaN", j, f.Malformed, j)
		}
	})
}
