package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
)

// bench measures on one set of vectors.
type bench struct {
	*app
	flags   *benchFlags
	backend backend.Backend
	data    *benchData
	rows    benchTable
}

// engine makes the vectors ready for a method; the caller calls the closer.
func (b *bench) engine(ctx context.Context, m batch.Method, basis collection.Basis) (*batch.Engine, *collection.Collection, func() error, error) {
	o, err := b.buildOptions(m)
	if err != nil {
		return nil, nil, nil, err
	}
	o.Basis = basis
	p := b.newProgress("preparing " + b.data.name)
	o.Progress = p.set
	c, err := collection.Build(ctx, b.data.atoms, b.data.d, o)
	p.done()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", b.data.name, err)
	}
	e, err := batch.Open(ctx, c, b.backend, nil)
	if err != nil {
		return nil, nil, nil, errors.Join(err, c.Close())
	}
	return e, c, func() error { return errors.Join(e.Close(), c.Close()) }, nil
}

// pulls counts what each method reads.
func (b *bench) pulls(ctx context.Context) error {
	for _, x := range []struct {
		method batch.Method
		basis  collection.Basis
	}{
		{batch.PrefixF32, collection.Rotated},
		{batch.Strict, collection.Raw},
		{batch.Certain, collection.Raw},
		{batch.BanditMIPS, collection.Raw},
		{batch.Adaptive, collection.Rotated},
		{batch.Certain, collection.Rotated},
	} {
		e, c, free, err := b.engine(ctx, x.method, x.basis)
		if err != nil {
			return err
		}
		for _, k := range b.flags.ks {
			row, _, err := b.search(ctx, e, x.method, k)
			if err == nil {
				row.Basis = c.Basis.String()
				err = b.rows.add(row)
			}
			if err != nil {
				return errors.Join(err, free())
			}
		}
		if err := free(); err != nil {
			return err
		}
	}
	return nil
}

// search answers all queries once. A method that refuses the data gives a row
// that says so.
func (b *bench) search(ctx context.Context, e *batch.Engine, m batch.Method, k int) (benchRow, time.Duration, error) {
	row := benchRow{Data: b.data.name, Atoms: b.data.n, Dim: b.data.d, Queries: b.data.m, K: min(k, b.data.n), Method: m, Wrong: -1}
	begun := time.Now()
	resp, err := e.Search(ctx, batch.Request{Queries: b.data.queries, K: row.K, Delta: b.config.Delta, Method: m, Sigma: b.flags.sigma})
	took := time.Since(begun)
	var refused *batch.RequestError
	if errors.As(err, &refused) || errors.Is(err, backend.ErrRuleUnsupported) {
		row.Refused = err.Error()
		return row, took, nil
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return row, took, err
	}
	row.Saving = resp.Stats.Saving()
	row.BytesSaving = 4 * float64(resp.Stats.DensePulls) / math.Max(1, float64(resp.Stats.Bytes))
	row.Rows = float64(resp.Stats.RowsScored) / float64(b.data.m)
	row.Wrong, err = b.wrong(ctx, resp, row.K)
	return row, took, err
}

// wrong counts the answers that the oracle does not agree with.
func (b *bench) wrong(ctx context.Context, resp *batch.Response, k int) (int, error) {
	c := check{oracle: b.data.oracle, k: k}
	var wrong atomic.Int64
	err := c.oracle.each(ctx, b.data.queries, func(j int, s scored) {
		a := resp.Answers[j]
		g := given{query: int64(j), ids: a.IDs, scores: a.Scores}
		f, _ := c.one(g, b.data.queries[j*b.data.d:(j+1)*b.data.d], s, nil)
		if f.wrong || f.malformed != "" {
			wrong.Add(1)
		}
	})
	return int(wrong.Load()), err
}

// times measures methods in turn, round after round, so that whatever slows
// the machine down slows all of them.
func (b *bench) times(ctx context.Context) error {
	e, c, free, err := b.engine(ctx, batch.Auto, collection.Rotated)
	if err != nil {
		return err
	}
	methods := []batch.Method{batch.Exact, batch.Adaptive, batch.Certain, batch.Auto}
	for _, k := range b.flags.ks {
		if err := b.timesAt(ctx, e, c.Basis.String(), methods, k); err != nil {
			return errors.Join(err, free())
		}
	}
	return free()
}

// timesAt takes the first method as the one that others are compared with.
func (b *bench) timesAt(ctx context.Context, e *batch.Engine, basis string, methods []batch.Method, k int) error {
	rows := make([]benchRow, len(methods))
	took := make([][]float64, len(methods))
	for i, m := range methods { // unmeasured: warms up, and counts wrong sets
		row, _, err := b.search(ctx, e, m, k)
		if err != nil {
			return err
		}
		row.Basis = basis
		rows[i] = row
	}
	for range b.flags.repeats {
		for i, m := range methods {
			if rows[i].Refused != "" {
				continue
			}
			begun := time.Now()
			_, err := e.Search(ctx, batch.Request{Queries: b.data.queries, K: rows[i].K, Delta: b.config.Delta, Method: m})
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(begun).Seconds())
		}
	}
	for i := range rows {
		if rows[i].Refused == "" {
			ratios := make([]float64, len(took[i]))
			for r := range ratios {
				ratios[r] = took[0][r] / took[i][r]
			}
			rows[i].Seconds, rows[i].Ratio = median(took[i]), median(ratios)
		}
		if err := b.rows.add(rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// rowsTable prints rows for people, jsonTable for programs.
type rowsTable struct {
	*table
	cells func(benchRow) []any
}

func (t rowsTable) add(r benchRow) error {
	if r.Refused != "" {
		t.row(r.Data, r.Method, r.Basis, r.K, "refused: "+r.Refused)
		return nil
	}
	t.row(append([]any{r.Data, r.Method, r.Basis, r.K}, t.cells(r)...)...)
	return nil
}

type jsonTable struct{ *json.Encoder }

func (t jsonTable) add(r benchRow) error { return t.Encode(r) }
func (t jsonTable) flush() error         { return nil }

func newPullsTable(w io.Writer, asJSON bool) benchTable {
	if asJSON {
		return jsonTable{json.NewEncoder(w)}
	}
	t := rowsTable{newTable(w), func(r benchRow) []any {
		return []any{fmt.Sprintf("%.2f", r.Saving), fmt.Sprintf("%.2f", r.BytesSaving), fmt.Sprintf("%.1f", r.Rows), fmt.Sprintf("%d/%d", r.Wrong, r.Queries)}
	}}
	t.row("DATA", "METHOD", "BASIS", "K", "COORDINATES SAVED", "BYTES SAVED", "ROWS SCORED", "WRONG SETS")
	return t
}

func newTimesTable(w io.Writer, asJSON bool) benchTable {
	if asJSON {
		return jsonTable{json.NewEncoder(w)}
	}
	t := rowsTable{newTable(w), func(r benchRow) []any {
		return []any{fmt.Sprintf("%.4g", r.Seconds), fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%.2f", r.Saving), fmt.Sprintf("%d/%d", r.Wrong, r.Queries)}
	}}
	t.row("DATA", "METHOD", "BASIS", "K", "SECONDS", "FASTER THAN EXACT", "COORDINATES SAVED", "WRONG SETS")
	return t
}
