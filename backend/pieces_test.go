package backend_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"thresher/backend"
)

// TestEachPiece: every index is in exactly one piece, what is reported as done is done, and the error is that of the
// first piece that has one.
func TestEachPiece(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		threads, n, size := rapid.IntRange(0, 5).Draw(t, "threads"), rapid.IntRange(0, 60).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "size")
		bad := rapid.SliceOfN(rapid.IntRange(0, 80), 0, 3).Draw(t, "bad")
		var first error
		for _, i := range bad {
			if at := i / size; i < n && (first == nil || at < first.(pieceError).at) {
				first = pieceError{at}
			}
		}
		met := make([]atomic.Int32, n)
		last, asked := 0, rapid.Bool().Draw(t, "asked")
		ready := func(hi int) {
			if hi <= last || hi > n || hi%size != 0 && hi != n {
				t.Errorf("%d of %d ready after %d", hi, n, last)
			}
			for i := range hi {
				if met[i].Load() != 1 {
					t.Errorf("index %d is not done, of %d ready", i, hi)
				}
			}
			last = hi
		}
		if !asked {
			ready = nil
		}
		err := backend.EachPiece(threads, n, size, func(lo, hi int) error {
			if lo%size != 0 || hi != min(lo+size, n) {
				t.Errorf("piece %d to %d of %d", lo, hi, n)
			}
			for i := lo; i < hi; i++ {
				met[i].Add(1)
			}
			for _, i := range bad {
				if i >= lo && i < hi {
					return pieceError{lo / size}
				}
			}
			return nil
		}, ready)
		if !errors.Is(err, first) {
			t.Fatalf("error %v, want %v", err, first)
		}
		for i := range met {
			if k := met[i].Load(); k > 1 || k == 0 && err == nil {
				t.Errorf("index %d was met %d times", i, k)
			}
		}
		if asked && err == nil && last != n {
			t.Errorf("%d of %d ready", last, n)
		}
	})
}

// pieceError is the error of a piece.
type pieceError struct{ at int }

func (e pieceError) Error() string { return fmt.Sprint("piece ", e.at) }
