//go:build unix

package worker

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// TestSearch compares answers with those of an engine: of one part and of several, and in memory
// of their own.
func TestSearch(t *testing.T) {
	const n, dim, k = 3000, 48, 7
	rows := randomRows(1, n, dim)
	c := newClient(t, testOptions(t))
	handle := c.built(rows, dim)
	built, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := cpu.New(cpu.Options{Threads: 2})
	defer b.Close()
	e, err := batch.Open(t.Context(), built, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, m := range []int{1, 20, 2100} {
		queries := randomRows(2, m, dim)
		want, err := e.Search(t.Context(), batch.Request{Queries: queries, K: k, Method: batch.Certain, SearchScores: true})
		if err != nil {
			t.Fatal(err)
		}
		var reply searched
		r := c.must(&reply, "search", object{"handle": handle, "k": k, "method": "certain"}, floats("queries", m, dim, queries))
		if !reply.Complete || reply.K != k {
			t.Errorf("%d queries: %+v", m, reply)
		}
		ids := elements[int64](aligned(r.bytes["rows"]))
		scores := elements[float64](aligned(r.bytes["scores64"]))
		for j, a := range want.Answers {
			if d := cmp.Diff(a.IDs, ids[j*k:(j+1)*k]); d != "" {
				t.Fatalf("%d queries: ids of query %d: %s", m, j, d)
			}
			if d := cmp.Diff(a.SearchScores, scores[j*k:(j+1)*k]); d != "" { // inner products are shown as they are
				t.Fatalf("%d queries: scores of query %d: %s", m, j, d)
			}
			got := readCertificate(r.bytes["certificates"][j*certificateBytes:])
			if got.Guarantee != a.Certificate.Guarantee || got.StoppedBy != batch.Done || *got.Threshold != *a.Certificate.Threshold {
				t.Fatalf("%d queries: certificate of query %d: %+v, want %+v", m, j, got, a.Certificate)
			}
		}
		if inFrame := r.Arrays[0].At == inBody; inFrame != (m <= 20) {
			t.Errorf("%d queries: ids are at %q", m, r.Arrays[0].At)
		}
	}
}

// aligned returns a copy of b at a multiple of 8.
func aligned(b []byte) []byte {
	out := alignedBytes(int64(len(b)))
	copy(out, b)
	return out
}

// TestGoals compares goals of queries with a search that scores everything.
func TestGoals(t *testing.T) {
	const n, dim = 300, 32
	rows := randomRows(1, n, dim)
	c := newClient(t, testOptions(t))
	handle := c.built(rows, dim)
	rapid.Check(t, func(r *rapid.T) {
		m := rapid.IntRange(1, 5).Draw(r, "m")
		queries := randomRows(rapid.Uint64().Draw(r, "seed"), m, dim)
		ks := rapid.SliceOfN(rapid.Int64Range(1, 9), m, m).Draw(r, "ks")
		ceilings := rapid.SliceOfN(rapid.SampledFrom([]float64{math.NaN(), 0, 5}), m, m).Draw(r, "ceilings")
		lims, exclude := []int64{0}, []int64{}
		for range m {
			exclude = append(exclude, rapid.SliceOfN(rapid.Int64Range(0, n-1), 0, 20).Draw(r, "exclude")...)
			lims = append(lims, int64(len(exclude)))
		}
		mask := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 1}), n, n).Draw(r, "mask")
		got := c.must(nil, "search", object{"handle": handle, "method": "certain"}, floats("queries", m, dim, queries),
			integers("ks", ks...), sent{"ceilings", float64s, []int64{int64(m)}, bytesOf(ceilings)},
			integers("exclude", exclude...), integers("exclude_lims", lims...), sent{"mask", bools, []int64{n}, mask})
		width := int(slices.Max(ks))
		ids := elements[int64](aligned(got.bytes["rows"]))
		for j := range m {
			want := best(rows, queries[j*dim:(j+1)*dim], int(ks[j]), func(row int, score float64) bool {
				return mask[row] != 0 && !slices.Contains(exclude[lims[j]:lims[j+1]], int64(row)) && !(score > ceilings[j])
			})
			for len(want) < width {
				want = append(want, -1)
			}
			if d := cmp.Diff(want, ids[j*width:(j+1)*width]); d != "" {
				r.Fatalf("query %d: %s", j, d)
			}
		}
	})
}

// best returns the k best rows that are allowed, by score and then number.
func best(rows, q []float32, k int, allowed func(row int, score float64) bool) []int64 {
	type scored struct {
		row   int64
		score float64
	}
	var all []scored
	for i := range len(rows) / len(q) {
		sum := 0.
		for j, x := range q {
			sum += float64(x) * float64(rows[i*len(q)+j])
		}
		if allowed(i, sum) {
			all = append(all, scored{int64(i), sum})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var out []int64
	for _, s := range all[:min(k, len(all))] {
		out = append(out, s.row)
	}
	return out
}

// TestBadCalls: a wrong argument is an error that names it, and the connection stays.
func TestBadCalls(t *testing.T) {
	const n, dim = 100, 32
	c := newClient(t, testOptions(t))
	handle := c.built(randomRows(1, n, dim), dim)
	var cosines about
	c.must(&cosines, "build", object{"metric": "cosine"}, floats("vectors", n, dim, randomRows(1, n, dim)))
	q := floats("queries", 2, dim, randomRows(2, 2, dim))
	nan := randomRows(2, 2, dim)
	nan[dim+3] = float32(math.NaN())
	other := randomRows(1, n, dim)[3*dim : 5*dim] // rows 3 and 4, but for one value
	other[2*dim-1]++
	search := func(more object) object {
		f := object{"handle": handle, "k": 3}
		for k, v := range more {
			f[k] = v
		}
		return f
	}
	file := filepath.Join(t.TempDir(), "short.npy")
	if err := os.WriteFile(file, []byte("\x93NUMPY"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name, op string
		fields   any
		arrays   []sent
		kind     string
		argument string
		text     string
	}{
		{"operation", "seek", object{}, nil, badInput, "op", "seek"},
		{"protocol", "hello", object{"protocol": 9}, nil, badInput, "protocol", "version 9"},
		{"field", "search", search(object{"kk": 1}), []sent{q}, badInput, "kk", "no such field"},
		{"type of field", "search", search(object{"k": "ten"}), []sent{q}, badInput, "k", "string"},
		{"handle", "search", object{"handle": 77, "k": 3}, []sent{q}, unknownHandle, "handle", "77"},
		{"array missing", "search", search(nil), nil, badInput, "queries", "missing"},
		{"array unknown", "search", search(nil), []sent{q, integers("extra", 1)}, badInput, "extra", "no such array"},
		{"array twice", "search", search(nil), []sent{q, q}, badInput, "queries", "twice"},
		{"dtype unknown", "search", search(nil), []sent{{"queries", "<f2", []int64{1, dim}, make([]byte, 64)}}, badInput, "queries", "<f2"},
		{"dtype wrong", "search", search(nil), []sent{{"queries", float64s, []int64{1, dim}, make([]byte, 8*dim)}}, badInput, "queries", "<f4 is wanted"},
		{"dimensions", "search", search(nil), []sent{{"queries", float32s, []int64{1, 1, dim}, make([]byte, 4*dim)}}, badInput, "queries", "3 dimensions"},
		{"negative shape", "search", search(nil), []sent{{"queries", float32s, []int64{-1, dim}, nil}}, badInput, "queries", "shape"},
		{"shape overflows", "search", search(nil), []sent{{"queries", float32s, []int64{1 << 62, 8}, nil}}, badInput, "queries", "shape"},
		{"too few bytes", "search", search(nil), []sent{{"queries", float32s, []int64{3, dim}, make([]byte, 8*dim)}}, badInput, "queries", "384 bytes"},
		{"dimension", "search", search(nil), []sent{floats("queries", 1, 16, make([]float32, 16))}, badInput, "queries", "the vectors have 32"},
		{"no queries", "search", search(nil), []sent{floats("queries", 0, dim, nil)}, badInput, "queries", "none given"},
		{"NaN", "search", search(nil), []sent{floats("queries", 2, dim, nan)}, badInput, "queries", "row 1: column 3"},
		{"k", "search", search(object{"k": 0}), []sent{q}, badInput, "k", "at least 1"},
		{"ks", "search", search(nil), []sent{q, integers("ks", 1, 0)}, badInput, "ks", "row 1"},
		{"length of ks", "search", search(nil), []sent{q, integers("ks", 1)}, badInput, "ks", "[2] is wanted"},
		{"method", "search", search(object{"method": "guess"}), []sent{q}, badInput, "method", "guess"},
		{"delta", "search", search(object{"delta": 2}), []sent{q}, badInput, "delta", "2"},
		{"lists apart", "search", search(nil), []sent{q, integers("exclude", 1)}, badInput, "exclude", "go together"},
		{"lims descend", "search", search(nil), []sent{q, integers("exclude", 1, 2), integers("exclude_lims", 0, 3, 2)}, badInput, "exclude_lims", "ascend"},
		{"lims beyond", "search", search(nil), []sent{q, integers("exclude", 1, 2), integers("exclude_lims", 0, 1, 9)}, badInput, "exclude_lims", "9"},
		{"excluded row", "search", search(nil), []sent{q, integers("exclude", n), integers("exclude_lims", 0, 0, 1)}, badInput, "exclude", "row 1"},
		{"mask and filter", "search", search(nil), []sent{q, {"mask", bools, []int64{n}, make([]byte, n)}, integers("filter", 1)}, badInput, "mask", "filter"},
		{"self", "search", search(object{"self_first": n}), []sent{q}, badInput, "self_first", "rows 100"},
		{"other than itself", "search", search(object{"self_first": 3}), []sent{floats("queries", 2, dim, other)}, badInput, "self_first", "row 1: query 1 is not row 4 of the vectors"},
		{"other than itself, of a recall", "recall", object{"handle": handle, "self_first": 3}, []sent{floats("queries", 2, dim, other), {"answers", int64s, []int64{2, 1}, make([]byte, 16)}}, badInput, "self_first", "query 1 is not row 4"},
		{"floor above ceiling", "search", search(object{"min_score": 3, "max_score": 2}), []sent{q}, badInput, "max_score", "3"},
		{"limit of a search", "search", search(object{"limit": 3}), []sent{q}, badInput, "limit", "range"},
		{"range without floor", "range", object{"handle": handle}, []sent{q}, badInput, "min_score", "missing"},
		{"metric", "build", object{"metric": "l3"}, []sent{floats("vectors", 2, dim, make([]float32, 2*dim))}, badInput, "metric", "l3"},
		{"no metric", "build", object{}, []sent{floats("vectors", 2, dim, make([]float32, 2*dim))}, badInput, "metric", "no metric is given: ip (largest inner product), cosine"},
		{"no metric of a file", "open", object{"path": file}, nil, badInput, "metric", "no metric is given: ip"},
		{"device", "build", object{"metric": "ip", "device": "abacus"}, []sent{floats("vectors", 2, dim, make([]float32, 2*dim))}, badInput, "device", "abacus"},
		{"no rows", "build", object{"metric": "ip"}, []sent{floats("vectors", 0, dim, nil)}, badInput, "vectors", "no rows"},
		{"NaN of a vector", "build", object{"metric": "ip"}, []sent{floats("vectors", 2, dim, nan)}, badInput, "vectors", "row 1: column 3"},
		{"NaN of an added vector", "add", object{"handle": handle}, []sent{floats("vectors", 2, dim, nan)}, badInput, "vectors", "row 1: column 3"},
		{"removed row", "delete", object{"handle": handle}, []sent{integers("rows", 5, n)}, badInput, "rows", "entry 1"},
		{"relative path", "open", object{"path": "x.npy", "metric": "ip"}, nil, badInput, "path", "absolute"},
		{"no file", "open", object{"path": "/nowhere/x.npy", "metric": "ip"}, nil, badFile, "path", "no such file"},
		{"no regular file", "open", object{"path": "/dev/null", "metric": "ip"}, nil, badFile, "path", "regular"},
		{"short file", "open", object{"path": file, "metric": "ip"}, nil, badFile, "path", "truncated"},
		{"name of a collection", "save", object{"handle": handle, "path": "/x.npy"}, nil, badInput, "path", ".thresher"},
		{"answers of another length", "recall", object{"handle": handle}, []sent{q, {"answers", int64s, []int64{1, 2}, make([]byte, 16)}}, badInput, "answers", "1 rows for 2"},
		{"vector of an answer", "recall", object{"handle": handle}, []sent{q, {"answers", int64s, []int64{2, 1}, bytesOf([]int64{1, n})}}, badInput, "answers", "vector 100"},
		{"k of a graph", "graph", object{"handle": handle, "k": 0}, nil, badInput, "k", "at least 1"},
		{"pairs without score", "pairs", object{"handle": handle}, nil, badInput, "min_score", "missing"},
		{"pairs of no cosine", "pairs", object{"handle": cosines.Handle, "min_score": 1.5}, nil, badInput, "min_score", "1.5: cosines are at most 1"},
		{"most pairs", "pairs", object{"handle": handle, "min_score": -1000, "max_pairs": 5}, nil, badInput, "max_pairs", "pairs"},
		{"method of certify", "certify", object{"handle": handle, "method": "banditmips"}, []sent{q, {"answers", int64s, []int64{2, 1}, make([]byte, 16)}}, badInput, "method", "search, recall, graph and pursuit do"},
		{"no terms", "pursuit", object{"handle": cosines.Handle}, []sent{floats("signals", 2, dim, other)}, badInput, "terms", "0 is not from 1"},
		{"no signals", "pursuit", object{"handle": cosines.Handle, "terms": 1}, nil, badInput, "signals", "missing"},
		{"columns of signals", "pursuit", object{"handle": cosines.Handle, "terms": 1}, []sent{floats("signals", 1, dim+1, make([]float32, dim+1))}, badInput, "signals", "columns"},
		{"NaN of a signal", "pursuit", object{"handle": cosines.Handle, "terms": 1}, []sent{floats("signals", 2, dim, nan)}, badInput, "signals", "row 1: coordinate 3 is NaN"},
		{"metric of a pursuit", "pursuit", object{"handle": handle, "terms": 1}, []sent{floats("signals", 2, dim, other)}, badInput, "vectors", "metric ip"},
		{"option of a pursuit", "pursuit", object{"handle": cosines.Handle, "terms": 1, "published": object{"warm": 1}}, []sent{floats("signals", 2, dim, other)}, badInput, "published.warm", "method certain has no such option"},
		{"rows to verify", "verify", object{"handle": handle, "k": 1}, []sent{q}, badInput, "rows", "missing"},
		{"free", "free", object{"handle": 99}, nil, unknownHandle, "handle", "99"},
		{"unmap", "unmap", object{"segment": 99}, nil, badInput, "segment", "99"},
		{"map without a descriptor", "map", object{"segment": 1, "bytes": 10}, nil, badInput, "segment", "0 descriptors"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := c.call(x.op, x.fields, x.arrays...)
			if r.Error == nil {
				t.Fatalf("no error: %s", r.Reply)
			}
			if r.Error.Kind != x.kind || r.Error.Argument != x.argument || !strings.Contains(r.Error.Message, x.text) {
				t.Errorf("%+v; kind %q, argument %q, text %q are wanted", r.Error, x.kind, x.argument, x.text)
			}
		})
	}
	c.must(nil, "search", search(nil), q)
}

// TestBadPlaces: arrays that lie where they cannot lie are refused.
func TestBadPlaces(t *testing.T) {
	c := newClient(t, testOptions(t))
	handle := c.built(randomRows(1, 10, 8), 8)
	one := 1
	for _, x := range []struct {
		name string
		d    descriptor
		text string
	}{
		{"nowhere", descriptor{At: "heap"}, "heap"},
		{"no segment", descriptor{At: inSegment, Segment: 4}, "no segment 4"},
		{"negative offset", descriptor{At: inBody, Offset: -8}, "offset"},
		{"offset of a body", descriptor{At: inBody, Offset: 4}, "multiple of 8"},
		{"beyond the body", descriptor{At: inBody, Offset: math.MaxInt64 - 7}, "bytes at"},
		{"segment of a body", descriptor{At: inBody, Segment: 3}, "contradict"},
		{"no file", descriptor{At: inFile}, "descriptor or a path"},
		{"two files", descriptor{At: inFile, Descriptor: &one, Path: "/x"}, "descriptor or a path"},
		{"descriptor", descriptor{At: inFile, Descriptor: &one}, "descriptor 1 of 0"},
		{"path", descriptor{At: inFile, Path: "/nowhere"}, "no such file"},
		{"folder", descriptor{At: inFile, Path: "/"}, "regular"},
		{"device", descriptor{At: inFile, Path: "/dev/zero"}, "regular"},
		{"file too short", descriptor{At: inFile, Path: "/etc/hostname", Offset: 1 << 30}, "of a file of"},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.d.Name, x.d.DType, x.d.Shape = "queries", float32s, []int64{1, 8}
			c.next++
			c.post(object{"id": c.next, "op": "search", "fields": object{"handle": handle, "k": 1}, "arrays": []descriptor{x.d}})
			r := c.receive()
			if r.Error == nil || r.Error.Argument != "queries" || !strings.Contains(r.Error.Message, x.text) {
				t.Errorf("%+v; %q is wanted", r.Error, x.text)
			}
		})
	}
}

// TestBadFrames: a frame that cannot be understood ends the connection with an error.
func TestBadFrames(t *testing.T) {
	header, _ := frameOf(1, "hello", object{"protocol": Protocol})
	for _, x := range []struct {
		name  string
		bytes []byte
		text  string
	}{
		{"magic", prefix("HT", Protocol, 0, 2, 0), "begins with"},
		{"version", prefix(frameMagic, 9, 0, 2, 0), "version 9"},
		{"descriptors", prefix(frameMagic, Protocol, 200, 2, 0), "200 descriptors"},
		{"descriptors that do not come", prefix(frameMagic, Protocol, 2, 2, 0), "2 descriptors announced, 0 came"},
		{"header", prefix(frameMagic, Protocol, 0, maxHeaderBytes+1, 0), "header of"},
		{"body", prefix(frameMagic, Protocol, 0, 2, math.MaxUint64), "body of"},
		{"JSON", append(prefix(frameMagic, Protocol, 0, 2, 0), "{]"...), "invalid"},
		{"two values", append(prefix(frameMagic, Protocol, 0, 4, 0), "{}{}"...), "more than one"},
		{"unknown member", append(prefix(frameMagic, Protocol, 0, 7, 0), `{"a":1}`...), "no such field"},
		{"no id", append(prefix(frameMagic, Protocol, 0, 16, 0), `{"op": "hello" }`...), "without an id"},
		{"negative id", append(prefix(frameMagic, Protocol, 0, 9, 0), `{"id":-1}`...), "id -1"},
		{"ends in the prefix", prefix(frameMagic, Protocol, 0, 2, 0)[:7], ""},
		{"ends in the header", append(prefix(frameMagic, Protocol, 0, uint32(len(header)), 0), header[:5]...), ""},
		{"ends in the body", append(prefix(frameMagic, Protocol, 0, uint32(len(header)), 1<<30), header...), ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			ours, theirs := socketPair(t)
			child, err := New(theirs, nil, testOptions(t))
			if err != nil {
				t.Fatal(err)
			}
			defer child.Close()
			defer ours.Close()
			if _, err := ours.Write(x.bytes); err != nil {
				t.Fatal(err)
			}
			if err := ours.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			err = child.Serve(t.Context())
			if err == nil || !strings.Contains(err.Error(), x.text) {
				t.Fatalf("Serve: %v; %q is wanted", err, x.text)
			}
			if x.text == "" {
				return
			}
			f, err := readFrame(socketOf(t, ours))
			if err != nil {
				t.Fatal(err)
			}
			var r received
			if err := json.Unmarshal(f.header, &r); err != nil {
				t.Fatal(err)
			}
			if r.ID != 0 || r.Error == nil || r.Error.Kind != badProtocol || !strings.Contains(r.Error.Message, x.text) {
				t.Errorf("%s; %q is wanted", f.header, x.text)
			}
		})
	}
}

// TestCancel: a call that is cancelled while it works is answered so, and leaves no collection.
func TestCancel(t *testing.T) {
	o := testOptions(t)
	begun, let := make(chan struct{}), make(chan struct{})
	device := o.Device
	o.Device = func(ctx context.Context, name string, threads int, c *collection.Collection) (*Device, error) {
		close(begun)
		<-let
		return device(ctx, name, threads, c)
	}
	c := newClient(t, o)
	id := c.send("build", object{"metric": "ip"}, floats("vectors", 100, 32, randomRows(1, 100, 32)))
	<-begun
	c.post(object{"id": 0, "op": "cancel", "fields": object{"call": id}})
	c.must(nil, "hello", object{"protocol": Protocol}) // follows the cancellation
	close(let)
	if r := c.receive(); r.ID != id || r.Error == nil || r.Error.Kind != cancelled {
		t.Fatalf("%+v; the error cancelled is wanted", r)
	}
	c.child.registry.mu.Lock()
	n := len(c.child.registry.by)
	c.child.registry.mu.Unlock()
	if n != 0 {
		t.Errorf("%d collections are left", n)
	}
	c.post(object{"id": 0, "op": "cancel", "fields": object{"call": 99}}) // of no call
	c.must(nil, "hello", object{"protocol": Protocol})
}

// TestEnd: the end of the connection ends calls.
func TestEnd(t *testing.T) {
	o := testOptions(t)
	begun := make(chan struct{})
	o.Device = func(ctx context.Context, _ string, _ int, _ *collection.Collection) (*Device, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c := newClient(t, o)
	c.send("build", object{"metric": "ip"}, floats("vectors", 100, 32, randomRows(1, 100, 32)))
	<-begun
	c.end()
}

// TestDeadline: a search that has a deadline returns what it has, a build fails.
func TestDeadline(t *testing.T) {
	const dim = 64
	c := newClient(t, testOptions(t))
	rows := randomRows(1, 2000, dim)
	handle := c.built(rows, dim)
	header, body := frameOf(50, "search", object{"handle": handle, "k": 3}, floats("queries", 2000, dim, rows))
	header = append(header[:len(header)-1], `,"deadline_ms":0.0001}`...)
	if err := sendFrame(c.link, header, body, nil); err != nil {
		t.Fatal(err)
	}
	r := c.receive()
	var reply searched
	if err := json.Unmarshal(r.Reply, &reply); r.Error != nil || err != nil {
		t.Fatal(r.Error, err)
	}
	if got := readCertificate(r.bytes["certificates"]); reply.Complete || got.StoppedBy != batch.Deadline {
		t.Errorf("complete %v, stopped by %q; a deadline is wanted", reply.Complete, got.StoppedBy)
	}
	header, body = frameOf(51, "build", object{"metric": "ip"}, floats("vectors", 2000, dim, rows))
	header = append(header[:len(header)-1], `,"deadline_ms":0.0001}`...)
	if err := sendFrame(c.link, header, body, nil); err != nil {
		t.Fatal(err)
	}
	if r := c.receive(); r.Error == nil || r.Error.Kind != pastDeadline {
		t.Errorf("build: %+v", r.Error)
	}
}

// TestBusy: there is a limit of calls in progress, and an id names one call.
func TestBusy(t *testing.T) {
	o := testOptions(t)
	device, let := o.Device, make(chan struct{})
	o.Device = func(ctx context.Context, name string, threads int, c *collection.Collection) (*Device, error) {
		<-let
		return device(ctx, name, threads, c)
	}
	c := newClient(t, o)
	vectors := floats("vectors", 20, 32, randomRows(1, 20, 32))
	for range maxCalls {
		c.send("build", object{"metric": "ip"}, vectors)
	}
	id := c.send("build", object{"metric": "ip"}, vectors)
	if r := c.receive(); r.ID != id || r.Error == nil || r.Error.Kind != busy {
		t.Errorf("%+v; the error busy is wanted", r)
	}
	close(let)
	for range maxCalls {
		if r := c.receive(); r.Error != nil {
			t.Error(r.Error)
		}
	}
}

// TestProgress: a call that asks for it is told how far it has come.
func TestProgress(t *testing.T) {
	c := newClient(t, testOptions(t))
	header, body := frameOf(1, "build", object{"metric": "ip"}, floats("vectors", 5000, 32, randomRows(1, 5000, 32)))
	header = append(header[:len(header)-1], `,"progress":true}`...)
	if err := sendFrame(c.link, header, body, nil); err != nil {
		t.Fatal(err)
	}
	r := c.receive()
	if r.Progress == nil || r.Progress.Step != "building" || r.Progress.Total != 10000 {
		t.Fatalf("%+v; progress is wanted", r)
	}
	for r.Progress != nil {
		r = c.receive()
	}
	if r.Error != nil {
		t.Error(r.Error)
	}
}

// TestPipes: without a socket arrays come in the frame.
func TestPipes(t *testing.T) {
	in, toChild, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromChild, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer fromChild.Close()
	child, err := New(in, out, testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- child.Serve(t.Context()) }()
	ours := &pipes{fromChild, toChild}
	rows := randomRows(1, 20000, 8)
	header, body := frameOf(1, "build", object{"metric": "ip"}, floats("vectors", 20000, 8, rows))
	if err := sendFrame(ours, header, body, nil); err != nil {
		t.Fatal(err)
	}
	f, err := readFrame(ours)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Reply about }
	if err := json.Unmarshal(f.header, &r); err != nil {
		t.Fatal(err)
	}
	header, body = frameOf(2, "search", object{"handle": r.Reply.Handle, "k": 100}, floats("queries", 200, 8, rows[:200*8]))
	if err := sendFrame(ours, header, body, nil); err != nil {
		t.Fatal(err)
	}
	if f, err = readFrame(ours); err != nil {
		t.Fatal(err)
	}
	if least := 200 * 100 * 12; len(f.body) < least {
		t.Errorf("a body of %d bytes, at least %d: %s", len(f.body), least, f.header)
	}
	if err := toChild.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := child.Close(); err != nil {
		t.Error(err)
	}
}

// TestServeEndsWithContext: the parent's end interrupts a read.
func TestServeEndsWithContext(t *testing.T) {
	ours, theirs := socketPair(t)
	defer ours.Close()
	child, err := New(theirs, nil, testOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- child.Serve(ctx) }()
	cancel()
	select {
	case err := <-served:
		if err != context.Canceled {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Fatal("Serve goes on")
	}
}

// TestReadGrowing: what a length announces is not allocated before it arrives.
func TestReadGrowing(t *testing.T) {
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := readGrowing(io.LimitReader(zeros{}, 100), maxBodyBytes); err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
	})
	if allocated > 10 {
		t.Errorf("%.0f allocations", allocated)
	}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.Int64Range(0, 5<<20).Draw(r, "n")
		b, err := readGrowing(zeros{}, n)
		if err != nil || int64(len(b)) != n {
			r.Fatalf("%d bytes of %d: %v", len(b), n, err)
		}
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return min(len(b), 1<<16), nil }

// TestAnswerThatCannotBeSent checks that a client gets an error in place of an answer that JSON
// cannot express, or waits forever.
func TestAnswerThatCannotBeSent(t *testing.T) {
	l := &memoryLink{}
	newChild(l, testOptions(t)).conclude(7, struct{ X float64 }{math.NaN()}, nil, nil)
	f, err := readFrame(&memoryLink{in: l.out})
	if err != nil {
		t.Fatal(err)
	}
	var r received
	if err := json.Unmarshal(f.header, &r); err != nil {
		t.Fatal(err)
	}
	if r.ID != 7 || r.Error == nil || r.Error.Kind != internal {
		t.Errorf("%s", f.header)
	}
}

// TestStatedNaN checks that scores of answers that are no numbers are refused, unless they pad.
func TestStatedNaN(t *testing.T) {
	c := newClient(t, testOptions(t))
	handle, nan := c.built([]float32{1, 0, 0, 1}, 2), float32(math.NaN())
	answers := sent{"answers", int64s, []int64{1, 2}, bytesOf([]int64{0, -1})}
	c.must(nil, "recall", object{"handle": handle, "k": 1}, floats("queries", 1, 2, []float32{1, 0}), answers, floats("scores", 1, 2, []float32{1, nan}))
	for _, op := range []string{"recall", "certify"} {
		r := c.call(op, object{"handle": handle, "k": 1}, floats("queries", 1, 2, []float32{1, 0}), answers, floats("scores", 1, 2, []float32{nan, nan}))
		if r.Error == nil || r.Error.Kind != badInput || r.Error.Argument != "scores" || r.Error.Row == nil {
			t.Errorf("%s: %+v, of NaN", op, r.Error)
		}
	}
}
