package offline

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"thresher/batch"
	"thresher/jobs"
	"thresher/tasks"
)

// answerRequests answers a batch of requests from its last durable chunk to its end, and
// seals it.
func (j *job) answerRequests(rec *record) error {
	src, err := j.openRequests(rec)
	if err != nil {
		return err
	}
	defer src.close()
	w := &requestWork{j: j, rec: rec, watch: j.newWatch(), asker: asker{gate: &j.m.gate, slice: rec.Slice}}
	sum, err := jobs.Run(j.ctx, w.watch.spec(rec), src, w.chunk)
	if err != nil {
		return err
	}
	t, err := decodeTally(sum.Totals)
	if err != nil {
		return err
	}
	if t.Expired > 0 {
		return j.sealAt(Expired, nil, t)
	}
	return j.sealAt(Completed, nil, t)
}

// watch keeps the tally of a run.
type watch struct {
	j    *job
	last time.Time // when the time of work was last counted
	now  tally     // including the chunk that is about to become durable
}

func (j *job) newWatch() *watch { return &watch{j: j, last: time.Now()} }

// spec returns the batch's job; clients see durable progress.
func (w *watch) spec(rec *record) jobs.Spec {
	spec := w.j.spec(rec)
	spec.Observe = func(jobs.Progress) { w.j.observe(w.now) }
	return spec
}

// add counts a chunk and returns the new totals.
func (w *watch) add(totals []byte, chunk tally, searched *tasks.SearchCounts) ([]byte, error) {
	t, err := decodeTally(totals)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	t.Completed += chunk.Completed
	t.Failed += chunk.Failed
	t.Expired += chunk.Expired
	t.Queries += chunk.Queries
	t.Pulls += searched.Pulls
	t.DensePulls += searched.DensePulls
	t.Nanos += int64(now.Sub(w.last))
	w.now, w.last = t, now
	return t.encode()
}

// requestWork answers chunks of requests.
type requestWork struct {
	j     *job
	rec   *record
	watch *watch
	asker
}

// chunk implements jobs.Work.
func (w *requestWork) chunk(ctx context.Context, chunk []*request, first int64, totals []byte) ([][]byte, []byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, context.Cause(ctx)
	}
	w.run = tasks.SearchRun{}
	answers := map[*request]found{}
	late := w.j.expired()
	if !late {
		for _, group := range grouped(chunk) {
			if err := w.group(ctx, group, answers); err != nil {
				return nil, nil, err
			}
		}
	}
	var count tally
	var out, errs []byte
	for _, r := range chunk {
		line := outLine{batch: w.j.id, request: r}
		f, asked := answers[r]
		switch {
		case asked && f.wrong == nil:
			count.Completed++
			count.Queries += int64(len(f.answers))
			out = line.answer(out, w.rec.Batch.Collections[r.at].Version, f.answers)
			continue
		case late:
			count.Expired++
			errs = line.failure(errs, "batch_expired", "the completion window ended before this request was answered")
		case asked:
			errs = line.problem(errs, f.wrong)
		case r.answered != nil:
			errs = line.problem(errs, r.answered)
		default:
			errs = line.failure(errs, string(r.refused.Kind), r.refused.Error())
		}
		count.Failed++
	}
	newTotals, err := w.watch.add(totals, count, &w.run.SearchCounts)
	return [][]byte{out, errs}, newTotals, err
}

// grouped groups the requests with the same collection and options, in the order of the first
// of each group. It leaves out requests that cannot be searched.
func grouped(chunk []*request) [][]*request {
	var groups [][]*request
	at := map[string]int{}
	for _, r := range chunk {
		if r.search == nil {
			continue
		}
		options := r.options()
		i, known := at[options]
		if !known {
			i = len(groups)
			at[options] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// options is equal for requests that can be searched together.
func (r *request) options() string {
	s := r.search
	bits := func(limit *float64) string {
		if limit == nil {
			return "none"
		}
		return fmt.Sprint(math.Float64bits(*limit))
	}
	goals := r.search.Goals != nil // each with its k
	return fmt.Sprintf("%t %t %d %d %x %x %t %q %q %q %s %s %s %s", goals, s.Scores64, r.at, s.K, s.Delta, s.Epsilon, s.Relative, s.Method, s.Plan, s.Published.String(), bits(s.MinScore), bits(s.MaxScore), digestRows(r.allow), digestRows(r.deny))
}

// digestRows returns a digest of a list of rows; nil differs from an empty list.
func digestRows(rows []int64) string {
	if rows == nil {
		return "none"
	}
	text := make([]byte, 0, 8*len(rows))
	for _, row := range rows {
		text = binary.LittleEndian.AppendUint64(text, uint64(row))
	}
	return digest(string(text))
}

// group searches requests of the same options.
func (w *requestWork) group(ctx context.Context, group []*request, answers map[*request]found) error {
	parts := make([]part, len(group))
	for i, r := range group {
		parts[i] = part{r.search.Queries, r.search.Queries64, r.search.Changes, r.goals}
	}
	out, err := w.ask(ctx, group[0].shelf, group[0].ask(), parts)
	if err != nil {
		return err
	}
	for i, r := range group {
		answers[r] = out[i]
	}
	return nil
}

// ask returns the request for an engine, without queries. The timeout of a single search is
// ignored, because answers limited by time would differ from run to run; a batch has a
// completion window instead.
func (r *request) ask() batch.Request {
	req := r.search.Request()
	req.Queries, req.Queries64, req.Deadline, req.Part = nil, nil, 0, true
	req.Filter, req.Exclude = r.allow, r.deny
	return req
}
