package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Errors that callers tell apart with errors.Is. What Run and Finish return
// wraps them and names the file and the figures.
var (
	// ErrFingerprint says that the recorded progress belongs to other inputs
	// or settings than those of the Spec.
	ErrFingerprint = errors.New("progress of another job")
	// ErrLocked says that another run holds the progress file.
	ErrLocked = errors.New("progress is in use by another run")
	// ErrDamaged says that a progress file is corrupted or foreign, or
	// that an output is missing or shorter than recorded.
	ErrDamaged = errors.New("damaged")
	// ErrIncomplete says that a job has not answered its whole input.
	ErrIncomplete = errors.New("job is not complete")
)

// StoppedError says that a job that had begun ended before its input did.
type StoppedError struct {
	Progress string // the file
	Items    int64  // items durable
	Err      error  // why
}

func (e *StoppedError) Error() string {
	return fmt.Sprintf("%s: stopped with %d items durable: %v", e.Progress, e.Items, e.Err)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Err }

// Spec names the files of one job and says how to begin.
type Spec struct {
	// Progress is the path of the progress file, for instance the path of
	// the final result with ".progress" behind it. It must lie on a file system
	// that supports locks. A run that is killed while it creates the file
	// can leave a file of that name with a dot before it and ".new-" and more behind
	// it, which nothing needs.
	Progress string
	// Outputs are the paths of the files that Run appends to, at least one.
	// All must be regular files. A resumed job must list the same file names in
	// the same order.
	Outputs []string
	// Fingerprint stands for everything that determines the answers, commonly
	// a hash of the inputs' contents and of the settings. It must not be empty.
	Fingerprint string
	// Resume goes on where a former run stopped. If nothing was begun, neither
	// progress nor outputs, it begins.
	Resume bool
	// Force begins anew and drops a former run's progress and outputs.
	// It excludes Resume. With neither, existing files are refused.
	Force bool
	// Observe, if not nil, is called by Run's own goroutine after every chunk
	// that became durable.
	Observe func(Progress)
}

// Progress says how far a job has come. All of it is durable.
type Progress struct {
	Items   int64         // items answered, those of former runs included
	Resumed int64         // items that former runs had answered
	Chunks  int64         // chunks answered, those of former runs included
	Bytes   int64         // total length of all outputs
	Elapsed time.Duration // since this Run was called
}

// Summary is the durable state in which Run left a job.
type Summary struct {
	Progress
	Totals   []byte // as returned for the last durable chunk; nil before the first
	Complete bool   // the source came to its end
}

// Source yields the items of a job as chunks, in order. Run calls its methods
// from one goroutine at a time.
type Source[T any] interface {
	// Skip passes over the first items items. It is called at most once, before
	// Next, and only when former runs have answered items. It returns an error
	// if the source holds fewer.
	Skip(ctx context.Context, items int64) error
	// Next returns the next chunk and how many items it holds, at least one;
	// after the last chunk it returns io.EOF itself, unwrapped, and no items.
	// It is called for one chunk ahead, while the current one is being
	// answered; the memory of a chunk may be used again by the second call
	// after the one that returned it. Run waits for Next even when it is
	// cancelled, so Next should heed ctx where it can block.
	Next(ctx context.Context) (chunk T, items int, err error)
}

// Work answers one chunk. first is the position of the chunk's first item in
// the whole input, counted from 0. totals is what Work returned for the chunk
// before, also across a resume, and nil for the first chunk.
//
// It returns the bytes to append to each output, one slice per output in the
// order of Spec.Outputs (possibly empty), and the new totals. Run is done with
// all slices before it calls Work again, so their memory may be reused. To be
// the same after a crash as without, the answers must depend on the items
// alone, or else the size of the chunks must be part of Spec.Fingerprint.
type Work[T any] func(ctx context.Context, chunk T, first int64, totals []byte) (out [][]byte, newTotals []byte, err error)

func (s *Spec) check() error {
	if s.Progress == "" {
		return errors.New("no path for the progress file")
	}
	if len(s.Outputs) == 0 {
		return fmt.Errorf("%s: no outputs", s.Progress)
	}
	if s.Fingerprint == "" {
		return fmt.Errorf("%s: empty fingerprint", s.Progress)
	}
	if s.Resume && s.Force {
		return fmt.Errorf("%s: resume and force exclude each other", s.Progress)
	}

	seen := map[string]bool{filepath.Clean(s.Progress): true}
	for i, path := range s.Outputs {
		if path == "" {
			return fmt.Errorf("%s: output %d has no path", s.Progress, i)
		}
		if seen[filepath.Clean(path)] {
			return fmt.Errorf("%s: file is named twice in one job", path)
		}
		seen[filepath.Clean(path)] = true
	}
	return nil
}
