//go:build unix

package worker

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
)

// compactOf returns the compact header of a search of body arrays, and the body.
func compactOf(id, handle, k int64, method batch.Method, delta float64, arrays ...sent) (header, body []byte) {
	header = []byte{compactSearch, byte(slices.Index(methods, method)), byte(len(arrays)), 0, 0, 0, 0, 0}
	for _, x := range [...]uint64{uint64(id), uint64(handle), uint64(k), math.Float64bits(delta), 0, 0} {
		header = order.AppendUint64(header, x)
	}
	for _, a := range arrays {
		header = append(header, byte(slices.Index(arrayNames, a.name)), byte(slices.Index(arrayTypes, a.dtype)), 0, byte(len(a.shape)), 0, 0, 0, 0)
		for i := range 2 {
			n := int64(0)
			if i < len(a.shape) {
				n = a.shape[i]
			}
			header = order.AppendUint64(header, uint64(n))
		}
		header = order.AppendUint64(order.AppendUint64(header, 0), uint64(len(body)))
		body = append(append(body, a.data...), make([]byte, -len(a.data)&7)...)
	}
	return header, body
}

// TestCompactSearch: a search with a compact header is answered as one in JSON, by the reading goroutine or
// another.
func TestCompactSearch(t *testing.T) {
	const n, dim, k = 300, 40, 5
	c := newClient(t, testOptions(t))
	rows := randomRows(1, n, dim)
	handle := c.built(rows, dim)
	for _, m := range []int{1, 3, promptQueries + 1} {
		arrays := []sent{floats("queries", m, dim, rows[:m*dim]), integers("exclude_all", 7, 2)}
		for _, method := range []batch.Method{batch.Auto, batch.Certain, batch.Adaptive} {
			want := c.must(nil, "search", object{"handle": handle, "k": k, "method": method, "delta": .05}, arrays...)
			var reply searched
			if err := json.Unmarshal(want.Reply, &reply); err != nil {
				t.Fatal(err)
			}
			header, body := compactOf(1000, handle, k, method, .05, arrays...)
			if err := sendFrame(c.link, header, body, nil); err != nil {
				t.Fatal(err)
			}
			f, err := readFrame(c.link)
			if err != nil {
				t.Fatal(err)
			}
			h := f.header
			if len(h) < compactReplyBytes || len(h)%8 != 0 || h[0] != compactSearch || h[1] != 1 || order.Uint64(h[8:]) != 1000 ||
				order.Uint64(h[16:]) != uint64(m) || order.Uint64(h[24:]) != k {
				t.Fatalf("%s, %d queries: header %q", method, m, h)
			}
			var words searched
			if err := json.Unmarshal(h[compactReplyBytes:], &words); err != nil {
				t.Fatalf("%q: %v", h, err)
			}
			words.K, words.Complete, words.TookMS, words.Saving = k, true, reply.TookMS, math.Float64frombits(order.Uint64(h[40:]))
			if d := cmp.Diff(reply, words); d != "" {
				t.Errorf("%s, %d queries: %s", method, m, d)
			}
			for _, d := range want.Arrays {
				size, _ := d.bytes()
				if d := cmp.Diff(want.bytes[d.Name], f.body[d.Offset:d.Offset+size]); d != "" {
					t.Errorf("%s, %d queries: %s", method, m, d)
				}
			}
		}
	}
}

// TestCompactErrors: what is wrong with a search is said in JSON; what is no header ends the connection.
func TestCompactErrors(t *testing.T) {
	c := newClient(t, testOptions(t))
	handle := c.built(randomRows(1, 30, 8), 8)
	header, body := compactOf(1000, handle+1, 3, batch.Auto, .1, floats("queries", 1, 8, make([]float32, 8)))
	if err := sendFrame(c.link, header, body, nil); err != nil {
		t.Fatal(err)
	}
	if r := c.receive(); r.ID != 1000 || r.Error == nil || r.Error.Kind != unknownHandle {
		t.Errorf("%+v", r)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"short":           func(b []byte) []byte { return b[:compactBytes-1] },
		"array cut short": func(b []byte) []byte { return b[:len(b)-1] },
		"method":          func(b []byte) []byte { b[1] = byte(len(methods)); return b },
		"progress":        func(b []byte) []byte { b[3] = 2; return b },
		"reserved":        func(b []byte) []byte { b[4] = 1; return b },
		"name":            func(b []byte) []byte { b[compactBytes] = byte(len(arrayNames)); return b },
		"type":            func(b []byte) []byte { b[compactBytes+1] = byte(len(arrayTypes)); return b },
		"place":           func(b []byte) []byte { b[compactBytes+2] = byte(len(places)); return b },
		"no dimension":    func(b []byte) []byte { b[compactBytes+3] = 0; return b },
		"dimensions":      func(b []byte) []byte { b[compactBytes+3] = 3; return b },
	} {
		if r, err := readCompact(change(slices.Clone(header))); failureOf(err).Kind != badProtocol {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
	}
}

// TestCallsDuringPromptOnes: one that came while the reading goroutine was performing another makes it give the
// next ones goroutines of their own.
func TestCallsDuringPromptOnes(t *testing.T) {
	c := newClient(t, testOptions(t))
	handle := c.built(randomRows(1, 30, 8), 8)
	send := func(id int64) {
		header, body := compactOf(id, handle, 3, batch.Auto, .1, floats("queries", 1, 8, make([]float32, 8)))
		if err := sendFrame(c.link, header, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	for id := range int64(200) { // 100 at a time
		send(1000 + id)
		if id%100 == 99 {
			for range 100 {
				if f, err := readFrame(c.link); err != nil || f.header[0] != compactSearch {
					t.Fatal(f, err)
				}
			}
		}
	}
	if r := c.call("cancel", object{"call": 1000}); string(r.Reply) != `{"found":false}` {
		t.Errorf("%s", r.Reply)
	}
}
