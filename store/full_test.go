package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

func TestIsFull(t *testing.T) {
	lost := errors.New("truncate meta.db: " + syscall.EFBIG.Error())
	for _, test := range []struct {
		err  error
		full bool
	}{
		{nil, false},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, true},
		{fmt.Errorf("batch: %w", syscall.EDQUOT), true},
		{fmt.Errorf("record: %w", fmt.Errorf("file resize error: %s", lost)), true}, // as bbolt reports it
		{lost, false},
		{errors.New("file resize error: " + syscall.EIO.Error()), false},
		{syscall.EIO, false},
	} {
		if got := IsFull(test.err); got != test.full {
			t.Errorf("IsFull(%v) = %v", test.err, got)
		}
		if got := errors.Is(Full(test.err), ErrFull); got != test.full {
			t.Errorf("Full(%v) is %v", test.err, Full(test.err))
		}
	}
}
