package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/dataset"
	"thresher/jobs"
)

// seal ends the work: the durable answers are the output. outcome is the final status of the
// batch, cause the reason if it failed.
func (j *job) seal(outcome Status, cause error) error {
	t, err := j.trim()
	if err != nil {
		return err
	}
	return j.sealAt(outcome, cause, t)
}

// trim truncates the outputs to the recorded lengths and returns their tally.
func (j *job) trim() (tally, error) {
	rec := j.record()
	_, err := os.Stat(j.path(ProgressName))
	if errors.Is(err, fs.ErrNotExist) {
		return tally{}, nil
	}
	if err != nil {
		return tally{}, err
	}
	sum, err := jobs.Recover(context.Background(), j.spec(rec))
	if errors.Is(err, jobs.ErrDamaged) || errors.Is(err, jobs.ErrFingerprint) {
		j.m.o.Log.Error("the answers of a batch are lost", "batch", j.id, "error", err)
		return tally{}, nil
	}
	if err != nil {
		return tally{}, err
	}
	return decodeTally(sum.Totals)
}

// sealAt records the tally t of the outputs, and the status that the batch gets when they are
// delivered.
func (j *job) sealAt(outcome Status, cause error, t tally) error {
	return j.update(func(rec *record) {
		rec.Outcome, rec.Tally = outcome, t
		rec.Batch.FinalizingAt = j.now()
		switch {
		case cause != nil:
			rec.Batch.Errors = listed(cause)
			rec.Batch.Status = Finalizing
		case rec.Batch.Status == Cancelling:
			rec.Outcome = Cancelled // the cancellation was acknowledged before the end
		default:
			rec.Batch.Status = Finalizing
		}
		j.live = t
	})
}

// deliver stores the outputs as files and makes the batch final.
func (j *job) deliver(rec *record) (final bool, err error) {
	t := rec.Tally
	answered := t.Completed
	if rec.Matrix {
		answered = t.requests() // rows that failed are part of the output
	}
	var output, errs *string
	if answered > 0 {
		name, err := j.assemble(rec)
		if err != nil {
			return false, err
		}
		if output, err = j.adopt(name, "output."+rec.extension()); err != nil {
			return false, err
		}
	}
	if t.Failed > 0 {
		if errs, err = j.adopt(errorsName, errorsName); err != nil {
			return false, err
		}
	}
	last := j.record()
	b := &last.Batch
	b.Status, b.OutputFileID, b.ErrorFileID = last.Outcome, output, errs
	switch last.Outcome {
	case Completed:
		b.CompletedAt = j.now()
	case Failed:
		b.FailedAt = j.now()
	case Expired:
		b.ExpiredAt = j.now()
	case Cancelled:
		b.CancelledAt = j.now()
	}
	if err := j.m.ledger.save(last); err != nil {
		return false, err
	}
	// Leftovers are removed when the batches are opened again.
	if err := errors.Join(j.m.releaseInputs(j.id), os.RemoveAll(filepath.Join(j.m.dir, j.id))); err != nil {
		j.m.o.Log.Warn("files of a final batch could not be deleted", "batch", j.id, "error", err)
	}
	// A client that sees the end may delete the batch and its input at once.
	j.m.finished(j, last)
	return true, nil
}

// adopt stores a file of the batch, the first time, and returns its id.
func (j *job) adopt(name, as string) (*string, error) {
	// The id may have been that of a deleted batch; Seq is unique.
	key := fmt.Sprintf("%s/%d/%s", j.id, j.record().Seq, as)
	f, err := j.m.store.Adopt(j.m.ctx, j.path(name), j.id+"_"+as, outputPurpose, key, j.record().Maker)
	if err != nil {
		return nil, err
	}
	return &f.ID, nil
}

// extension returns the file name extension of the output.
func (rec *record) extension() string {
	if rec.isAssembled() {
		return rec.Batch.OutputFormat
	}
	return "jsonl"
}

// assemble converts the result log to the output format, if necessary, and returns the name
// of the output's file.
func (j *job) assemble(rec *record) (name string, err error) {
	if !rec.isAssembled() {
		return rec.outputName(), nil
	}
	name = "output." + rec.extension()
	results, err := os.Open(j.path(rec.outputName()))
	if err != nil {
		return "", err
	}
	defer results.Close()
	// After a crash it may be a second name of the file that was stored.
	if err := os.Remove(j.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	out, err := os.OpenFile(j.path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	form, _ := dataset.AnswersFormOf(name)
	return name, form.Assemble(readsUntil{j.m.ctx, results}, rec.Covers, rec.Width, out)
}

// readsUntil reads a result log until its context ends.
type readsUntil struct {
	ctx context.Context
	io.ReadSeeker
}

func (r readsUntil) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.ReadSeeker.Read(p)
}
