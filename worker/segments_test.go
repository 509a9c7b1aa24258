//go:build linux

package worker

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newSegment returns a memfd with the bytes of x.
func newSegment(t testing.TB, x []float32, sealed bool) *os.File {
	t.Helper()
	f, err := newShared(int64(4 * len(x)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteAt(bytesOf(x), 0); err != nil {
		t.Fatal(err)
	}
	if sealed {
		if err := seal(f); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestSegment: rows and queries are taken from a segment where they lie, and a collection keeps
// the mapping of its rows.
func TestSegment(t *testing.T) {
	const n, dim = 200, 32
	rows := randomRows(1, n, dim)
	c := newClient(t, testOptions(t))
	f := newSegment(t, rows, true)
	c.post(object{"id": 0, "op": "map", "fields": object{"segment": 7, "bytes": 4 * len(rows)}}, f)
	place := func(name string, first, m int64) []descriptor {
		return []descriptor{{Name: name, DType: float32s, Shape: []int64{m, dim}, At: inSegment, Segment: 7, Offset: 4 * dim * first}}
	}
	c.post(object{"id": 1, "op": "build", "fields": object{"metric": "ip"}, "arrays": place("vectors", 0, n)})
	r := c.receive()
	var built about
	if r.Error != nil || json.Unmarshal(r.Reply, &built) != nil {
		t.Fatal(r.Error, string(r.Reply))
	}
	handle := built.Handle
	search := func(id int64) []int64 {
		c.post(object{"id": id, "op": "search", "fields": object{"handle": handle, "k": 1, "method": "certain"}, "arrays": place("queries", 100, 10)})
		r := c.receive()
		if r.Error != nil {
			t.Fatal(r.Error)
		}
		return elements[int64](aligned(r.bytes["rows"]))
	}
	for j, id := range search(2) {
		if want := best(rows, rows[(100+j)*dim:(101+j)*dim], 1, func(int, float64) bool { return true })[0]; id != want {
			t.Errorf("query %d: %d, want %d", j, id, want)
		}
	}
	c.post(object{"id": 0, "op": "unmap", "fields": object{"segment": 7}})
	c.must(nil, "search", object{"handle": handle, "k": 1}, floats("queries", 1, dim, rows[:dim]))
	if r := c.child.segments.hold(7); r != nil {
		t.Error("the segment is still there")
	}
	v, err := c.child.registry.hold(handle)
	if err != nil {
		t.Fatal(err)
	}
	mapping := v.rows
	if err := v.release(); err != nil {
		t.Fatal(err)
	}
	if !settles(func() bool { return mapping.users.Load() == 1 }) {
		t.Errorf("the mapping has %d users, the collection alone is wanted", mapping.users.Load())
	}
	c.must(nil, "free", object{"handle": handle})
	c.finish()
	if users := mapping.users.Load(); users != 0 {
		t.Errorf("the mapping has %d users after the collection was freed", users)
	}
}

// TestNamelessSegment: a client that can make no memfd shares a file without a name.
func TestNamelessSegment(t *testing.T) {
	const n, dim = 50, 16
	rows := randomRows(3, n, dim)
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(bytesOf(rows)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, testOptions(t))
	c.next++
	c.post(object{"id": c.next, "op": "map", "fields": object{"segment": 2, "bytes": 4 * len(rows)}}, f)
	if r := c.receive(); r.Error != nil {
		t.Fatal(r.Error)
	}
	c.next++
	c.post(object{"id": c.next, "op": "build", "fields": object{"metric": "ip"},
		"arrays": []descriptor{{Name: "vectors", DType: float32s, Shape: []int64{n, dim}, At: inSegment, Segment: 2}}})
	if r := c.receive(); r.Error != nil {
		t.Error(r.Error)
	}
}

// TestSheetWithoutFiles: where a process has no descriptor left, an answer travels in the frame.
func TestSheetWithoutFiles(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	large := column{"ids", int64s, []int64{maxInBody}}
	placeOf := func() string {
		s, err := newReply(true, large)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		if len(s.part(0)) != 8*maxInBody {
			t.Errorf("%d bytes, %d are wanted", len(s.part(0)), 8*maxInBody)
		}
		return s.columns[0].At
	}
	if at := placeOf(); at != inFile {
		t.Errorf("with descriptors in the %s", at)
	}
	t.Cleanup(func() { unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	if at := placeOf(); at != inBody {
		t.Errorf("without descriptors in the %s", at)
	}
}

// TestBadSegment: memory that could shrink, or is smaller than it claims, is not mapped.
func TestBadSegment(t *testing.T) {
	c := newClient(t, testOptions(t))
	x := make([]float32, 1024)
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := plain.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	for _, y := range []struct {
		name     string
		file     *os.File
		number   int64
		bytes    int64
		argument string
		text     string
	}{
		{"not sealed", newSegment(t, x, false), 1, 4096, "segment", "F_SEAL_SHRINK"},
		{"no memfd", plain, 1, 4096, "segment", "F_SEAL_SHRINK"},
		{"too small", newSegment(t, x, true), 1, 4097, "segment", "4097 bytes"},
		{"empty", newSegment(t, x, true), 1, 0, "bytes", "at least 1"},
		{"huge", newSegment(t, x, true), 1, maxBodyBytes + 1, "bytes", "at most"},
		{"number", newSegment(t, x, true), 0, 4096, "segment", "at least 1"},
	} {
		t.Run(y.name, func(t *testing.T) {
			c.next++
			c.post(object{"id": c.next, "op": "map", "fields": object{"segment": y.number, "bytes": y.bytes}}, y.file)
			r := c.receive()
			if r.Error == nil || r.Error.Argument != y.argument || !strings.Contains(r.Error.Message, y.text) {
				t.Errorf("%+v; %q is wanted", r.Error, y.text)
			}
		})
	}
	for i, wanted := range []bool{true, false} { // the second has the number of the first
		c.next++
		c.post(object{"id": c.next, "op": "map", "fields": object{"segment": 5, "bytes": 4096}}, newSegment(t, x, true))
		if r := c.receive(); (r.Error == nil) != wanted {
			t.Errorf("segment 5, time %d: %v", i+1, r.Error)
		}
	}
	handle := c.built(randomRows(1, 10, 8), 8)
	c.next++
	c.post(object{"id": c.next, "op": "search", "fields": object{"handle": handle, "k": 1},
		"arrays": []descriptor{{Name: "queries", DType: float32s, Shape: []int64{129, 8}, At: inSegment, Segment: 5}}})
	if r := c.receive(); r.Error == nil || r.Error.Limit != 4096. {
		t.Errorf("beyond the segment: %+v", r.Error)
	}
}

// TestDescriptorsAreClosed: no descriptor of a client stays open, whatever becomes of its frame.
func TestDescriptorsAreClosed(t *testing.T) {
	const dim = 16
	c := newClient(t, testOptions(t))
	handle := c.built(randomRows(1, 50, dim), dim)
	f := newSegment(t, randomRows(2, 4, dim), true)
	zero := 0
	array := []descriptor{{Name: "queries", DType: float32s, Shape: []int64{4, dim}, At: inFile, Descriptor: &zero}}
	before := openDescriptors(t)
	for id := int64(100); id < 150; id++ {
		fields := object{"handle": handle, "k": 1}
		if id%2 == 0 {
			fields = object{"handle": -1}
		}
		c.post(object{"id": id, "op": "search", "fields": fields, "arrays": array}, f, f)
		if r := c.receive(); (r.Error == nil) != (id%2 == 1) {
			t.Fatal(r.Error)
		}
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("%d descriptors are open, %d were before", after, before)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// TestUnannouncedDescriptors: descriptors that a frame does not announce end the connection.
func TestUnannouncedDescriptors(t *testing.T) {
	ours, theirs := socketPair(t)
	defer ours.Close()
	child, err := New(theirs, nil, testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	f := newSegment(t, []float32{1}, true)
	if _, _, err := ours.WriteMsgUnix(prefix(frameMagic, Protocol, 0, 2, 0), unix.UnixRights(int(f.Fd())), nil); err != nil {
		t.Fatal(err)
	}
	if err := child.Serve(t.Context()); err == nil || !strings.Contains(err.Error(), "does not announce") {
		t.Errorf("Serve: %v", err)
	}
}
