package worker

import (
	"context"
	"errors"

	"thresher/dataset"
	"thresher/tasks"
)

// pursuit writes the rows of the array signals as sums of atoms.
func (c *call) pursuit(ctx context.Context) (any, *reply, error) {
	var f struct {
		Handle int64 `json:"handle"`
		tasks.PursuitOptions
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	a, err := c.matrix("signals", float32s, float64s)
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	v, err := c.hold(ctx, f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	if a.Shape[1] != int64(v.Dim) {
		return nil, nil, wrong("signals", "%d columns; the vectors have %d", a.Shape[1], v.Dim).within(v.Dim)
	}
	narrow, wide, err := a.floats()
	if err != nil {
		return nil, nil, err
	}
	p, err := tasks.NewPursuit(v.Collection, v.coalescer, f.PursuitOptions)
	if err != nil {
		return nil, nil, err
	}
	m := a.Shape[0]
	if err := c.fits("terms", int64(p.Chunk())*p.SignalBytes()); err != nil {
		return nil, nil, err
	}
	t := termColumns{lims: make([]int64, m+1)}
	visit := func(terms []dataset.Term) error {
		t.add(terms)
		c.report("pursuing", p.Counts().Signals, m)
		return c.fits("terms", 2*termBytes*int64(len(t.rows)))
	}
	if wide != nil {
		err = p.AllFloat64(ctx, wide, visit)
	} else {
		err = p.All(ctx, narrow, visit)
	}
	if errors.Is(err, tasks.ErrUnfinished) {
		return nil, nil, &failure{Kind: pastDeadline, Message: "the deadline passed before all terms were found"}
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range m {
		t.lims[i+1] += t.lims[i]
	}
	n := int64(len(t.rows))
	out, err := replyOf(c.s.link.passes(), []column{{"lims", int64s, []int64{m + 1}}, {"rows", int64s, []int64{n}}, {"coefficients", float64s, []int64{n}}, {"residuals", float64s, []int64{n}}, {"pulls", int64s, []int64{n}}},
		bytesOf(t.lims), bytesOf(t.rows), bytesOf(t.coefficients), bytesOf(t.residuals), bytesOf(t.pulls))
	summary := p.Summary()
	return struct {
		*tasks.PursuitSummary
		Warnings []string `json:"warnings"` // [] for none
	}{summary, listed(summary.Warnings)}, out, err
}

// termBytes is the memory of a term in a reply.
const termBytes = 4 * 8

// termColumns are the terms of signals one after the other. lims[i+1] is the number of those of signal i, until they are summed.
type termColumns struct {
	lims, rows, pulls       []int64
	coefficients, residuals []float64
}

func (t *termColumns) add(terms []dataset.Term) {
	for i := range terms {
		m := &terms[i]
		t.lims[m.Signal+1]++
		t.rows, t.pulls = append(t.rows, m.Row), append(t.pulls, m.Pulls)
		t.coefficients, t.residuals = append(t.coefficients, m.Coefficient), append(t.residuals, m.Residual)
	}
}
