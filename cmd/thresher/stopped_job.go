package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/jobs"
)

// stopping is how far a job has come that jobs.Run has stopped.
type stopping struct {
	progress string // its file
	done     int64  // items that are durable
	items    string // what its items are
	resumed  bool   // the run was a resumed one
}

// stoppedJob adds to an error of jobs.Run how the job can be continued.
func stoppedJob(ctx context.Context, err error, s stopping) error {
	safe := "nothing is answered yet"
	if s.done > 0 {
		safe = fmt.Sprintf("%d %s are answered and safe, --resume goes on", s.done, s.items)
	}
	var stopped *jobs.StoppedError
	var vector *dataset.Error
	var refused *refusedError
	var other *jobs.FingerprintError
	switch {
	// These errors already name the row; the chunk adds nothing.
	case errors.As(err, &vector) && errors.As(err, &stopped):
		err = vector
	case errors.As(err, &refused):
		err = refused
	case errors.As(err, &stopped):
		err = stopped.Err
	default:
		err = errors.Unwrap(err) // drop the prefix "jobs: "
	}
	switch {
	case ctx.Err() != nil:
		return cli.Exit(cli.ExitInterrupted, fmt.Errorf("interrupted; %s", safe))
	case errors.Is(err, fs.ErrExist) && !s.resumed:
		return fmt.Errorf("%w; --resume continues a stopped run, --overwrite overwrites", err)
	case errors.Is(err, jobs.ErrDamaged):
		return fmt.Errorf("%w; --overwrite starts over", err)
	case errors.Is(err, jobs.ErrEarlier):
		return fmt.Errorf("%s: an earlier version of thresher began this, whose answers have another form; that version finishes it, --overwrite starts over", s.progress)
	case errors.As(err, &other) && differences(other.Recorded, other.Wanted) != "":
		return fmt.Errorf("%s: was started with %s; --overwrite starts over", s.progress, differences(other.Recorded, other.Wanted))
	case errors.Is(err, jobs.ErrFingerprint):
		return fmt.Errorf("%s: was started with other vectors or settings; --overwrite starts over", s.progress)
	case s.done > 0:
		return fmt.Errorf("%w; %s", err, safe)
	}
	return err
}

// endJob ends a complete job whose outputs are written. With --resume the progress stays: the same command, given again,
// finds that all is done.
func endJob(progress string, resume bool) error {
	if resume {
		return jobs.Deliver(progress)
	}
	return jobs.Finish(progress)
}

// requireFiles returns an error unless the outputs of a job that is done are there.
func requireFiles(progress string, paths ...string) error {
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			return fmt.Errorf("%s says that all is done, but %w; --overwrite starts over", progress, err)
		}
	}
	return nil
}
