//go:build !unix

package collection

import (
	"io"
	"os"
)

// mapFile stands in for a mapping: it returns a copy of n bytes at off or, with write, zeros that
// unmapFile writes to the file.
func mapFile(f *os.File, off, n int64, write bool) ([]byte, error) {
	b, err := heap{}.bytes("", n)
	if err != nil || write {
		return b, err
	}
	_, err = io.ReadFull(io.NewSectionReader(f, off, n), b)
	return b, err
}

// unmapFile writes b to f at off if mapFile returned it with write.
func unmapFile(f *os.File, off int64, b []byte, write bool) error {
	if !write {
		return nil
	}
	_, err := f.WriteAt(b, off)
	return err
}
