//go:build unix

package worker

import (
	"bytes"
	"testing"
)

// FuzzFrames: whatever a client sends, the child neither panics nor reads beyond what it was sent,
// and ends. The seeds have a frame of each operation.
func FuzzFrames(f *testing.F) {
	const dim = 8
	rows := randomRows(1, 30, dim)
	queries := floats("queries", 2, dim, rows[:2*dim])
	answers := sent{"answers", int64s, []int64{2, 1}, bytesOf([]int64{1, 2})}
	at := object{"handle": 1, "k": 1}
	build, body := frameOf(1, "build", object{"metric": "ip", "basis": "auto", "seed": 1, "device": "cpu"}, floats("vectors", 30, dim, rows))
	for _, x := range []struct {
		op     string
		fields any
		arrays []sent
	}{
		{"hello", object{"protocol": Protocol}, nil},
		{"info", object{"handle": 1}, nil},
		{"shard", object{"handle": 1, "ids": []string{"a"}}, nil},
		{"answers", object{"path": "/nowhere/part.json"}, nil},
		{"search", object{"handle": 1, "k": 3, "method": "certain", "delta": .1, "epsilon": .1, "relative": true, "min_score": 0, "max_score": 9, "self_first": 0, "looks": true},
			[]sent{queries, integers("ks", 1, 2), integers("exclude", 1), integers("exclude_lims", 0, 1, 1), integers("candidates", 1), integers("candidates_lims", 0, 1, 1),
				integers("filter", 1, 2), integers("exclude_all", 2), {"floors", float64s, []int64{2}, make([]byte, 16)}, {"ceilings", float64s, []int64{2}, make([]byte, 16)}}},
		{"search", at, []sent{queries, {"mask", bools, []int64{30}, make([]byte, 30)}}},
		{"range", object{"handle": 1, "min_score": 0, "limit": 3}, []sent{queries}},
		{"recall", at, []sent{queries, answers, floats("scores", 2, 1, []float32{1, 2})}},
		{"certify", at, []sent{queries, answers}},
		{"graph", object{"handle": 1, "k": 2, "symmetric": true}, nil},
		{"pairs", object{"handle": 1, "min_score": 3, "max_pairs": 100}, []sent{floats("others", 2, dim, rows[:2*dim])}},
		{"pursuit", object{"handle": 1, "terms": 3, "nonnegative": true, "method": "exact"}, []sent{floats("signals", 2, dim, rows[:2*dim])}},
		{"verify", object{"handle": 1, "k": 1}, []sent{queries, {"rows", int64s, []int64{2, 1}, bytesOf([]int64{1, 2})}, {"certificates", certificates, []int64{2}, make([]byte, 2*certificateBytes)}}},
		{"add", object{"handle": 1}, []sent{floats("vectors", 2, dim, rows[:2*dim])}},
		{"upsert", object{"handle": 1}, []sent{floats("vectors", 2, dim, rows[:2*dim]), integers("rows", 1, 30)}},
		{"delete", object{"handle": 1}, []sent{integers("rows", 1)}},
		{"free", object{"handle": 1}, nil},
		{"cancel", object{"call": 2}, nil},
		{"map", object{"segment": 1, "bytes": 64}, nil},
		{"unmap", object{"segment": 1}, nil},
	} {
		header, more := frameOf(2, x.op, x.fields, x.arrays...)
		f.Add(header, more)
	}
	f.Add([]byte(`{"id":2,"op":"search","fields":{},"arrays":[{"name":"queries","dtype":"<f4","shape":[9007199254740992,1024],"at":"segment","segment":1,"offset":-4}]}`), []byte{})
	header, more := compactOf(2, 1, 3, "auto", .1, queries, integers("ks", 1, 2))
	f.Add(header, more)
	o := testOptions(f)
	f.Fuzz(func(t *testing.T, header, more []byte) {
		if bytes.Contains(header, []byte("path")) || bytes.Contains(header, []byte(`\u`)) || len(header) > maxHeaderBytes {
			t.Skip() // no input may name files of this machine
		}
		l := &memoryLink{}
		child := newChild(l, o)
		for _, fr := range []*frame{{header: build, body: aligned(body)}, {header: header, body: aligned(more)}} {
			if err := child.accept(t.Context(), fr); err != nil {
				fr.close()
			}
			child.calls.Wait()
		}
		if err := child.Close(); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(l.out, []byte(`"kind":"internal"`)) {
			t.Fatalf("%s", l.out)
		}
	})
}

// FuzzPrefix: a stream of any bytes ends with an error or at its end.
func FuzzPrefix(f *testing.F) {
	header, body := frameOf(1, "hello", object{"protocol": Protocol})
	whole := append(append(prefix(frameMagic, Protocol, 0, uint32(len(header)), uint64(len(body))), header...), body...)
	f.Add(whole)
	f.Add(append(whole, whole[:20]...))
	f.Add(prefix(frameMagic, Protocol, 8, 1<<31, 1<<63))
	o := testOptions(f)
	f.Fuzz(func(t *testing.T, stream []byte) {
		if bytes.Contains(stream, []byte("path")) || bytes.Contains(stream, []byte(`\u`)) {
			t.Skip()
		}
		child := newChild(&memoryLink{in: stream}, o)
		child.Serve(t.Context()) // its error is the input's
		if err := child.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
