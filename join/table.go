package join

import (
	"cmp"
	"slices"

	"thresher/collection"
	"thresher/dataset"
)

// table holds the k best atoms of each row so far: by score, then by ascending row number.
type table struct {
	k      int
	counts []uint32
	scores []float64 // search scores, [rows][k]; of a row a heap, worst first
	ids    []uint32
}

// tableBytes is the memory of a table.
func tableBytes(n, k int) float64 { return float64(n) * (4 + 12*float64(k)) }

func newTable(n, k int) *table {
	return &table{k: k, counts: make([]uint32, n), scores: make([]float64, n*k), ids: make([]uint32, n*k)}
}

// worse reports whether a score and atom come after another in a row.
func worse(score float64, id uint32, than float64, thanID uint32) bool {
	return score < than || score == than && id > thanID
}

// wants reports whether push would add an atom to a row.
func (t *table) wants(row, id uint32, score float64) bool {
	at := int(row) * t.k
	return int(t.counts[row]) < t.k || worse(t.scores[at], t.ids[at], score, id)
}

// push adds an atom that is not in a row, if it is among its k best.
func (t *table) push(row, id uint32, score float64) {
	if !t.wants(row, id, score) {
		return
	}
	n := int(t.counts[row])
	scores, ids := t.scores[int(row)*t.k:][:t.k], t.ids[int(row)*t.k:][:t.k]
	if n < t.k {
		t.counts[row]++
		i := n
		for i > 0 {
			up := (i - 1) / 2
			if !worse(score, id, scores[up], ids[up]) {
				break
			}
			scores[i], ids[i] = scores[up], ids[up]
			i = up
		}
		scores[i], ids[i] = score, id
		return
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && worse(scores[down+1], ids[down+1], scores[down], ids[down]) {
			down++
		}
		if !worse(scores[down], ids[down], score, id) {
			break
		}
		scores[i], ids[i] = scores[down], ids[down]
		i = down
	}
	scores[i], ids[i] = score, id
}

// each calls do with each row, best atom first and scores as users see them. It is a
// dataset.EachResult.
func (t *table) each(m collection.Metric) dataset.EachResult {
	return func(do func(i int64, r *dataset.Result) error) error {
		r := dataset.Result{Scores64: make([]float64, 0, t.k)}
		order := make([]int, 0, t.k)
		for row := range t.counts {
			at := row * t.k
			order = order[:0]
			for i := range int(t.counts[row]) {
				order = append(order, at+i)
			}
			slices.SortFunc(order, func(a, b int) int {
				return cmp.Or(cmp.Compare(t.scores[b], t.scores[a]), cmp.Compare(t.ids[a], t.ids[b]))
			})
			r.Query, r.Rows, r.Scores, r.Scores64 = int64(row), r.Rows[:0], r.Scores[:0], r.Scores64[:0]
			for _, i := range order {
				score := m.Shown(t.scores[i])
				r.Rows, r.Scores, r.Scores64 = append(r.Rows, int64(t.ids[i])), append(r.Scores, float32(score)), append(r.Scores64, score)
			}
			if err := do(int64(row), &r); err != nil {
				return err
			}
		}
		return nil
	}
}
