package report

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/tasks"
	"thresher/verify"
)

const (
	maxMisses     = 5 // answers of a file whose neighbours are shown
	maxNeighbours = 5 // of each kind
)

// StatedAnswers are answers of another program to the queries of a sample.
type StatedAnswers struct {
	Name    string
	K       int              // vectors wanted of each, at most those that the sample's request asks for
	Results []dataset.Result // one a query of the sample; Query is its number in the file, Rows are row numbers
	Seconds float64          // a query; 0 if not known
}

// Display is what readers see of vectors and queries besides numbers.
type Display struct {
	ID     func(row int64) string                              // of a vector; nil if it has none but the row number
	Vector func(row int64) (Shown, error)                      // nil for nothing
	Query  func(number int64, values []float64) (Shown, error) // of the query of a number in its file; nil for nothing
}

// Compare compares stated answers with what Search found, by c, a new comparison of answers of of.K atoms. Errors are
// those of [tasks.Recall] and of show.
func (s *Sample) Compare(ctx context.Context, c *tasks.Comparison, of *StatedAnswers, show *Display) (*Answers, error) {
	a := &Answers{Name: of.Name, Seconds: of.Seconds}
	compared := make([]tasks.Compared, 0, len(s.found))
	var err error
	if a.RecallSummary, err = tasks.Recall(ctx, c, s.parts(of), func(c *tasks.Compared) error {
		compared = append(compared, *c)
		return nil
	}); err != nil {
		return nil, err
	}
	a.Hardness = s.groups(compared)
	for _, j := range worst(compared) {
		m, err := s.miss(j, &compared[j], of, show)
		if err != nil {
			return nil, err
		}
		a.Missed = append(a.Missed, *m)
	}
	return a, nil
}

// parts streams the queries with what was found and what is stated.
func (s *Sample) parts(of *StatedAnswers) tasks.Parts {
	return func(yield func(*tasks.Part, error) bool) {
		for lo := 0; lo < len(s.found); lo += maxPart {
			hi := min(lo+maxPart, len(s.found))
			req, err := s.part(lo, hi)
			if err != nil {
				yield(nil, err)
				return
			}
			req.K = of.K
			p := &tasks.Part{Request: &req, Stated: of.Results[lo:hi]}
			for _, best := range s.found[lo:hi] {
				best.IDs = best.IDs[:min(of.K, len(best.IDs))]
				p.Proven = append(p.Proven, best)
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// groups are the recalls of queries by how hard these are.
func (s *Sample) groups(compared []tasks.Compared) (all []Group) {
	certificates := make([]batch.Certificate, len(s.found))
	for j := range certificates {
		certificates[j] = *s.certificate(j)
	}
	left := func(j int) int { return certificates[j].Looks[0].Survivors }
	for _, of := range hardness(certificates) {
		var recalls []float64
		wanted := 0
		for _, j := range of {
			if compared[j].Wanted > 0 {
				recalls, wanted = append(recalls, compared[j].Recall), wanted+compared[j].Wanted
			}
		}
		if recalls == nil {
			continue
		}
		g := Group{From: left(of[0]), To: left(of[len(of)-1]), Queries: int64(len(of))}
		g.Recall, g.Low, g.High = verify.RecallInterval(recalls, float64(wanted)/float64(len(recalls)))
		all = append(all, g)
	}
	return all
}

// worst returns the places of some answers that lack the most, the worst first.
func worst(compared []tasks.Compared) []int {
	var lacking []int
	for j := range compared {
		if len(compared[j].Missed) > 0 {
			lacking = append(lacking, j)
		}
	}
	slices.SortStableFunc(lacking, func(i, j int) int { return cmp.Compare(compared[i].Recall, compared[j].Recall) })
	return lacking[:min(len(lacking), maxMisses)]
}

// miss describes the answer to query j of the sample, which lacks atoms.
func (s *Sample) miss(j int, c *tasks.Compared, of *StatedAnswers, show *Display) (m *Miss, err error) {
	m = &Miss{Query: c.Query, Recall: c.Recall}
	if s.IDs != nil {
		m.ID = s.IDs[j]
	}
	if show.Query != nil {
		if m.Shown, err = show.Query(c.Query, s.values(j)); err != nil {
			return nil, err
		}
	}
	best := s.found[j].IDs[:min(of.K, len(s.found[j].IDs))]
	if m.Lacked, err = s.neighbours(j, c.Missed, best, show); err != nil {
		return nil, err
	}
	stated := of.Results[j].Rows
	m.Instead, err = s.neighbours(j, s.instead(j, best, stated[:min(of.K, len(stated))]), best, show)
	return m, err
}

// instead are the rows of an answer to query j of the sample that stand in the place of one of the best: each once, none
// that ties with the last of these, and not the query itself.
func (s *Sample) instead(j int, best, rows []int64) (worse []int64) {
	seen := map[int64]bool{}
	if s.Request.ExcludeSelf {
		seen[s.Numbers[j]] = true
	}
	for _, row := range best {
		seen[row] = true
	}
	others := []int64{best[len(best)-1]}
	for _, row := range rows {
		if !seen[row] {
			others = append(others, row)
		}
		seen[row] = true
	}
	scores := s.scores(j, others)
	for i, row := range others {
		if scores[i] < scores[0] {
			worse = append(worse, row)
		}
	}
	return worse
}

// neighbours describes some rows as neighbours of query j of the sample, whose best are known.
func (s *Sample) neighbours(j int, rows, best []int64, show *Display) ([]Neighbour, error) {
	rows = rows[:min(len(rows), maxNeighbours)]
	stated := make([]float64, len(rows))
	collection.ShowAll(s.Atoms.Metric, stated, s.scores(j, rows))
	all := make([]Neighbour, len(rows))
	for i, row := range rows {
		n := Neighbour{ID: strconv.FormatInt(row, 10), Rank: 1 + slices.Index(best, row), Score: stated[i]}
		if show.ID != nil {
			n.ID = show.ID(row)
		}
		if show.Vector != nil {
			var err error
			if n.Shown, err = show.Vector(row); err != nil {
				return nil, err
			}
		}
		all[i] = n
	}
	return all, nil
}
