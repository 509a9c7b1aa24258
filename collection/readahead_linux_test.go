package collection

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"thresher/internal/vectors"
)

// TestReadRowsAhead: rows that are named come into memory before anything reads them, and no others.
func TestReadRowsAhead(t *testing.T) {
	const n, dim = 512, 3 << 10 // three pages a row
	dir := t.TempDir()
	onDisk(t, dir)
	path := filepath.Join(dir, "c.thresher")
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	made, err := Build(context.Background(), rows, dim, &Options{Metric: InnerProduct, NoCodes: true})
	if err != nil {
		t.Fatal(err)
	}
	made.ReadAhead()
	if made.ReadsAhead() {
		t.Error("rows in memory are read ahead")
	}
	made.ReadRowsAhead([]uint32{1})
	c, err := Create(context.Background(), path, &rowsSource{rows: rows, dim: dim}, false, &Options{Metric: InnerProduct, NoCodes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.ReadAhead()
	b := c.Vectors.Bytes()
	expectRandom(b)
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	dropPages(f, 0, info.Size(), b)
	page := os.Getpagesize()
	in := func(row int) bool {
		pages := make([]byte, (4*dim+page-1)/page)
		at := b[row*4*dim:][:4*dim]
		if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(at))), uintptr(len(at)), uintptr(unsafe.Pointer(unsafe.SliceData(pages)))); e != 0 {
			t.Fatal(e)
		}
		for _, p := range pages {
			if p&1 == 0 {
				return false
			}
		}
		return true
	}
	if in(100) || in(400) {
		t.Skip("the file system keeps pages that are dropped")
	}
	c.ReadRowsAhead([]uint32{400, 100, 101, 400})
	for end := time.Now().Add(5 * time.Minute); !in(100) || !in(101) || !in(400); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("rows are not read")
		}
	}
	if in(250) {
		t.Error("a row that nobody named is read")
	}
}
