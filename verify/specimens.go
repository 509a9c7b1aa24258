package verify

import "fmt"

// Shifted grants that each vector is the one a constant number of rows after the right one. It is nil if that is
// no reason.
func (r *Reasons) Shifted() *Reason {
	by, ok := r.shift()
	if !ok {
		return nil
	}
	var v verdict
	r.each(func(e *specimen) {
		moved := make([]int64, len(e.IDs))
		for i, row := range e.IDs {
			moved[i] = row - by
		}
		v.add(e.lacks, e.left(moved, nil), len(e.Best))
	})
	text := fmt.Sprintf("each vector is %s the right one", rowsApart(by))
	switch by {
	case 1:
		text += ": the ids seem to count from 1"
	case -1:
		text += ": the ids seem to count from 0, and those of the vectors from 1"
	}
	return v.reason(BecauseShifted, text)
}

func rowsApart(by int64) string {
	side := "after"
	if by < 0 {
		side, by = "before", -by
	}
	if by == 1 {
		return "1 row " + side
	}
	return fmt.Sprintf("%d rows %s", by, side)
}

// shift returns the commonest difference, other than none, of a vector of an answer that lacks some and one of
// the best; of equals the smallest.
func (r *Reasons) shift() (by int64, ok bool) {
	counts, most := map[int64]int{}, 0
	for _, e := range r.lacking {
		for _, a := range e.IDs[:min(len(e.IDs), comparedRows)] {
			for _, b := range e.Best[:min(len(e.Best), comparedRows)] {
				if a != b {
					counts[a-b]++
				}
			}
		}
	}
	for d, n := range counts {
		if n > most || n == most && (abs(d) < abs(by) || abs(d) == abs(by) && d > by) {
			by, most = d, n
		}
	}
	return by, most > 0
}

func abs(x int64) int64 { return max(x, -x) }

// claim is the first vectors of an answer that lacks some, and the other query whose best vectors it has most of.
type claim struct {
	query int64
	rows  map[int64]bool
	other int64 // query number
	best  int   // vectors that it has of those of other
	left  int   // that it lacks of them
}

// hold keeps the first vectors of an answer, to be compared with the best of queries to come and of those kept.
func (r *Reasons) hold(e *specimen) {
	e.claim = claim{query: e.Query, rows: map[int64]bool{}}
	for _, row := range e.IDs[:min(len(e.IDs), comparedRows)] {
		if !e.claim.rows[row] {
			e.claim.rows[row] = true
			r.holders[row] = append(r.holders[row], &e.claim)
		}
	}
	r.each(func(other *specimen) { e.claim.compare(other.Query, other.Best) })
}

// match compares the best vectors of a query with the answers kept.
func (r *Reasons) match(s *Specimen) {
	seen := map[*claim]bool{}
	for _, row := range s.Best[:min(len(s.Best), comparedRows)] {
		for _, c := range r.holders[row] {
			if !seen[c] {
				seen[c] = true
				c.compare(s.Query, s.Best)
			}
		}
	}
}

func (c *claim) compare(query int64, best []int64) {
	if query == c.query {
		return
	}
	best = best[:min(len(best), comparedRows)]
	hits := 0
	for _, row := range best {
		if c.rows[row] {
			hits++
		}
	}
	if hits > c.best {
		c.other, c.best, c.left = query, hits, len(best)-hits
	}
}

// minShared is how many vectors an answer must share with the best of another query to be taken for its
// answer: of few vectors there are often other queries that they are the best of.
const minShared = 3

// permuted grants that answers are those of other queries.
func (r *Reasons) permuted() *Reason {
	var v verdict
	apart, example := map[int64]int{}, -1
	for at, e := range r.lacking {
		left := e.claim.left
		if e.claim.best < min(minShared, len(e.Best)) || e.claim.best == 0 {
			left = e.lacks
		}
		v.add(e.lacks, min(left, e.lacks), len(e.Best))
		if 10*left > e.lacks {
			continue
		}
		apart[e.claim.other-e.Query]++
		if example < 0 {
			example = at
		}
	}
	if example < 0 {
		return nil
	}
	e := r.lacking[example]
	text := fmt.Sprintf("they are answers to other queries, that to query %d for instance to query %d: queries or answers seem to be in another order", e.Query, e.claim.other)
	by := e.claim.other - e.Query
	for one, n := range apart {
		if n > apart[by] {
			by = one
		}
	}
	constant := 10*apart[by] >= 9*v.explained && apart[by] >= minShared
	if constant {
		text = fmt.Sprintf("each is the answer to the query %s its own", rowsApart(by))
	}
	if !constant && r.few() {
		return nil
	}
	return v.reason(BecauseOrder, text)
}

// few reports whether the queries want so few vectors that answers are often those of others by chance.
func (r *Reasons) few() bool {
	n := 0
	for _, e := range r.lacking {
		if len(e.Best) < minShared {
			n++
		}
	}
	return 2*n > len(r.lacking)
}

// absence counts vectors that no answer has.
type absence struct {
	// missed says of rows that an answer lacked whether a later one had them.
	missed map[int64]bool
	// again and found count how often such rows were missed, and had, later.
	again, found  int64
	wanted, lacks int64 // vectors, of all answers
	highest       int64 // row of all answers
}

// maxAbsent bounds the rows that absence remembers.
const maxAbsent = 1 << 14

func (a *absence) add(s *Specimen) {
	for _, row := range s.IDs {
		a.highest = max(a.highest, row)
	}
	missed := make(map[int64]bool, len(s.Missed))
	for _, row := range s.Missed {
		missed[row] = true
	}
	a.wanted, a.lacks = a.wanted+int64(len(s.Best)), a.lacks+int64(len(s.Missed))
	for _, row := range s.Best {
		switch _, known := a.missed[row]; {
		case known && missed[row]:
			a.again++
		case known:
			a.found++
			a.missed[row] = true
		case missed[row] && len(a.missed) < maxAbsent:
			a.missed[row] = false
		}
	}
}

// minAbsent is how many vectors must have been missed for absence to be a reason: each of them is missed by
// chance with probability 1/2 at most.
const minAbsent = 10

// lacked grants that the other program lacks rows: those from some row on, or others that are missed whenever
// they are wanted.
func (r *Reasons) lacked() *Reason {
	a, n := &r.absent, int64(r.oracle.n)
	if 2*a.lacks > a.wanted { // which has other reasons
		return nil
	}
	beyond := 0
	for row := range a.missed {
		if row > a.highest {
			beyond++
		}
	}
	var text string
	var absent func(row int64) bool
	switch {
	case beyond >= minAbsent && 10*beyond >= 9*len(a.missed) && 2*(a.highest+1) >= n:
		text = fmt.Sprintf("no answer has a row above %d, and what answers lack is among the %d after it: the other program seems to lack the last vectors", a.highest, n-a.highest-1)
		absent = func(row int64) bool { return row > a.highest }
	case a.again >= minAbsent && 20*a.found <= a.again:
		text = fmt.Sprintf("vectors that one answer lacks are lacked by later ones too (%d times of %d): the other program seems to lack them, or not to reach them", a.again, a.again+a.found)
		absent = func(row int64) bool { later, known := a.missed[row]; return known && !later }
	default:
		return nil
	}
	var v verdict
	for _, e := range r.lacking {
		left := 0
		for _, row := range e.Missed {
			if !absent(row) {
				left++
			}
		}
		v.add(e.lacks, left, len(e.Best))
	}
	return v.stated(BecauseAbsent, text)
}
