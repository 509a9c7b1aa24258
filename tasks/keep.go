package tasks

import (
	"slices"

	"thresher/batch"
)

// keep replaces answer j of a part, whose search was stopped, by the stated one, without the atoms
// that the query may not have: nothing is proven of it, and the best so far may be worse. Its
// certificate holds for it: the bound is raised to what the search found and the stated answer lacks.
func (c *Comparison) keep(p *Part, j int) {
	stopped := &p.Proven[j]
	q := c.query(p.Request, j)
	ids, _, _ := c.allowed(p.Request, j, q, &p.Stated[j], stopped)
	cert := stopped.Certificate
	if cert.OpenBound != nil {
		bound := *cert.OpenBound
		if cert.Threshold != nil {
			bound = max(bound, *cert.Threshold)
		}
		for i, s := range c.searchScores(q, stopped.IDs) {
			if !slices.Contains(ids, stopped.IDs[i]) {
				bound = max(bound, s)
			}
		}
		cert.OpenBound, cert.Threshold = &bound, nil
	}
	kept := batch.Answer{IDs: slices.Clone(ids), Certificate: cert}
	scores := c.searchScores(q, ids)
	for _, s := range scores {
		kept.Scores = append(kept.Scores, float32(c.atoms.metric.Shown(s)))
	}
	if p.Request.SearchScores {
		kept.SearchScores = scores
	}
	p.Proven[j] = kept
}

// searchScores returns the scores of atoms for a query, in the units of the search.
func (c *Comparison) searchScores(q comparedQuery, ids []int64) []float64 {
	scores, rows := make([]float64, len(ids)), make([]uint32, len(ids))
	for i, id := range ids {
		rows[i] = uint32(id)
	}
	c.score(scores, q, rows)
	return scores
}
