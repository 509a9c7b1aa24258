package offline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"thresher/dataset"
	"thresher/jobs"
	"thresher/service/problem"
)

// job is a batch that is not final.
type job struct {
	m   *Manager
	id  string
	ctx context.Context // ends when the Manager closes, or the batch is cancelled
	end context.CancelCauseFunc

	mu   sync.Mutex
	rec  record // as recorded
	live tally  // of the durable chunks, at least as new as that of rec
	// trouble is why the batch is paused before a retry; nil if it is not.
	trouble error
}

func (m *Manager) newJob(rec *record) *job {
	j := &job{m: m, id: rec.Batch.ID, rec: *rec, live: rec.Tally}
	j.ctx, j.end = context.WithCancelCause(m.ctx)
	return j
}

// errCancelled stops a batch that its client cancelled.
var errCancelled = errors.New("the batch was cancelled")

// failure is an error that fails a batch permanently.
type failure struct{ errors []Error }

func (f *failure) Error() string { return f.errors[0].Message }

// failed returns a failure with one reason.
func failed(code problem.Kind, line int64, format string, args ...any) *failure {
	e := Error{Code: string(code), Message: fmt.Sprintf(format, args...)}
	if line > 0 {
		e.Line = &line
	}
	return &failure{[]Error{e}}
}

// run works on the batch until it is final, or the Manager closes.
func (j *job) run() {
	defer j.end(nil)
	log := j.m.o.Log.With("batch", j.id)
	for tries := 0; ; {
		before, done := j.status(), j.answered()
		final, err := j.step()
		if j.answered() > done {
			tries = 0 // there was progress
		}
		switch {
		case final:
			log.Info("batch is final", "status", j.status(), "counts", j.view(0).RequestCounts)
			return
		case j.m.ctx.Err() != nil:
			j.saveTally()
			return
		case err == nil, j.cancelling() && before != Cancelling:
			tries = 0
			j.stand(nil)
			continue
		}
		log.Warn("batch stands still", "status", before, "tries", tries, "error", err)
		if tries >= len(j.m.o.Retry) && !j.sealed() {
			if err = j.seal(Failed, err); err == nil {
				continue
			}
			log.Error("batch cannot be failed", "error", err)
		}
		j.pause(err, tries)
		tries++
	}
}

// step executes the next step for a batch of its status.
func (j *job) step() (final bool, err error) {
	rec := j.record()
	switch status := rec.Batch.Status; {
	case rec.isAssembled() && rec.AnswersVersion != dataset.AnswersVersion:
		return false, j.restart()
	case rec.Outcome != "":
		return j.deliver(rec)
	case status == Cancelling:
		return false, j.seal(Cancelled, nil)
	case status == Validating && j.expired():
		return false, j.seal(Expired, nil)
	case rec.Matrix && rec.AnswersVersion != dataset.AnswersVersion && !j.expired():
		return false, j.restart()
	default:
		err = j.work(rec)
	}
	if permanent(err) {
		err = j.seal(Failed, err)
	}
	return false, err
}

// work validates or answers the batch.
func (j *job) work(rec *record) error {
	if err := j.link(rec); err != nil {
		return err
	}
	switch {
	case rec.Batch.Status == Validating:
		return j.validate(rec)
	case rec.Matrix:
		return j.answerRows(rec)
	}
	return j.answerRequests(rec)
}

// restart forgets the answers of a spool that an older release began: an output has those of one version.
func (j *job) restart() error {
	for _, name := range []string{ProgressName, j.record().outputName(), errorsName} {
		if err := j.m.o.disk.Remove(j.path(name)); err != nil {
			return err
		}
	}
	return j.update(func(rec *record) {
		if rec.Batch.Status == Finalizing {
			rec.Batch.Status, rec.Batch.FinalizingAt, rec.Batch.Errors = InProgress, nil, nil
		}
		rec.AnswersVersion, rec.Outcome, rec.Tally = dataset.AnswersVersion, "", tally{}
		j.live = tally{}
	})
}

// permanent reports whether a retry would fail with the same error.
func permanent(err error) bool {
	var f *failure
	var p *problem.Problem
	var vector *dataset.Error
	switch {
	case errors.As(err, &f), errors.As(err, &vector), errors.Is(err, jobs.ErrDamaged), errors.Is(err, jobs.ErrFingerprint):
		return true
	case errors.As(err, &p):
		return p.Kind.Status() < 500 && p.RetryAfter == 0
	}
	return false
}

// pause waits before the next retry. A sealed batch is retried forever, because its answers
// exist.
func (j *job) pause(err error, tries int) {
	j.stand(err)
	wait := lastRetry
	if retry := j.m.o.Retry; len(retry) > 0 {
		wait = retry[min(tries, len(retry)-1)]
	}
	ctx := j.ctx
	if j.cancelling() {
		ctx = j.m.ctx
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// lastRetry is the pause if the options name none.
const lastRetry = 10 * time.Second

// stand records why the batch is paused, nil if it is not.
func (j *job) stand(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.trouble = err
}

// record returns a copy of the record, which is immutable.
func (j *job) record() *record {
	j.mu.Lock()
	defer j.mu.Unlock()
	rec := j.rec
	return &rec
}

func (j *job) status() Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec.Batch.Status
}

// answered returns the number of requests with durable answers or errors.
func (j *job) answered() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.live.requests()
}

func (j *job) cancelling() bool { return j.status() == Cancelling }

func (j *job) sealed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec.Outcome != ""
}

// expired reports whether the completion window has ended.
func (j *job) expired() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := j.rec.Batch.ExpiresAt
	return at != nil && j.m.o.Now().Unix() >= *at
}

// update changes the record durably, or not at all.
func (j *job) update(change func(*record)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.save(change)
}

// save is update for a caller that holds mu.
func (j *job) save(change func(*record)) error {
	next := j.rec
	change(&next)
	if err := j.m.ledger.save(&next); err != nil {
		return err
	}
	j.rec = next
	return nil
}

// become shows clients a new record, which is durable.
func (j *job) become(rec *record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rec = *rec
}

// cancel records the cancellation and stops the work.
func (j *job) cancel() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := &j.rec.Batch
	switch {
	case b.Status == Cancelling, b.Status == Cancelled:
		return nil
	case j.rec.Outcome != "" || b.Status.Final():
		return problem.New(problem.Conflict, "batch %s is %s, it cannot be cancelled", j.id, b.Status)
	}
	err := j.save(func(rec *record) {
		rec.Batch.Status = Cancelling
		rec.Batch.CancellingAt = j.now()
	})
	if err == nil {
		j.end(errCancelled)
	}
	return err
}

// now returns the time in the format of the batch object.
func (j *job) now() *int64 {
	t := j.m.o.Now().Unix()
	return &t
}

// saveTally records the progress of the batch, for clients that ask before it continues. A
// failure is harmless, because the durable progress of the job is authoritative.
func (j *job) saveTally() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.live == j.rec.Tally || j.rec.Outcome != "" {
		return
	}
	if err := j.save(func(rec *record) { rec.Tally = j.live }); err != nil {
		j.m.o.Log.Warn("progress of a batch could not be saved", "batch", j.id, "error", err)
	}
}

// observe records the tally of the durable chunks.
func (j *job) observe(t tally) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.live = t
}

// view returns the batch as clients see it.
func (j *job) view(position int) Batch {
	j.mu.Lock()
	rec := j.rec
	rec.Tally = j.live
	trouble := j.trouble
	j.mu.Unlock()
	b := rec.view()
	b.Progress.Position = position
	if trouble != nil && b.Errors == nil {
		b.Errors = listed(trouble)
	}
	return b
}

func (rec *record) view() Batch {
	b, t := rec.Batch, rec.Tally
	b.RequestCounts.Completed, b.RequestCounts.Failed = t.Completed, t.Failed
	b.Progress = Progress{Queries: t.Queries, Pulls: t.Pulls, DensePulls: t.DensePulls, Saving: 1}
	if t.Pulls > 0 {
		b.Progress.Saving = float64(t.DensePulls) / float64(t.Pulls)
	}
	if t.Nanos > 0 {
		b.Progress.QueriesPerSecond = float64(t.Queries) / (float64(t.Nanos) / 1e9)
	}
	if done := t.requests(); b.Status == InProgress && done > 0 && t.Nanos > 0 {
		left := float64(b.RequestCounts.Total-done) / float64(done) * float64(t.Nanos) / 1e9
		b.Progress.SecondsLeft = &left
	}
	return b
}

// listed returns err in the format of the batch object.
func listed(err error) *Errors {
	var f *failure
	if errors.As(err, &f) {
		return &Errors{Object: "list", Data: f.errors}
	}
	p := problem.Of(err)
	e := Error{Code: string(p.Kind), Message: p.Error()}
	if p.Field != "" {
		e.Param = &p.Field
	}
	return &Errors{Object: "list", Data: []Error{e}}
}

// path returns the path of a file of the batch.
func (j *job) path(name string) string { return filepath.Join(j.m.dir, j.id, name) }

// errorsName is the file of the lines that could not be answered.
const errorsName = "errors.jsonl"

// outputName returns the name of the file that answers are appended to.
func (rec *record) outputName() string {
	if rec.isAssembled() {
		return "spool"
	}
	return "output.jsonl"
}

// isAssembled reports whether the output is assembled once everything is answered.
func (rec *record) isAssembled() bool {
	form, ok := dataset.AnswersFormOf(dataset.Format(rec.Batch.OutputFormat).Extension())
	return ok && !form.Lines
}

// spec returns the job of package jobs that answers the batch.
func (j *job) spec(rec *record) jobs.Spec {
	return jobs.Spec{
		Progress: j.path(ProgressName), Outputs: []string{j.path(rec.outputName()), j.path(errorsName)},
		Fingerprint: fmt.Sprint(rec.Fingerprint, rec.Batch.Collections, rec.Chunk, rec.Slice), Resume: true, Mode: 0o600,
	}
}
