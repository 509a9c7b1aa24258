package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
)

// Run answers the items of src from the first unanswered one to the last and
// marks the job complete. A complete job that is resumed returns at once.
//
// The Summary tells what is durable, also along with an error; if recording the last chunk
// failed, that chunk may be durable too. After any error except a refusal to begin, the job
// can be resumed:
//
//   - When ctx ends, Run returns between two chunks with an error that wraps
//     ctx.Err() and the cause, and says how many items are durable.
//   - Errors of src and of work are wrapped; the chunks before stay valid.
//   - When an output cannot be written or flushed, the error names the file and
//     the offset, and the outputs are cut back to the last durable chunk.
//   - All of these are a *StoppedError. If the run began the files, also in place
//     of former ones (Force), and nothing is durable, there is nothing to resume,
//     and it removes them again.
//
// Files that exist are refused with an error that wraps fs.ErrExist, unless spec sets Resume
// or Force. See ErrFingerprint, ErrLocked and ErrDamaged for the other refusals.
func Run[T any](ctx context.Context, spec Spec, src Source[T], work Work[T]) (Summary, error) {
	sum, err := run(ctx, spec, spec.storage(), src, work)
	if err != nil {
		return sum, fmt.Errorf("jobs: %w", err)
	}
	return sum, nil
}

// Recover opens the job of spec, which must set Resume, checks its outputs, cuts them back to what is
// durable, and returns what that is, without answering anything. Errors are those of Run.
func Recover(ctx context.Context, spec Spec) (Summary, error) {
	sum, err := recoverJob(ctx, spec, spec.storage())
	if err != nil {
		return sum, fmt.Errorf("jobs: %w", err)
	}
	return sum, nil
}

func recoverJob(ctx context.Context, spec Spec, st storage) (sum Summary, err error) {
	begun := time.Now()
	if err := spec.check(); err != nil {
		return Summary{}, err
	}
	job, err := openJob(ctx, &spec, st)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, job.close()) }()
	job.begun, job.resumed = begun, job.state.Items
	return job.summary(), nil
}

// Finish removes the progress file of a complete job, after which the job cannot be resumed;
// callers use the outputs before. For a job that is not complete it does nothing and returns
// ErrIncomplete. Without such a file the error wraps fs.ErrNotExist.
func Finish(progress string) error {
	if err := finish(progress, newDiskStorage()); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}

// Deliver records that the caller is done with the outputs of a complete job and may remove them, but keeps
// the progress file: a Run of the same job that resumes returns at once, with Delivered in its Summary,
// after checking those outputs that are left. Errors are as those of Finish.
func Deliver(progress string) error {
	if err := deliver(progress, newDiskStorage()); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}

func deliver(progress string, st storage) error {
	return concluding(progress, st, func(j journal, s state) error {
		s.Delivered = true
		return j.save(s)
	})
}

func finish(progress string, st storage) error {
	return concluding(progress, st, func(journal, state) error {
		if err := st.remove(progress); err != nil {
			return fmt.Errorf("removing progress: %w", err)
		}
		return nil
	})
}

// concluding does something with the locked progress file of a complete job; for another it returns ErrIncomplete.
func concluding(progress string, st storage, do func(journal, state) error) (err error) {
	j, s, err := st.open(progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	if !s.Complete {
		return fmt.Errorf("%s: %w: %d items are answered", progress, ErrIncomplete, s.Items)
	}
	return do(j, s)
}

func run[T any](ctx context.Context, spec Spec, st storage, src Source[T], work Work[T]) (sum Summary, err error) {
	begun := time.Now()
	if err := spec.check(); err != nil {
		return Summary{}, err
	}
	job, err := openJob(ctx, &spec, st)
	if err != nil {
		return Summary{}, err
	}
	job.begun, job.resumed = begun, job.state.Items
	defer func() { err = errors.Join(err, job.close()) }()

	if job.state.Complete {
		return job.summary(), nil
	}
	if err := answer(ctx, job, src, work); err != nil {
		err = &StoppedError{Progress: spec.Progress, Items: job.state.Items, Err: err}
		return job.summary(), errors.Join(err, job.withdraw(st))
	}
	return job.summary(), nil
}

// job is one run of a job: its locked progress file and its open outputs.
type job struct {
	spec    *Spec
	journal journal
	outs    *outputs
	state   state // as recorded
	unsure  bool  // recording failed, but the record may be durable
	began   bool  // this run created the files, or emptied those of a former one (Spec.Force)
	begun   time.Time
	resumed int64
}

// openJob opens or creates the progress file and the outputs of spec.
func openJob(ctx context.Context, spec *Spec, st storage) (*job, error) {
	fresh, err := prepare(spec, st)
	if err != nil {
		return nil, err
	}
	j, s, err := st.open(spec.Progress)
	if err != nil {
		return nil, err
	}
	if err := s.matches(spec); err != nil {
		return nil, errors.Join(err, j.close())
	}
	if s.Delivered {
		return deliveredJob(ctx, spec, st, j, s)
	}
	outs, err := openOutputs(ctx, st, spec, &s, fresh)
	if err != nil && fresh && s.Items == 0 && !s.Complete {
		// Nothing was begun: leave nothing that the next run would refuse.
		err = errors.Join(err, st.remove(spec.Progress))
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return &job{spec: spec, journal: j, outs: outs, state: s, began: fresh || spec.Force}, nil
}

// deliveredJob is a job whose outputs the caller was done with. Those that are still there must be as they
// were written.
func deliveredJob(ctx context.Context, spec *Spec, st storage, j journal, s state) (*job, error) {
	outs := &outputs{}
	for i, path := range spec.Outputs {
		f, err := st.output(path, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			outs.files, outs.paths = append(outs.files, f), append(outs.paths, path)
			err = checkWhole(ctx, path, f, &s.Outputs[i])
		}
		if err != nil {
			return nil, errors.Join(err, outs.close(), j.close())
		}
	}
	return &job{spec: spec, journal: j, outs: outs, state: s}, nil
}

// prepare creates the progress file unless the job resumes with an existing one. fresh says
// that the outputs must be created, too.
func prepare(spec *Spec, st storage) (fresh bool, err error) {
	if spec.Force {
		return false, st.create(spec.Progress, firstState(spec), true)
	}

	found, err := st.exists(spec.Progress)
	if err != nil {
		return false, err
	}
	if found && spec.Resume {
		return false, nil
	}
	if found {
		return false, fmt.Errorf("%s: a former run left its progress; resume it, or force a new one: %w", spec.Progress, fs.ErrExist)
	}
	for _, path := range spec.Outputs {
		found, err := st.exists(path)
		if err != nil {
			return false, err
		}
		if found && spec.Resume {
			return false, fmt.Errorf("%s: output without progress in %s, so there is nothing to resume: %w", path, spec.Progress, fs.ErrExist)
		}
		if found {
			return false, fmt.Errorf("%s: output of a former run: %w", path, fs.ErrExist)
		}
	}
	return true, st.create(spec.Progress, firstState(spec), false)
}

// fetched is the result of one call of Source.Next.
type fetched[T any] struct {
	chunk T
	items int
	err   error
}

// answer continues the job from its recorded state to the end of src.
func answer[T any](ctx context.Context, j *job, src Source[T], work Work[T]) error {
	if j.state.Items > 0 {
		if err := src.Skip(ctx, j.state.Items); err != nil {
			return fmt.Errorf("skipping the first %d items: %w", j.state.Items, err)
		}
	}

	reading, stop := context.WithCancel(ctx)
	ahead := make(chan fetched[T])
	go readAhead(reading, src, ahead)
	defer func() {
		stop()
		for range ahead { // readAhead closes it when it returns
		}
	}()

	for {
		var next fetched[T]
		var open bool
		select {
		case next, open = <-ahead:
		case <-ctx.Done():
		}
		if !open {
			return cancelled(ctx)
		}
		if next.err == io.EOF && next.items == 0 {
			return j.complete()
		}
		if err := next.check(); err != nil {
			return fmt.Errorf("reading from item %d on: %w", j.state.Items, err)
		}

		out, totals, err := work(ctx, next.chunk, j.state.Items, j.state.Totals)
		if err != nil {
			return fmt.Errorf("answering items %d to %d: %w", j.state.Items, j.state.Items+int64(next.items)-1, err)
		}
		if err := j.commit(next.items, out, totals); err != nil {
			return err
		}
	}
}

// readAhead calls Next until it fails. Sending blocks until the previous chunk is durable,
// which limits the chunks in memory to two.
func readAhead[T any](ctx context.Context, src Source[T], ahead chan<- fetched[T]) {
	defer close(ahead)
	for {
		var next fetched[T]
		next.chunk, next.items, next.err = src.Next(ctx)
		select {
		case ahead <- next:
		case <-ctx.Done():
			return
		}
		if next.check() != nil {
			return
		}
	}
}

func (f *fetched[T]) check() error {
	if f.err == io.EOF && f.items != 0 {
		return fmt.Errorf("source returned %d items beside its end", f.items)
	}
	if f.err != nil {
		return f.err
	}
	if f.items < 1 {
		return fmt.Errorf("source returned a chunk of %d items", f.items)
	}
	return nil
}

func cancelled(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// commit makes the answer of one chunk durable.
func (j *job) commit(items int, out [][]byte, totals []byte) error {
	if len(out) != len(j.outs.files) {
		return fmt.Errorf("work answered for %d outputs, want %d", len(out), len(j.outs.files))
	}
	lengths, err := j.outs.append(j.state.Outputs, out)
	if err != nil {
		return err
	}

	next := j.state
	next.Outputs = lengths
	next.Chunks++
	next.Items += int64(items)
	next.Totals = bytes.Clone(totals)
	// If this fails the new state may be on disk anyway, so the outputs must keep the bytes that
	// it counts. Resuming settles it.
	if err := j.journal.save(next); err != nil {
		j.unsure = true
		return err
	}
	j.state = next
	if j.spec.Observe != nil {
		j.spec.Observe(j.progress())
	}
	return nil
}

func (j *job) complete() error {
	next := j.state
	next.Complete = true
	if err := j.journal.save(next); err != nil {
		j.unsure = true
		return err
	}
	j.state = next
	return nil
}

// withdraw removes what an unsuccessful run began, so that the next one need not be forced.
// The progress file goes last and while locked: a kill in between leaves a job that starts
// over when it is resumed.
func (j *job) withdraw(st storage) error {
	if !j.began || j.unsure || j.state.Items > 0 || j.state.Complete {
		return nil
	}
	for _, path := range append(slices.Clone(j.spec.Outputs), j.spec.Progress) {
		if err := st.remove(path); err != nil {
			return fmt.Errorf("removing %s, of no use: %w", path, err)
		}
	}
	return nil
}

func (j *job) progress() Progress {
	return Progress{
		Items:   j.state.Items,
		Resumed: j.resumed,
		Chunks:  j.state.Chunks,
		Bytes:   j.state.bytes(),
		Elapsed: time.Since(j.begun),
	}
}

func (j *job) summary() Summary {
	return Summary{Progress: j.progress(), Totals: bytes.Clone(j.state.Totals), Complete: j.state.Complete, Delivered: j.state.Delivered}
}

func (j *job) close() error {
	return errors.Join(j.outs.close(), j.journal.close())
}
