//go:build unix

package worker

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/collection"
	"thresher/dataset"
)

// writeVectors writes rows as a file of the form .fvecs.
func writeVectors(t *testing.T, rows []float32, dim int) string {
	t.Helper()
	var b []byte
	for lo := 0; lo < len(rows); lo += dim {
		b = binary.LittleEndian.AppendUint32(b, uint32(dim))
		for _, v := range rows[lo : lo+dim] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	path := filepath.Join(t.TempDir(), "a.fvecs")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpenStreams opens a file of vectors: the worker allocates a part of what they take, and answers as if they had
// been built in memory. No file is left.
func TestOpenStreams(t *testing.T) {
	const n, dim, m, k = 60000, 128, 5, 4
	rows, queries := randomRows(1, n, dim), randomRows(2, m, dim)
	path, folder := writeVectors(t, rows, dim), t.TempDir()
	t.Setenv("TMPDIR", folder)
	c := newClient(t, testOptions(t))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var info about
	c.must(&info, "open", object{"metric": "l2", "path": path})
	runtime.ReadMemStats(&after)
	if took, most := after.TotalAlloc-before.TotalAlloc, uint64(4*len(rows)); took > most {
		t.Errorf("opening %d bytes of vectors allocated %d bytes, at most %d", 4*len(rows), took, most)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	if info.N != n || info.Dim != dim || info.Metric != "l2" {
		t.Errorf("info %+v", info)
	}
	var built about
	c.must(&built, "build", object{"metric": "l2"}, floats("vectors", n, dim, rows))
	want := c.must(nil, "search", object{"handle": built.Handle, "k": k, "method": "exact"}, floats("queries", m, dim, queries))
	got := c.must(nil, "search", object{"handle": info.Handle, "k": k, "method": "certain"}, floats("queries", m, dim, queries))
	for _, name := range []string{"rows", "scores64"} {
		if d := cmp.Diff(want.bytes[name], got.bytes[name]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if seen := c.must(nil, "add", object{"handle": info.Handle}, floats("vectors", m, dim, queries)); !strings.Contains(string(seen.Reply), fmt.Sprintf(`"n":%d`, n+m)) {
		t.Errorf("after adding: %s", seen.Reply)
	}
}

// TestOpenWithoutRoom takes the folder for temporary files away.
func TestOpenWithoutRoom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files in memory are Linux's")
	}
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	path := writeVectors(t, randomRows(1, 50, 20), 20)
	c, ids, _, err := streamed(t.Context(), []string{path}, &dataset.Options{}, &collection.Options{Metric: collection.InnerProduct})
	if err != nil || ids != nil || c.N != 50 {
		t.Fatalf("%v, ids %v: %v", c, ids, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenFiles: a folder and a list of files are opened as one file of all rows, and refused by file.
func TestOpenFiles(t *testing.T) {
	c := newClient(t, testOptions(t))
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := write("p-2.csv", "id,x,y\n7,1,2\n"), write("p-10.csv", "id,x,y\n8,3,4\n9,5,6\n")
	for _, path := range []string{folder, filepath.Join(folder, "*.csv"), first + "," + second} {
		var info about
		r := c.must(&info, "open", object{"metric": "ip", "path": path, "ids": "id"})
		if want := string(bytesOf([]int64{7, 8, 9})); info.N != 3 || info.Dim != 2 || string(r.bytes["ids"]) != want {
			t.Errorf("%s: %+v, ids % x", path, info, r.bytes["ids"])
		}
	}
	write("p-11.csv", "id,x,y\n10,1,2\n8,3,4\n")
	for path, want := range map[string]string{
		folder:             "row 0 of", // of the other file
		first + ",b.csv":   "\"b.csv\" is not absolute",
		first + ",/no.csv": "no such file",
	} {
		if r := c.call("open", object{"metric": "ip", "path": path, "ids": "id"}); r.Error == nil || r.Error.Argument != "path" || !strings.Contains(r.Error.Message, want) {
			t.Errorf("%s: %+v", path, r.Error)
		}
	}
}

// TestOpenRefuses opens a file with a bad row, and one without rows, of which there is no collection.
func TestOpenRefuses(t *testing.T) {
	c := newClient(t, testOptions(t))
	rows := randomRows(1, 9, 20)
	rows[7*20+3] = float32(math.NaN())
	empty := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(empty, []byte("x,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.call("open", object{"metric": "ip", "path": writeVectors(t, rows, 20)}); r.Error == nil || !strings.Contains(r.Error.Message, "row 7") {
		t.Errorf("a bad row: %+v", r.Error)
	}
	var none about
	if c.must(&none, "open", object{"metric": "l2", "path": empty}); none.Handle != 0 || none.N != 0 || none.Metric != "l2" {
		t.Errorf("no rows: %+v", none)
	}
}

// TestOpenBeyondMemory opens a .npy whose codes take more than is free: they go into a file, as those of other files do.
func TestOpenBeyondMemory(t *testing.T) {
	const n, dim, m, k = 320_000, 64, 3, 5
	const free = 48 << 20 // a build needs 40 MB, and codes take 70
	rows, queries := randomRows(1, n, dim), randomRows(2, m, dim)
	path := filepath.Join(t.TempDir(), "a.npy")
	f, err := os.Create(path)
	if err == nil {
		err = dataset.WriteNPY(f, n, dim, rows)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	o := testOptions(t)
	o.Spare = func() int64 { return free }
	c := newClient(t, o)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var info about
	c.must(&info, "open", object{"metric": "ip", "path": path})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > free || info.N != n || info.Dim != dim {
		t.Errorf("allocated %d bytes, at most %d; info %+v", took, free, info)
	}
	r := c.must(nil, "search", object{"handle": info.Handle, "k": k, "method": "certain"}, floats("queries", m, dim, queries))
	exact := c.must(nil, "search", object{"handle": info.Handle, "k": k, "method": "exact"}, floats("queries", m, dim, queries))
	if d := cmp.Diff(exact.bytes["rows"], r.bytes["rows"]); d != "" {
		t.Error(d)
	}
}
