package report

import (
	"fmt"
	"math"
	"strings"

	"thresher/batch"
	"thresher/verify"
)

// Lead is the sentence that a report begins with.
func Lead(f *Figures) string {
	of := fmt.Sprintf("%s %s against %s vectors of %d dimensions by %s", count(f.Sampled), plural(f.Sampled, "query", "queries"), count(f.Vectors.Rows), f.Vectors.Dim, metricWord(f.Metric))
	switch len(f.Answers) {
	case 0:
		return "The true " + best(f.K) + " of " + of + "."
	case 1:
		a := &f.Answers[0]
		return fmt.Sprintf("%s has %s of the true %s of %s.", a.Name, percent(a.Recall), best(a.RecallSummary.K), of)
	}
	return fmt.Sprintf("%d sets of answers, compared with the true neighbours of %s.", len(f.Answers), of)
}

func best(k int) string {
	if k == 1 {
		return "nearest neighbour"
	}
	return fmt.Sprintf("%d nearest neighbours", k)
}

// certain are the sentences that say what the search promises and why.
func (s *Search) certain() []string {
	words := []string{"The best vectors found here are " + s.Promise + "."}
	switch {
	case s.only(batch.GuaranteeExact):
		words = append(words, "Exact: no vector was left out by a bound that can fail, and the scores that decide are sums in float64 of the vectors.")
	case s.only(batch.GuaranteeExact, batch.GuaranteeCertain):
		words = append(words, "Certain: a vector was left out only where an upper bound of its score, which cannot fail, is below the score of the last vector of the answer.")
	case s.Guarantees[batch.GuaranteeProbabilistic] > 0:
		words = append(words, "Probabilistic: a vector was left out where its score is below that of the last vector of the answer except with the probability stated.")
	}
	read := fmt.Sprintf("To know this, %s of the bytes that a dense scan reads were read", percent(s.Read))
	if s.DenseSeconds > 0 {
		read += fmt.Sprintf(", and a query took %s where a dense scan took %s: %s", duration(s.Seconds), duration(s.DenseSeconds), ratio(s.DenseSeconds, s.Seconds))
	}
	return append(words, read+".")
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
	return verify.ReasonTexts(a.Reasons)
}

// ratio words how much faster or slower than a dense scan something was.
func ratio(dense, own float64) string {
	if own <= 0 {
		return ""
	}
	if own > dense {
		return fmt.Sprintf("%.2g times as long", own/dense)
	}
	return fmt.Sprintf("%.2g times as fast", dense/own)
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
