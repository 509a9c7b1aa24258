package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"thresher/batch"
	"thresher/collection"
	"thresher/internal/cli"
)

const (
	// Plans whose predicted cost is at most plansWithin times that of the cheapest are timed,
	// at most plansMost of them.
	plansWithin = 4
	plansMost   = 14

	wholeRows = "whole,rescore"
)

// plans times the plans that may be the best, and the planner's choice.
func (b *bench) plans(ctx context.Context) error {
	e, c, free, err := b.engine(ctx, batch.Auto, collection.Rotated)
	if err != nil {
		return err
	}
	for _, k := range b.flags.ks {
		if err := b.plansAt(ctx, e, c, k); err != nil {
			return errors.Join(err, free())
		}
	}
	return free()
}

func (b *bench) plansAt(ctx context.Context, e *batch.Engine, c *collection.Collection, k int) error {
	forecasts, err := e.Plans(b.request(contestant{method: batch.Auto}, min(k, b.data.n)))
	if err != nil {
		return err
	}
	forecasts = worthTiming(forecasts)
	var all []contestant
	for _, f := range forecasts {
		all = append(all, contestant{f.Method, f.Plan})
	}
	rows, err := b.interleaved(ctx, e, all, k)
	if err != nil {
		return err
	}
	best := 0.
	for i := range rows {
		r, f := &rows[i], forecasts[i]
		r.Basis, r.Plan, r.Method, r.Guarantee, r.Predicted, r.Chosen = c.Basis.String(), f.Plan, f.Method, f.Guarantee, f.Cost, f.Chosen
		if best == 0 || r.Measured < best {
			best = r.Measured
		}
	}
	for _, r := range rows {
		if r.Chosen {
			r.Regret = r.Measured / best
		}
		if err := b.rows.add(r); err != nil {
			return err
		}
	}
	return nil
}

// worthTiming selects the dense scan, which comes first, whole rows, the planner's choice and
// the cheapest of the others, in the order of their costs.
func worthTiming(all []batch.Forecast) []batch.Forecast {
	var dense, kept []batch.Forecast
	for _, f := range all {
		switch {
		case f.Guarantee == batch.GuaranteeExact:
			dense = append(dense, f)
		case f.Chosen || f.Plan == wholeRows || f.Cost < plansWithin*all[0].Cost && len(kept) < plansMost:
			kept = append(kept, f)
		}
	}
	return append(dense, kept...)
}

func newPlansTable(w io.Writer, asJSON bool) benchTable {
	if asJSON {
		return jsonTable{json.NewEncoder(w)}
	}
	t := plansTable{cli.NewTable(w)}
	t.Row("DATA", "K", "PLAN", "GUARANTEE", "PREDICTED", "MEASURED", "FASTER THAN DENSE", "LEFT AFTER LOOKS", "ROWS SCORED", "WRONG SETS", "REGRET")
	return t
}

// plansTable prints plans as a table; the planner's choice has its regret.
type plansTable struct{ *cli.Table }

func (t plansTable) add(r benchRow) error {
	left := make([]string, len(r.Survivors))
	for i, s := range r.Survivors {
		left[i] = fmt.Sprintf("%.2g%%", 100*s)
	}
	regret := ""
	if r.Chosen {
		regret = fmt.Sprintf("%.2f (chosen)", r.Regret)
	}
	t.Row(r.Data, r.K, r.Plan, r.Guarantee, fmt.Sprintf("%.3g", r.Predicted), fmt.Sprintf("%.3g", r.Measured), fmt.Sprintf("%.2f", r.Ratio),
		strings.Join(left, " "), fmt.Sprintf("%.1f", r.Rows), fmt.Sprintf("%d/%d", r.Wrong, r.Queries), regret)
	return nil
}
