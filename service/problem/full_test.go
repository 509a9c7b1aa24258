package problem

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

func TestFull(t *testing.T) {
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
		if got := Full(test.err); got != test.full {
			t.Errorf("Full(%v) = %v", test.err, got)
		}
		if got := test.err != nil && Of(test.err).Kind == DiskFull; got != test.full {
			t.Errorf("Of(%v) is of kind %s", test.err, Of(test.err).Kind)
		}
	}
}
