package simd

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// gemmPages hands out floats that end where memory ends, or begin where it
// begins: one read past them kills the test.
type gemmPages struct{ atEnd bool }

func (p gemmPages) floats(t *testing.T, n int) []float32 {
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	if n == 0 {
		return nil
	}
	inside := m[page : page+size]
	if err := unix.Mprotect(inside, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	if p.atEnd {
		inside = inside[size-4*n:]
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&inside[0])), n)
}

// TestGemmPages: no kernel reads or writes past the rows it is given.
func TestGemmPages(t *testing.T) {
	for _, p := range []gemmPages{{true}, {false}} {
		for _, width := range PanelWidths {
			for _, k := range []int{0, 1, 3, 7, 8, 15, 16, 17, 40} {
				src, panel := p.floats(t, width*k), p.floats(t, k*width)
				for _, n := range []int{1, 2, 3, 6, 8, 15, 24, 25} {
					rows, out := p.floats(t, n*k), p.floats(t, n*width)
					columns, terms := p.floats(t, width), p.floats(t, n)
					for _, l := range Levels() {
						l.Pack(panel, src, k, width, k, width)
						l.Pack(panel, src, k, min(n, width), k, width)
						l.Gemm(out, width, rows, k, n, panel, k, width, false)
						l.Gemm(out, width, rows, k, n, panel, k, width, true)
						l.DenseTestRows(out, width, columns, columns, columns, width, terms, terms, terms, make([]uint64, n))
					}
				}
			}
		}
	}
}
