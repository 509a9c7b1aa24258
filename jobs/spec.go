package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// Errors to be tested with errors.Is. Run and Finish wrap them and name file and figures.
var (
	// ErrFingerprint: the recorded progress belongs to other inputs or settings than those of the
	// Spec.
	ErrFingerprint = errors.New("progress of another job")
	// ErrEarlier: the recorded progress is that of Spec.Earlier, and the job is not delivered.
	ErrEarlier = errors.New("progress of an earlier program")
	// ErrLocked: another run holds the progress file.
	ErrLocked = errors.New("progress is in use by another run")
	// ErrDamaged: a progress file is corrupted or foreign, or an output is missing, shorter than
	// recorded, or not as it was written.
	ErrDamaged = errors.New("damaged")
	// ErrIncomplete: a job has not answered its whole input.
	ErrIncomplete = errors.New("job is not complete")
)

// FingerprintError is an ErrFingerprint of recorded progress with another fingerprint.
type FingerprintError struct {
	Progress         string // the file
	Recorded, Wanted string // fingerprints, that of the Spec second
}

func (e *FingerprintError) Error() string {
	return fmt.Sprintf("%s: %v: recorded fingerprint %q, now %q", e.Progress, ErrFingerprint, e.Recorded, e.Wanted)
}

// Unwrap returns ErrFingerprint.
func (e *FingerprintError) Unwrap() error { return ErrFingerprint }

// StoppedError is the error of a job that began and ended before its input did.
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

// Spec names the files of one job and how to begin.
type Spec struct {
	// Progress is the path of the progress file, for instance that of the final result followed
	// by ".progress". It must be on a file system with locks. A run that is killed while it
	// creates the file can leave a useless temporary file: a dot, the name and ".new-" with a
	// suffix.
	Progress string
	// Outputs are the paths of the files that Run appends to, at least one. All must be regular
	// files. A resumed job must have the same file names in the same order.
	Outputs []string
	// Fingerprint identifies everything that determines the answers, commonly a hash of the
	// inputs' contents and the settings. It must not be empty.
	Fingerprint string
	// Earlier, if not empty, is the fingerprint of the same job by programs whose outputs had another form. Such a
	// job cannot be resumed (ErrEarlier), but if it is delivered it is found to be done.
	Earlier string
	// Resume continues where a former run stopped. If there is neither progress nor output, it
	// starts from the beginning.
	Resume bool
	// Force starts over and discards a former run's progress and outputs. It excludes Resume.
	// With neither, existing files are refused.
	Force bool
	// Mode is that of outputs which Run creates, less the umask; 0 means 0666.
	Mode fs.FileMode
	// Observe, if not nil, is called from Run's goroutine after every chunk that became durable.
	Observe func(Progress)
}

// Progress is the durable progress of a job.
type Progress struct {
	Items   int64         // answered, including by former runs
	Resumed int64         // answered by former runs
	Chunks  int64         // answered, including by former runs
	Bytes   int64         // total length of all outputs
	Elapsed time.Duration // since this call of Run
}

// Summary is the durable state in which Run left a job.
type Summary struct {
	Progress
	Totals   []byte // as returned for the last durable chunk; nil before the first
	Complete bool   // the source has ended
	// Delivered says that a former run was done with the outputs (Deliver); this one did nothing.
	Delivered bool
}

// Source yields the items of a job in chunks, in order. Run calls its methods from one
// goroutine at a time.
type Source[T any] interface {
	// Skip skips the first items items. It is called at most once, before Next, and only if
	// former runs have answered items. It fails if the source has fewer.
	Skip(ctx context.Context, items int64) error
	// Next returns the next chunk and how many items it has, at least one; after the last chunk
	// it returns io.EOF itself, unwrapped, and no items. It is called for one chunk ahead, while
	// the current one is being answered; a chunk's memory may be reused by the second call after
	// the one that returned it. Run waits for Next even when cancelled, so Next should observe ctx
	// where it can block.
	Next(ctx context.Context) (chunk T, items int, err error)
}

// Work answers one chunk. first is the index of the chunk's first item in the whole input,
// from 0. totals is what Work returned for the previous chunk, also across a resume, and nil
// for the first chunk.
//
// It returns the bytes to append to each output, one slice for each in the order of
// Spec.Outputs (possibly empty), and the new totals. Run no longer uses the slices when it
// calls Work again, so their memory may be reused. For answers to be the same after a crash,
// they must depend on the items alone, or else the size of the chunks must be part of
// Spec.Fingerprint.
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
