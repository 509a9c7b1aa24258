package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"thresher/batch"
	"thresher/verify"
)

// Lead is the sentence that a report begins with.
func Lead(f *Figures) string {
	of := fmt.Sprintf("%s %s against %s vectors of %d dimensions by %s", count(f.Sampled), plural(f.Sampled, "query", "queries"), count(f.Vectors.Rows), f.Vectors.Dim, metricWord(f.Metric)) + f.filtered()
	switch len(f.Answers) {
	case 0:
		return "The true " + best(f.K) + " of " + of + "."
	case 1, 2, 3:
		var has []string
		for i := range f.Answers {
			a := &f.Answers[i]
			has = append(has, fmt.Sprintf("%s has %s", a.Name, percent(a.Recall)))
		}
		return fmt.Sprintf("%s of the true %s of %s.", listed(has), best(f.wanted()), of)
	}
	low, high := 1., 0.
	for i := range f.Answers {
		low, high = min(low, f.Answers[i].Recall), max(high, f.Answers[i].Recall)
	}
	return fmt.Sprintf("%d sets of answers have from %s to %s of the true %s of %s.", len(f.Answers), percent(low), percent(high), best(f.wanted()), of)
}

// filtered ends the sentence that a report begins with; nothing without a filter.
func (f *Figures) filtered() string {
	switch {
	case f.FilterColumn != "":
		return fmt.Sprintf(", each with the filter in its column %q", f.FilterColumn)
	case f.Filter != "":
		return ", with the filter " + f.Filter
	}
	return ""
}

// listed joins one text or more.
func listed(texts []string) string {
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " and " + texts[last]
	}
	return texts[0]
}

// wanted is how many neighbours of a query all answers were compared with, 0 if that differs.
func (f *Figures) wanted() int {
	k := f.Answers[0].RecallSummary.K
	for i := range f.Answers {
		if f.Answers[i].RecallSummary.K != k {
			return 0
		}
	}
	return k
}

// best words the k nearest neighbours, 0 for some number.
func best(k int) string {
	switch k {
	case 0:
		return "nearest neighbours"
	case 1:
		return "nearest neighbour"
	}
	return fmt.Sprintf("%d nearest neighbours", k)
}

// certain are the sentences that say what the search promises, of which vectors, and why.
func (f *Figures) certain() []string {
	s := &f.Search
	words := []string{"The true neighbours on this page were found by thresher and are " + s.Promise + "."}
	every := "every vector"
	switch {
	case f.FilterColumn != "":
		every = "every vector that its filter allows"
		words = append(words, fmt.Sprintf("They are the best of the vectors that the filter of each query allows, the expression in its column %q; other vectors in answers do not count.", f.FilterColumn))
	case f.Filter != "":
		every = "every vector that the filter allows"
		words = append(words, fmt.Sprintf("They are the best of the %s vectors, of %s, that the filter allows: %s. Other vectors in answers do not count.", count(int64(f.Allowed)), count(f.Vectors.Rows), f.Filter))
	}
	switch {
	case s.only(batch.GuaranteeExact):
		words = append(words, "Exact: "+every+" was compared with the query, or ruled out by a bound that cannot fail, and the scores that decide are sums in float64 of the vectors.")
	case s.only(batch.GuaranteeExact, batch.GuaranteeCertain):
		words = append(words, "Certain: a vector was left out only where it is proven to be no neighbour. Part of its coordinates bounds how well it can score at best, and that is less than what the last neighbour found scores.")
	case s.Guarantees[batch.GuaranteeProbabilistic] > 0:
		words = append(words, "Probabilistic: a vector was left out where part of its coordinates bounds its score below that of the last neighbour found, except with the probability stated.")
	}
	if !s.looked() {
		return append(words, fmt.Sprintf("A query took %s, by a dense scan, which compares it with %s.", duration(s.Seconds), every))
	}
	if s.DenseSeconds <= 0 {
		return words
	}
	return append(words, fmt.Sprintf("To know this, thresher read %s of the bytes that a dense scan reads, which compares a query with %s. A query took %s, and %s by the dense scan: thresher was %s.",
		percent(s.Read), every, duration(s.Seconds), duration(s.DenseSeconds), ratio(s.DenseSeconds, s.Seconds)))
}

// only reports whether all answers have one of these guarantees.
func (s *Search) only(these ...batch.Guarantee) bool {
	of := map[batch.Guarantee]bool{}
	for _, g := range these {
		of[g] = true
	}
	for g, n := range s.Guarantees {
		if n > 0 && !of[g] {
			return false
		}
	}
	return len(s.Guarantees) > 0
}

// why words the reasons why answers lack vectors; nothing if they lack none.
func (a *Answers) why() []string {
	if a.Complete == a.Queries || a.Reasons == nil {
		return nil
	}
	texts := verify.ReasonTexts(a.Reasons)
	for i := range texts {
		texts[i] = strings.TrimPrefix(texts[i], "not known: ")
	}
	return texts
}

// ratio words how much faster or slower than a dense scan something was.
func ratio(dense, own float64) string {
	switch x := max(own, dense) / max(min(own, dense), math.SmallestNonzeroFloat32); {
	case x < 1.05:
		return "as fast"
	case own > dense:
		return times(x) + " times slower"
	default:
		return times(x) + " times faster"
	}
}

// times words a ratio of at least 1 with two digits.
func times(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2g", x)
	}
	return count(int64(math.Round(x)))
}

func metricWord(metric string) string {
	switch metric {
	case "ip":
		return "inner product"
	case "l2":
		return "Euclidean distance"
	}
	return metric
}

// duration words seconds with three digits.
func duration(seconds float64) string {
	switch {
	case seconds < 1e-3:
		return fmt.Sprintf("%.3g µs", seconds*1e6)
	case seconds < 1:
		return fmt.Sprintf("%.3g ms", seconds*1e3)
	}
	return fmt.Sprintf("%.3g s", seconds)
}

// percent words a share; what is less than all is never rounded to all.
func percent(share float64) string {
	if share > .999 && share < 1 {
		digits := int(math.Ceil(-math.Log10(1-share))) - 1
		scale := math.Pow(10, float64(digits))
		return fmt.Sprintf("%.*f%%", digits, math.Floor(share*100*scale)/scale)
	}
	if share > 0 && share < .1 {
		return fmt.Sprintf("%.2g%%", 100*share)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0") + "%"
}

// count words a number with commas between its thousands.
func count(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func plural(n int64, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// Reads words what a step reads of each vector, of so many dimensions.
func (s *Stage) Reads(dim int) string {
	switch {
	case !strings.HasSuffix(s.Name, lookSuffix):
		return "as given"
	case s.Coordinates < dim:
		return fmt.Sprintf("%d of %d coordinates, rounded", s.Coordinates, dim)
	}
	return fmt.Sprintf("all %d coordinates, rounded", dim)
}

// scoreWord says what a score of a metric is.
func scoreWord(metric string) string {
	switch metric {
	case "ip":
		return "inner product"
	case "l2":
		return "squared distance"
	}
	return metric
}

// score words a score with five digits, and without an exponent where it is of a usual size.
func score(x float64) string {
	size := math.Abs(x)
	if size != 0 && size < 1e-4 || size >= 1e9 {
		return fmt.Sprintf("%.5g", x)
	}
	if size >= 1e4 {
		text := count(int64(math.Round(size)))
		if x < 0 {
			return "-" + text
		}
		return text
	}
	return strconv.FormatFloat(x, 'g', 5, 64)
}
