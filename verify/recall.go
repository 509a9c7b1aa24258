package verify

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Recall compares answers of any origin with the k best atoms of their queries: how many
// of these they contain, which ones they lack, and whether their scores are the atoms'. An
// atom counts as found if it scores more than the k-th best or, of those that tie with that one
// within the rounding error of float64 sums (see the package comment), is one of as many as
// belong to the k best. Recall is not safe for concurrent use.
type Recall struct {
	oracle *Oracle
	k      int

	queries, complete int64
	asking            int64 // queries that want atoms
	found, identical  int64
	most              int  // atoms that a query wants
	varied            bool // some want fewer
	// Sums over the queries of their recalls, of the squares of these, and of their recalls by id.
	recalls, squares, byID float64
	short, repeated        int64
	bands                  []RankBand
	gaps                   []float64
	scores                 StatedScores
	missed                 []int64 // of the latest query, best first
	listed                 map[int64]bool
}

// NewRecall returns the comparison of answers of k >= 1 atoms with o's scores.
func NewRecall(o *Oracle, k int) *Recall {
	return &Recall{oracle: o, k: k, bands: rankBands(min(k, o.n)), listed: map[int64]bool{}}
}

// Compare adds the answer ids, best first, to query number query, whose vector is q, and
// returns the recall of this query. best are the k best atoms of the query, best first, or
// all if there are fewer; a query without any lacks nothing and does not count for the mean.
// scores are what the answer states for its atoms, one an id, or nil. Of a longer answer the
// first k atoms count. An error means that the answer cannot be one of this collection; nothing
// is added then.
func (r *Recall) Compare(query int64, q []float32, best, ids []int64, scores []float32) (float64, error) {
	return r.compare(query, r.oracle.pairs(q), best, ids, scores)
}

// Compare64 is Compare of a query of float64.
func (r *Recall) Compare64(query int64, q []float64, best, ids []int64, scores []float32) (float64, error) {
	return r.compare(query, r.oracle.pairs64(q), best, ids, scores)
}

// compare is Compare of a query whose scores are s.
func (r *Recall) compare(query int64, s pairScores, best, ids []int64, scores []float32) (float64, error) {
	if len(s.q) != r.oracle.dim {
		return 0, fmt.Errorf("query %d has %d values, the vectors have %d", query, len(s.q), r.oracle.dim)
	}
	if scores != nil && len(scores) != len(ids) {
		return 0, fmt.Errorf("query %d: %d scores for %d ids", query, len(scores), len(ids))
	}
	for at, id := range ids {
		if id < 0 || id >= int64(r.oracle.n) {
			return 0, fmt.Errorf("query %d: vector %d at rank %d is outside [0, %d)", query, id, at+1, r.oracle.n)
		}
	}
	r.queries++
	r.missed = r.missed[:0]
	if len(best) == 0 {
		r.complete++
		return 1, nil
	}
	r.asking++
	r.varied = r.varied || r.most > 0 && len(best) != r.most
	r.most = max(r.most, len(best))
	ids = ids[:min(len(ids), r.k)]
	last := best[len(best)-1]
	floor := s.search(last)
	worst := math.Inf(1)
	clear(r.listed)
	above, tied := 0, 0
	if scores != nil {
		r.scores.add(query, &s, ids, scores[:len(ids)])
	}
	for _, id := range ids {
		if r.listed[id] {
			r.repeated++
			continue
		}
		r.listed[id] = true
		score := s.search(id)
		worst = min(worst, score)
		switch margin := s.margin(id, last, score, floor); {
		case score > floor+margin:
			above++
		case score >= floor-margin:
			tied++
		}
	}
	if len(ids) < len(best) {
		r.short++
	}
	hits := min(above+min(tied, len(best)-r.countAbove(&s, best, floor)), len(best)) // best may not be the best
	identical := r.identical
	r.count(&s, best, len(best)-hits, worst)
	recall := float64(hits) / float64(len(best))
	r.found += int64(hits)
	r.recalls += recall
	r.squares += recall * recall
	r.byID += float64(r.identical-identical) / float64(len(best))
	return recall, nil
}

// countAbove returns how many of the best atoms clearly score more than the last of them.
func (r *Recall) countAbove(s *pairScores, best []int64, floor float64) int {
	last := best[len(best)-1]
	n := len(best)
	for n > 0 {
		if score := s.search(best[n-1]); score > floor+s.margin(best[n-1], last, score, floor) {
			break
		}
		n--
	}
	return n
}

// count adds the misses of one query: the best of the atoms that are not listed, as many as
// were not found. An answer's worst atom, of search score worst, stands in their place.
func (r *Recall) count(s *pairScores, best []int64, misses int, worst float64) {
	for at, id := range best {
		b := &r.bands[slices.IndexFunc(r.bands, func(b RankBand) bool { return at < b.To })]
		b.Wanted++
		if r.listed[id] {
			r.identical++
			continue
		}
		if len(r.missed) == misses {
			continue // an atom of the same score was found in its place
		}
		b.Missed++
		r.missed = append(r.missed, id)
		if len(r.listed) >= len(best) {
			r.gaps = append(r.gaps, s.relativeGap(id, worst))
		}
	}
	if misses == 0 {
		r.complete++
	}
}

// Missed returns the atoms that the latest answer lacks, best first. The slice is valid until
// the next Compare.
func (r *Recall) Missed() []int64 { return r.missed }

// Scores returns what was found of the stated scores.
func (r *Recall) Scores() StatedScores { return r.scores }

// ResumeScores continues the count of stated scores from that of an earlier comparison.
func (r *Recall) ResumeScores(s StatedScores) { r.scores = s }

// RankBand counts the atoms of some ranks.
type RankBand struct {
	From   int   `json:"from"` // first rank, from 1
	To     int   `json:"to"`   // last rank
	Wanted int64 `json:"wanted"`
	Missed int64 `json:"missed"`
}

// rankBands divides the ranks 1 to k at 1, 5, 10, 50, 100, ..
func rankBands(k int) []RankBand {
	var bands []RankBand
	for from, to := 1, 1; from <= k; from, to = to+1, nextBand(to) {
		bands = append(bands, RankBand{From: from, To: min(to, k)})
	}
	return bands
}

// nextBand returns the bound after to in 1, 5, 10, 50, 100, ..
func nextBand(to int) int {
	power := 1
	for power*10 <= to {
		power *= 10
	}
	if to == power {
		return 5 * power
	}
	return 10 * power
}

// RecallReport is the result of a comparison.
type RecallReport struct {
	Queries  int64 `json:"queries"`  // compared
	Complete int64 `json:"complete"` // that lack nothing
	K        int   `json:"k"`
	// Recall is the mean over the queries that want atoms of the share of the k best found, where
	// atoms of equal score stand for each other; ByID that of the share of the k best, ties by
	// ascending id, that are in the answers themselves.
	Recall float64 `json:"recall"`
	ByID   float64 `json:"recall_by_id"`
	// Low and High are the 95% confidence interval of the mean recall over all queries like
	// these, of which these are a random sample.
	Low  float64 `json:"recall_low"`
	High float64 `json:"recall_high"`
	// Short counts answers of fewer than k atoms, Repeated the atoms listed again.
	Short    int64      `json:"short"`
	Repeated int64      `json:"repeated"`
	Ranks    []RankBand `json:"ranks"`
	Gaps     *GapReport `json:"gaps,omitempty"` // nil if no answer of k atoms lacks any
	Scores   *FormCount `json:"scores,omitempty"`
}

// GapReport says how much better the missed atoms are than the worst atom returned: the
// difference of their scores over the greater one's size; for Euclidean distance, of their
// distances.
type GapReport struct {
	Median float64 `json:"median"`
	High   float64 `json:"p90"`
	Worst  float64 `json:"worst"`
}

// Report returns the figures so far. It fails if the answers' scores show that they were made
// for another metric.
func (r *Recall) Report() (*RecallReport, error) {
	forms, err := r.scores.Form(r.oracle.metric)
	if err != nil {
		return nil, err
	}
	p := &RecallReport{Queries: r.queries, Complete: r.complete, K: r.k, Short: r.short, Repeated: r.repeated, Ranks: r.bands, Scores: forms}
	var wanted int64
	for _, b := range r.bands {
		wanted += b.Wanted
	}
	if wanted == 0 {
		return nil, fmt.Errorf("no vectors to be found")
	}
	n := float64(r.asking)
	p.Recall, p.ByID = float64(r.found)/float64(wanted), float64(r.identical)/float64(wanted) // free of rounding
	if r.varied {
		p.Recall, p.ByID = r.recalls/n, r.byID/n
	}
	p.Low, p.High = meanInterval(p.Recall, r.squares/n-p.Recall*p.Recall, n, float64(wanted)/n)
	if len(r.gaps) > 0 {
		slices.Sort(r.gaps)
		at := func(share float64) float64 { return r.gaps[int(share*float64(len(r.gaps)-1))] }
		p.Gaps = &GapReport{Median: at(.5), High: at(.9), Worst: at(1)}
	}
	return p, nil
}

// ShareInterval is a 95% confidence interval of the mean of values in [0, 1], from n >= 1 independent ones of this
// mean, whatever their variance.
func ShareInterval(mean float64, n int64) (low, high float64) {
	return meanInterval(mean, mean*(1-mean), float64(n), 1)
}

// RecallInterval returns the mean of the recalls of some queries, at least one, with its 95% confidence interval. most is
// how many atoms a query wants, on average.
func RecallInterval(recalls []float64, most float64) (mean, low, high float64) {
	var sum, squares float64
	for _, r := range recalls {
		sum += r
		squares += r * r
	}
	n := float64(len(recalls))
	mean = sum / n
	low, high = meanInterval(mean, squares/n-mean*mean, n, most)
	return mean, low, high
}

// meanInterval is a 95% confidence interval of the mean of values in [0, 1], from n
// independent ones with this mean and variance: that of Clopper and Pearson for a share,
// with the number of trials that gives a share the variance seen (Korn and Graubard 1998,
// Survey Methodology 24): at most n most, for shares of most atoms each, and n if all values
// are 0 or all are 1.
func meanInterval(mean, variance, n, most float64) (low, high float64) {
	trials := n
	if spread := mean * (1 - mean); spread > 0 && n > 1 {
		trials = min(spread*(n-1)/max(variance, spread*1e-6), n*most)
	}
	hits := mean * trials
	high = 1
	if hits > 0 {
		low = distuv.Beta{Alpha: hits, Beta: trials - hits + 1}.Quantile(.025)
	}
	if hits < trials {
		high = distuv.Beta{Alpha: hits + 1, Beta: trials - hits}.Quantile(.975)
	}
	return min(low, mean), max(high, mean)
}
