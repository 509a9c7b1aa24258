package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thresher/dataset"
)

// gather collects the k best vectors of all answers, in order.
func (m *merger) gather() error {
	m.hits, m.fronts = m.hits[:0], m.fronts[:0]
	clear(m.byID)
	clear(m.byRow)
	m.at = append(m.at[:0], make([]int, len(m.files))...)
	for file := range m.answers {
		if err := m.check(file); err != nil {
			return err
		}
		m.advance(file)
	}
	for len(m.fronts) > 0 && (m.k == 0 || len(m.hits) < m.k) {
		if err := m.takeTied(); err != nil {
			return err
		}
	}
	if m.k > 0 && len(m.hits) > m.k {
		m.hits = m.hits[:m.k]
	}
	return nil
}

// check refuses an answer that cannot be merged.
func (m *merger) check(file int) error {
	a, name := &m.answers[file], m.files[file].Name
	n := a.Found()
	switch {
	case n == 0:
		return nil
	case len(a.Scores64) != n && len(a.Scores) != n:
		return fmt.Errorf("%s has no scores to merge by", name)
	case m.offsets == nil && len(a.IDs) != n:
		return fmt.Errorf("%s has row numbers alone, which do not tell its vectors from those of %s; state the number of each file's first row (offsets), or search vectors that have ids", name, m.other(file))
	case m.offsets != nil && len(a.Rows) != n:
		return fmt.Errorf("%s has no row numbers that an offset could be added to", name)
	}
	for j := range n {
		score := m.score(file, j)
		if score-score != 0 {
			return fmt.Errorf("%s has a vector without a finite score", name)
		}
		if j > 0 && m.better(score, m.score(file, j-1)) {
			return fmt.Errorf("the scores of %s are not in the order of metric %s, best first", name, m.metric)
		}
	}
	return nil
}

// score is the score of vector j of one file's answer.
func (m *merger) score(file, j int) float64 {
	if a := &m.answers[file]; a.Scores64 != nil {
		return a.Scores64[j]
	}
	return float64(m.answers[file].Scores[j])
}

// advance puts a file among the fronts, by the score of its next vector, if it has one.
func (m *merger) advance(file int) {
	if m.at[file] == m.answers[file].Found() {
		return
	}
	score := m.score(file, m.at[file])
	i, _ := slices.BinarySearchFunc(m.fronts, score, func(front int, score float64) int {
		if m.better(m.score(front, m.at[front]), score) {
			return -1
		}
		return 1
	})
	m.fronts = slices.Insert(m.fronts, i, file)
}

// takeTied takes all vectors that have the best score left, in their order.
func (m *merger) takeTied() error {
	first := len(m.hits)
	best := m.score(m.fronts[0], m.at[m.fronts[0]])
	for len(m.fronts) > 0 && m.score(m.fronts[0], m.at[m.fronts[0]]) == best {
		file := m.fronts[0]
		m.fronts = slices.Delete(m.fronts, 0, 1)
		for ; m.at[file] < m.answers[file].Found() && m.score(file, m.at[file]) == best; m.at[file]++ {
			if err := m.take(file, best); err != nil {
				return err
			}
		}
		m.advance(file)
	}
	if tied := m.hits[first:]; len(tied) > 1 {
		slices.SortFunc(tied, m.compareTied)
	}
	return nil
}

// take takes the next vector of a file.
func (m *merger) take(file int, score float64) error {
	a, j := &m.answers[file], m.at[file]
	h := hit{score: score, row: -1, file: file, at: j}
	if a.IDs != nil {
		h.id = a.IDs[j]
	}
	var before int
	var known bool
	if m.offsets != nil {
		if h.row = a.Rows[j] + m.offsets[file]; h.row < 0 {
			return fmt.Errorf("row %d of %s and offset %d exceed the numbers of rows", a.Rows[j], m.files[file].Name, m.offsets[file])
		}
		before, known = m.byRow[h.row]
		m.byRow[h.row] = file
	} else {
		before, known = m.byID[h.id]
		m.byID[h.id] = file
	}
	if known {
		return m.twice(&h, before)
	}
	m.hits = append(m.hits, h)
	return nil
}

// other is the name of a file beside one.
func (m *merger) other(file int) string {
	if len(m.files) == 1 {
		return "other files"
	}
	return m.files[(file+1)%len(m.files)].Name
}

// twice is the error of a vector that two answers have.
func (m *merger) twice(h *hit, before int) error {
	which := fmt.Sprintf("vector %q", h.id)
	if m.offsets != nil {
		which = fmt.Sprintf("row %d", h.row)
	}
	if before == h.file {
		return fmt.Errorf("%s has %s twice", m.files[before].Name, which)
	}
	return fmt.Errorf("%s is in %s and in %s: their vectors overlap", which, m.files[min(before, h.file)].Name, m.files[max(before, h.file)].Name)
}

// better reports whether score a, as shown, is better than b.
func (m *merger) better(a, b float64) bool {
	if m.metric.Differences() {
		return a < b
	}
	return a > b
}

// compareTied orders vectors of equal scores: by row among all, or else by id.
func (m *merger) compareTied(a, b hit) int {
	if m.offsets != nil {
		return cmp.Compare(a.row, b.row)
	}
	return compareIDs(a.id, b.id)
}

// compareIDs orders ids: whole numbers by value, before texts by their bytes.
func compareIDs(a, b string) int {
	x, first := wholeNumber(a)
	y, second := wholeNumber(b)
	switch {
	case first && second:
		return cmp.Compare(x, y)
	case first:
		return -1
	case second:
		return 1
	}
	return strings.Compare(a, b)
}

// wholeNumber returns the number that an id is, if it is one that no other text writes.
func wholeNumber(id string) (uint64, bool) {
	if id == "" || id[0] < '0' || id[0] > '9' || id[0] == '0' && len(id) > 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(id, 10, 64)
	return n, err == nil
}

// fill sets the vectors of a merged answer.
func (m *merger) fill(out *dataset.Result) {
	n := len(m.hits)
	scores64, ids := true, n > 0
	for i := range m.answers {
		a := &m.answers[i]
		some := a.Found() > 0
		scores64 = scores64 && (!some || a.Scores64 != nil)
		ids = ids && (!some || a.IDs != nil)
	}
	out.Scores = make([]float32, n)
	if scores64 {
		out.Scores64 = make([]float64, n)
	}
	if ids {
		out.IDs = make([]string, n)
	}
	if m.offsets != nil {
		out.Rows = make([]int64, n)
	}
	for i := range m.hits {
		h := &m.hits[i]
		a := &m.answers[h.file]
		out.Scores[i] = float32(h.score)
		if a.Scores != nil {
			out.Scores[i] = a.Scores[h.at]
		}
		if scores64 {
			out.Scores64[i] = h.score
		}
		if ids {
			out.IDs[i] = h.id
		}
		if m.offsets != nil {
			out.Rows[i] = h.row
		}
	}
}
