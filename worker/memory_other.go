//go:build !unix

package worker

import (
	"errors"
	"io"
	"os"
)

// errNoSharing: descriptors do not travel, so nothing asks for memory to share.
var errNoSharing = errors.New("this system shares no memory with the worker")

func newShared(int64) (*os.File, error) { return nil, errNoSharing }
func seal(*os.File) error               { return errNoSharing }
func isSealed(*os.File) bool            { return false }
func checkSegment(*os.File) error       { return errNoSharing }

// mapMemory returns a copy of n bytes of f at off, in place of a mapping.
func mapMemory(f *os.File, off, n int64, write bool) ([]byte, func() error, error) {
	if write {
		return nil, nil, errNoSharing
	}
	b := alignedBytes(n)
	_, err := io.ReadFull(io.NewSectionReader(f, off, n), b)
	return b, nil, err
}
