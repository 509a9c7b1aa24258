//go:build unix

package atomicfile

import (
	"os"
	"syscall"
	"testing"
)

// A pipe cannot be flushed, like a file on a failing disk.
func TestFileIsFlushed(t *testing.T) {
	begin(t, func(t *testing.T, dir, path string, create func() *File) {
		write(t, path, "old")
		f := create()
		var ends [2]int
		if err := syscall.Pipe(ends[:]); err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(ends[0])
		f.Close()
		f.File = os.NewFile(uintptr(ends[1]), f.Name())
		if err := f.Commit(true); err == nil {
			t.Error("committed")
		}
		f.Discard()
		holds(t, dir, "old", "a")
	})
}
