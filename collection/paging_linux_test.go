package collection

import (
	"bytes"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"thresher/dataset"
	"thresher/internal/vectors"
)

// residence looks how many bytes of a file are in memory now and then.
type residence struct {
	f      *os.File
	mu     sync.Mutex
	calls  int
	most   [3]int64 // while rows are read, while norms are computed, and while atoms are coded
	failed error
}

// look counts in a phase, every few calls.
func (r *residence) look(phase int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; phase != 1 && r.calls%16 != 0 {
		return
	}
	n, err := residentBytes(r.f)
	r.most[phase], r.failed = max(r.most[phase], n), errors.Join(r.failed, err)
}

func residentBytes(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return 0, err
	}
	b, err := mapFile(f, 0, st.Size(), false)
	if err != nil {
		return 0, err
	}
	defer unmapFile(f, 0, b, false)
	pages := make([]byte, (st.Size()+pageBytes()-1)/pageBytes())
	if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(unsafe.Pointer(unsafe.SliceData(pages)))); e != 0 {
		return 0, e
	}
	var n int64
	for _, p := range pages {
		n += int64(p&1) * pageBytes()
	}
	return n, nil
}

// watched is a source that looks while it is read.
type watched struct {
	dataset.Reader
	look func()
}

func (w watched) Read(dst []float32) (int, error) {
	w.look()
	return w.Reader.Read(dst[:min(len(dst), 256*w.Dim())])
}

// onDisk skips a test if files of dir are not on a disk.
func onDisk(t *testing.T, dir string) {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("the folder for temporary files has no disk to drop pages to: %v", err)
	}
}

// TestStartReading: all of a mapping is read ahead, however little the system takes of one advice: no page is read when it is
// looked at first. Of a part that is not read ahead all are, or else there is nothing to see.
func TestStartReading(t *testing.T) {
	const size = 48 << 20
	dir := t.TempDir()
	onDisk(t, dir)
	f, err := os.Create(filepath.Join(dir, "pages"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte{1}, size)); err != nil {
		t.Fatal(err)
	}
	dropPages(f, 0, size, nil)
	b, err := mapFile(f, 0, size, false)
	if err != nil {
		t.Fatal(err)
	}
	defer unmapFile(f, 0, b, false)
	expectRandom(b)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// waited returns how many pages of a part were read only when they were looked at.
	waited := func(part []byte) int {
		var before, after unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &before); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for i := 0; i < len(part); i += int(pageBytes()) {
			sum += int(part[i])
		}
		if err := unix.Getrusage(unix.RUSAGE_THREAD, &after); err != nil {
			t.Fatal(err)
		}
		if pages := len(part) / int(pageBytes()); sum != pages {
			t.Errorf("%d pages, and their bytes are %d", pages, sum)
		}
		return int(after.Majflt - before.Majflt)
	}
	const half = size / 2
	pages := half / int(pageBytes())
	if n := waited(b[:half]); n < pages/2 {
		t.Skipf("%d of %d pages that nobody asked for are read when they are looked at: the system keeps what it was asked to drop, or reads ahead by itself, and so nothing shows", n, pages)
	}
	startReading(b[half:])
	if n := waited(b[half:]); n > pages/8 {
		t.Errorf("%d of %d pages were read when they were looked at", n, pages)
	}
}

// TestBuildInSegments: a build of a file more than twice as large as the memory it may take has little of it in memory at
// any time, beside the tables: seven sixteenths of that memory. It writes the same file
// as one that has room.
func TestBuildInSegments(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB")
	}
	const n, dim, memory = 60_000, 256, 36 << 20
	dir := t.TempDir()
	onDisk(t, dir)
	rows := make([]float32, n*dim)
	r := vectors.Rand(1)
	for i := range rows {
		rows[i] = float32(int32(r.Uint32())) * 0x1p-30
	}
	all, err := dataset.VectorsOf(rows, dim)
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []Metric{Euclidean, Cosine} { // which has all passes, and which sums squares while rows are written
		var files [2][]byte
		var most [2]int64
		for i, limit := range []int64{0, memory} {
			path := filepath.Join(dir, "c.thresher")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			seen := &residence{f: f}
			o := &Options{Metric: metric, Threads: 2, Memory: limit, HoldCodes: metric == Cosine, Progress: func(done, total int64) { seen.look(1 + int(2*(done-1)/total)) }}
			c, err := CreateIn(t.Context(), f, watched{all.Reader(), func() { seen.look(0) }}, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v, limit %d: resident while reading, norms, codes: %d", metric, limit, seen.most)
			most[i] = slices.Max(seen.most[:])
			if seen.failed != nil {
				t.Fatal(seen.failed)
			}
			if err := errors.Join(c.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if c, err = Open(path); err != nil { // which verifies the checksums
				t.Fatal(err)
			}
			c.Close()
			if files[i], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		segment, tables := int64(memory/16), int64(n*(4+4+4+8))
		t.Logf("%v: %d MB of %d resident with room; %.1f sixteenths of the memory and tables without", metric, most[0]>>20, len(files[0])>>20, float64(most[1]-tables)/float64(segment))
		if most[0] < int64(len(files[0]))/2 {
			t.Errorf("%v: with room %d of %d bytes were in memory; the test sees too little", metric, most[0], len(files[0]))
		}
		if limit := 7*segment + tables; most[1] > limit {
			t.Errorf("%v: %d bytes were in memory, at most %d", metric, most[1], limit)
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Errorf("%v: the files differ", metric)
		}
	}
}

// TestSumsInPassing: a sweep sums what is written of its parts, with a row for each atom or for each of a last panel that is not
// full, whichever order segments end in, and before they are dropped.
func TestSumsInPassing(t *testing.T) {
	const n, threads = 10*PanelAtoms*5 + 7, 3
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "parts"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var parts []part
	strides := []int{4, 3000}
	for i, rows := range []int{(n + PanelAtoms - 1) / PanelAtoms * PanelAtoms, n} {
		size := int64(rows * strides[i])
		off := aligned(int64(i)<<24, pageBytes())
		if err := f.Truncate(off + size); err != nil {
			t.Fatal(err)
		}
		b, err := mapFile(f, off, size, true)
		if err != nil {
			t.Fatal(err)
		}
		defer unmapFile(f, off, b, false)
		parts = append(parts, part{off: off, b: b, section: i})
	}
	r := vectors.Rand(1)
	s := newSweep(f, n, int64(n*strides[1]/10), false, parts...)
	if len(s.done) < 5 {
		t.Fatalf("%d segments", len(s.done))
	}
	var chunks [][2]int
	for lo := 0; lo < n; lo += PanelAtoms {
		chunks = append(chunks, [2]int{lo, min(n, lo+PanelAtoms)})
	}
	for lo := 0; lo < len(chunks); lo += 15 { // of three segments
		r.Shuffle(min(15, len(chunks)-lo), func(i, j int) { chunks[lo+i], chunks[lo+j] = chunks[lo+j], chunks[lo+i] })
	}
	for _, c := range chunks {
		for i, p := range parts {
			for at := c[0] * strides[i]; at < min(len(p.b), (c[0]+PanelAtoms)*strides[i]); at++ {
				p.b[at] = byte(r.Uint32())
			}
		}
		s.passed(c[0], c[1])
	}
	s.end()
	w := &file{f: f, sums: map[int]uint32{}}
	w.keepSums(s)
	for i, p := range parts {
		if got, ok := w.sums[i]; !ok || got != crc32.Checksum(p.b, castagnoli) {
			t.Errorf("part %d: %08x, %v, its bytes have %08x", i, got, ok, crc32.Checksum(p.b, castagnoli))
		}
	}
}

// TestBuildMemory refuses a limit below what a build needs of its own.
func TestBuildMemory(t *testing.T) {
	rows, err := dataset.VectorsOf(make([]float32, 64*100), 64)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.thresher")
	_, err = Create(t.Context(), path, rows.Reader(), false, &Options{Metric: InnerProduct, Threads: 1, Memory: 1 << 20})
	var short *MemoryError
	if !errors.As(err, &short) || short.Memory != 1<<20 || short.Need <= short.Memory || !strings.Contains(err.Error(), "100 x 64 takes") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left: %v", err)
	}
	if need, more := BuildMemory(1e6, 256, nil), BuildMemory(1e8, 256, nil); need >= Size(1e6, 256, nil)/4 || more <= need {
		t.Errorf("memory of builds: %d and %d bytes", need, more)
	}
}
