package store

import (
	"errors"
	"io"
	"strings"
	"syscall"
)

// ErrFull says that a disk, a quota or a limit of file sizes is full. What was stored before is
// unharmed.
var ErrFull = errors.New("no space left to write; existing data is unharmed")

// fullError is ErrFull with its cause.
type fullError struct{ cause error }

func (e *fullError) Error() string   { return ErrFull.Error() + ": " + e.cause.Error() }
func (e *fullError) Unwrap() []error { return []error{ErrFull, e.cause} }

// Full makes errors that mean a full disk wrap ErrFull; other errors are returned unchanged.
func Full(err error) error {
	if !errors.Is(err, ErrFull) && (IsFull(err) || errors.Is(err, io.ErrShortWrite)) {
		return &fullError{err}
	}
	return err
}

// IsFull reports whether err means that the disk, a quota or a file size limit is full.
func IsFull(err error) bool {
	if err == nil {
		return false
	}
	// bbolt reports why its file could not grow as text only
	text := err.Error()
	database := strings.Contains(text, "file resize error: ")
	for _, full := range []error{ErrFull, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) || database && strings.Contains(text, full.Error()) {
			return true
		}
	}
	return false
}
