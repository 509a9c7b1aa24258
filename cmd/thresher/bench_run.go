package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/cli"
	"thresher/internal/machine"
	"thresher/verify"
)

// bench measures methods on one set of vectors.
type bench struct {
	*app
	flags     *benchFlags
	backend   backend.Backend
	threads   int
	costs     *backend.Costs // nil: the backend's
	data      *benchData
	rows      benchTable
	published batch.Published // of banditmips
}

// engine builds the collection for a method and opens an engine on it; the caller calls
// the returned closer.
func (b *bench) engine(ctx context.Context, m batch.Method, basis collection.Basis) (*batch.Engine, *collection.Collection, func() error, error) {
	o, err := b.buildOptions(m)
	if err != nil {
		return nil, nil, nil, err
	}
	o.Basis, o.Metric = basis, b.data.metric
	p := b.NewProgress("preparing " + b.data.name)
	o.Progress = p.Set
	c, err := collection.Build(ctx, b.data.atoms, b.data.d, o)
	p.Done()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", b.data.name, err)
	}
	e, err := batch.Open(ctx, c, b.backend, &batch.Options{Costs: b.costs, Spare: machine.SpareFor})
	if err != nil {
		return nil, nil, nil, errors.Join(err, c.Close())
	}
	return e, c, func() error { return errors.Join(e.Close(), c.Close()) }, nil
}

// pulls counts the coordinates and bytes that each method reads.
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
			row, resp, err := b.search(ctx, e, contestant{method: x.method}, k)
			if err == nil {
				err = b.check(ctx, []*benchRow{&row}, []*batch.Response{resp})
			}
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

// contestant is a method and plan to be measured.
type contestant struct {
	method batch.Method
	plan   string // "" is the planner's
}

func (b *bench) request(c contestant, k int) batch.Request {
	req := batch.Request{Queries: b.data.queries, K: k, Delta: b.Config.Delta, Method: c.method, Plan: c.plan}
	if c.method == batch.BanditMIPS {
		req.Published = b.published
	}
	return req
}

// search answers all queries once. If the method refuses the data, the row has the reason
// and the response is nil.
func (b *bench) search(ctx context.Context, e *batch.Engine, c contestant, k int) (benchRow, *batch.Response, error) {
	row := benchRow{Data: b.data.name, Vectors: b.data.n, Dim: b.data.d, Queries: b.data.m, K: min(k, b.data.n), Method: c.method, Wrong: -1}
	resp, err := e.Search(ctx, b.request(c, row.K))
	var refused *batch.RequestError
	if errors.As(err, &refused) || errors.Is(err, backend.ErrRuleUnsupported) {
		row.Refused = err.Error()
		return row, nil, nil
	}
	if err != nil {
		return row, nil, err
	}
	row.Saving = resp.Stats.Saving()
	row.BytesSaving = 4 * float64(resp.Stats.DensePulls) / math.Max(1, float64(resp.Stats.Bytes))
	row.Rows = float64(resp.Stats.RowsScored) / float64(b.data.m)
	row.Survivors = survivors(resp, b.data.n)
	return row, resp, nil
}

// survivors returns the mean share of the n atoms left after each look.
func survivors(resp *batch.Response, n int) []float64 {
	var left []float64
	for i := range resp.Answers {
		for k, l := range resp.Answers[i].Certificate.Looks {
			if k == len(left) {
				left = append(left, 0)
			}
			left[k] += float64(l.Survivors) / float64(n*len(resp.Answers))
		}
	}
	return left
}

// check sets rows[i].Wrong to the number of wrong answers in resps[i]. It scores every
// atom in float64 once for all of them, which for many atoms takes longer than any search.
func (b *bench) check(ctx context.Context, rows []*benchRow, resps []*batch.Response) error {
	checks := make([]*verify.Check, len(rows)) // nil: no answers to check
	answered := false
	for i, r := range resps {
		if r == nil {
			continue
		}
		var err error
		if checks[i], err = verify.NewCheck(b.data.oracle, batch.Request{K: rows[i].K}); err != nil {
			return err
		}
		rows[i].Wrong, answered = 0, true
	}
	if !answered {
		return nil
	}
	p := b.NewProgress("checking " + b.data.name)
	defer p.Done()
	var mu sync.Mutex
	done := int64(0)
	return b.data.oracle.Each(ctx, b.data.queries, func(j int, s *verify.Scores) {
		wrong := make([]int, len(rows))
		for i, c := range checks {
			if c == nil {
				continue
			}
			if f := c.Answer(s, int64(j), &resps[i].Answers[j]); f.Malformed != "" || len(f.Missed) > 0 {
				wrong[i] = 1
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, n := range wrong {
			rows[i].Wrong += n
		}
		done++
		p.Set(done, int64(b.data.m))
	})
}

// times measures the methods alternately, round after round, so that other load on the
// machine affects all of them.
func (b *bench) times(ctx context.Context) error {
	e, c, free, err := b.engine(ctx, batch.Auto, collection.Rotated)
	if err != nil {
		return err
	}
	for _, k := range b.flags.ks {
		rows, err := b.interleaved(ctx, e, []contestant{{method: batch.Exact}, {method: batch.Adaptive}, {method: batch.Certain}, {method: batch.Auto}}, k)
		if err != nil {
			return errors.Join(err, free())
		}
		for _, row := range rows {
			row.Basis = c.Basis.String()
			if err := b.rows.add(row); err != nil {
				return errors.Join(err, free())
			}
		}
	}
	return free()
}

// interleaved times the contestants alternately. The first is the baseline of the others.
func (b *bench) interleaved(ctx context.Context, e *batch.Engine, all []contestant, k int) ([]benchRow, error) {
	rows := make([]benchRow, len(all))
	times := make([]int, len(all)) // searches in a round
	took, busy := make([][]float64, len(all)), make([][]float64, len(all))
	checked, resps := make([]*benchRow, len(all)), make([]*batch.Response, len(all))
	for i, c := range all { // untimed: warms up and gives the answers to check
		var err error
		if rows[i], resps[i], err = b.search(ctx, e, c, k); err != nil {
			return nil, err
		}
		checked[i] = &rows[i]
		seconds, _, err := b.timed(ctx, e, b.request(c, rows[i].K), 1)
		if err != nil && rows[i].Refused == "" {
			return nil, err
		}
		times[i] = 1 + int(minTimed/max(seconds, minTimed/maxTimed))
	}
	if err := b.check(ctx, checked, resps); err != nil {
		return nil, err
	}
	for range b.flags.repeats {
		for i, c := range all {
			if rows[i].Refused != "" {
				continue
			}
			seconds, processor, err := b.timed(ctx, e, b.request(c, rows[i].K), times[i])
			if err != nil {
				return nil, err
			}
			took[i], busy[i] = append(took[i], seconds), append(busy[i], processor)
		}
	}
	for i := range rows {
		if rows[i].Refused != "" {
			continue
		}
		ratios := make([]float64, len(took[i]))
		for r := range ratios {
			ratios[r] = took[0][r] / took[i][r]
		}
		rows[i].Seconds, rows[i].Ratio = median(took[i]), median(ratios)
		rows[i].Measured = median(busy[i]) * 1e9 / (float64(b.data.n) * float64(b.data.m))
	}
	return rows, nil
}

// Searches shorter than minTimed seconds are repeated, maxTimed times at most,
// and timed together.
const (
	minTimed = .02
	maxTimed = 50
)

// timed searches n times and returns the mean wall-clock and processor seconds of a search.
// If the system does not report processor time, it is the wall-clock time of all threads.
func (b *bench) timed(ctx context.Context, e *batch.Engine, req batch.Request, n int) (seconds, processor float64, err error) {
	begun := time.Now()
	before, told := processorTime()
	for range n {
		if _, err := e.Search(ctx, req); err != nil {
			return 0, 0, err
		}
	}
	seconds = time.Since(begun).Seconds() / float64(n)
	processor = seconds * float64(b.threads)
	if after, _ := processorTime(); told {
		processor = (after - before).Seconds() / float64(n)
	}
	return seconds, processor, ctx.Err()
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// rowsTable prints rows as a table, jsonTable as JSON lines.
type rowsTable struct {
	*cli.Table
	cells func(benchRow) []any
}

func (t rowsTable) add(r benchRow) error {
	if r.Refused != "" {
		t.Row(r.Data, r.Method, r.Basis, r.K, "refused: "+r.Refused)
		return nil
	}
	t.Row(append([]any{r.Data, r.Method, r.Basis, r.K}, t.cells(r)...)...)
	return nil
}

type jsonTable struct{ *json.Encoder }

func (t jsonTable) add(r benchRow) error { return t.Encode(r) }
func (t jsonTable) Flush() error         { return nil }

func newPullsTable(w io.Writer, asJSON bool) benchTable {
	if asJSON {
		return jsonTable{json.NewEncoder(w)}
	}
	t := rowsTable{cli.NewTable(w), func(r benchRow) []any {
		return []any{fmt.Sprintf("%.2f", r.Saving), fmt.Sprintf("%.2f", r.BytesSaving), fmt.Sprintf("%.1f", r.Rows), fmt.Sprintf("%d/%d", r.Wrong, r.Queries)}
	}}
	t.Row("DATA", "METHOD", "BASIS", "K", "COORDINATES SAVED", "BYTES SAVED", "ROWS SCORED", "WRONG SETS")
	return t
}

func newTimesTable(w io.Writer, asJSON bool) benchTable {
	if asJSON {
		return jsonTable{json.NewEncoder(w)}
	}
	t := rowsTable{cli.NewTable(w), func(r benchRow) []any {
		return []any{fmt.Sprintf("%.4g", r.Seconds), fmt.Sprintf("%.2f", r.Ratio), fmt.Sprintf("%.2f", r.Saving), fmt.Sprintf("%d/%d", r.Wrong, r.Queries)}
	}}
	t.Row("DATA", "METHOD", "BASIS", "K", "SECONDS", "FASTER THAN EXACT", "COORDINATES SAVED", "WRONG SETS")
	return t
}
