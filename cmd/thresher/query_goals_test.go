package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// wish is a query and what it asks for; nil asks for nothing.
type wish struct {
	Vector []float32 `parquet:"vector,list" json:"vector"`
	K      *int64    `parquet:"k,optional" json:"k"`
	Floor  *float64  `parquet:"floor,optional" json:"floor"`
}

// wishes writes queries with their k and floors in every format that has columns. The npz
// lacks nulls, so limited lists the formats without it.
func wishes(t *testing.T, dir string, all []wish) (files []string) {
	t.Helper()
	var table bytes.Buffer
	w := parquet.NewGenericWriter[wish](&table)
	if _, err := w.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(line), "null", "")
	}
	lines, csv := []byte{}, []byte("k,floor")
	for i := range all[0].Vector {
		csv = fmt.Appendf(csv, ",x%d", i)
	}
	vectors, ks, floors := []float32{}, []int64{}, []byte{}
	for _, q := range all {
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
		csv = fmt.Appendf(csv, "\n%s,%s", text(q.K), text(q.Floor))
		for _, x := range q.Vector {
			csv = fmt.Appendf(csv, ",%v", x)
		}
		vectors = append(vectors, q.Vector...)
		if q.K != nil && q.Floor != nil {
			ks = append(ks, *q.K)
			floors = binary.LittleEndian.AppendUint64(floors, math.Float64bits(*q.Floor))
		}
	}
	files = []string{
		writeFile(t, dir, "q.parquet", table.Bytes()), writeFile(t, dir, "q.jsonl", lines), writeFile(t, dir, "q.csv", csv),
	}
	if len(ks) == len(all) {
		doubles := bytes.Replace(npyInts(ks...), []byte("'<i8'"), []byte("'<f8'"), 1)
		doubles = append(doubles[:len(doubles)-8*len(ks)], floors...)
		files = append(files, npzFile(t, dir, "q.npz", map[string][]byte{"vector": npy(vectors, len(all[0].Vector)), "k": npyInts(ks...), "floor": doubles}))
	}
	return files
}

// TestGoalColumns: each query has the atoms that a search for it alone would give, in every
// format of queries and of answers, and verify agrees.
func TestGoalColumns(t *testing.T) {
	const n, m, dim = 400, 30, 20
	dir := t.TempDir()
	atomRows, queryRows := gaussian(1, n*dim), gaussian(2, m*dim)
	atoms := writeFile(t, dir, "a.npy", npy(atomRows, dim))
	for _, nulls := range []bool{false, true} {
		all := make([]wish, m)
		for j := range all {
			all[j].Vector = queryRows[j*dim : (j+1)*dim]
			if k := int64(1 + j*j%13); !nulls || j%3 > 0 {
				all[j].K = &k
			}
			if floor := float64(j%7) * 1.5; !nulls || j%4 > 0 {
				all[j].Floor = &floor
			}
		}
		want := make([][]int64, m)
		for j := range want {
			k := 6 // of -k
			if all[j].K != nil {
				k = int(*all[j].K)
			}
			for _, id := range ranked(atomRows, queryRows, dim, j) {
				score := 0.0
				for d := range dim {
					score += float64(atomRows[int(id)*dim+d]) * float64(all[j].Vector[d])
				}
				if len(want[j]) < k && (all[j].Floor == nil || score >= *all[j].Floor) {
					want[j] = append(want[j], id)
				}
			}
		}
		for i, queries := range wishes(t, dir, all) {
			for _, name := range formats() {
				if i > 0 && name != "r.npz" {
					continue
				}
				for _, method := range []string{"exact", "certain"} {
					out := filepath.Join(dir, name)
					args := []string{"--atoms", atoms, "--queries", queries, "-k6", "--k-column", "k", "--floor-column", "floor"}
					s := summaryOf(t, thresher(t, append([]string{"search", "--out", out, "--force", "--json", "--chunk", "11", "--method", method}, args...)...))
					if s.K != 13 || s.KColumn != "k" || s.Queries != m {
						t.Errorf("summary %+v", s)
					}
					for j, r := range answersOf(t, out) {
						if diff := cmp.Diff(want[j], r.IDs); len(want[j])+len(r.IDs) > 0 && diff != "" {
							t.Errorf("%s, %s, %s, query %d (-want +got):\n%s", filepath.Base(queries), name, method, j, diff)
						}
					}
					v := thresher(t, append([]string{"verify", "--answers", out, "--guarantee", "certain"}, args...)...)
					v.wantCode(t, exitOK)
					if name != "r.jsonl" {
						continue
					}
					if j := slices.IndexFunc(want, func(ids []int64) bool { return len(ids) > 1 }); j >= 0 {
						short := rewrite(t, out, filepath.Join(dir, "short.jsonl"), shorten(j))
						thresher(t, append([]string{"verify", "--answers", short}, args...)...).wantCode(t, exitWrong)
					}
				}
			}
		}
	}
}

// TestFloorColumnAlone: without -k each query has all atoms that reach its floor.
func TestFloorColumnAlone(t *testing.T) {
	dir := t.TempDir()
	atoms := writeFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n[3]\n[4]\n"))
	queries := writeFile(t, dir, "q.csv", []byte("x,limit\n1,2.5\n-1,\n2,9\n2,4\n"))
	for metric, want := range map[string][][]int64{
		"ip": {{4, 3}, {0, 1}, nil, {4, 3, 2}},                   // at least; the second, of all: -1
		"l2": {{1, 0, 2}, {0}, {2, 1, 3, 0, 4}, {2, 1, 3, 0, 4}}, // at most
	} {
		out := filepath.Join(dir, metric+".ibin")
		args := []string{"--atoms", atoms, "--queries", queries, "--metric", metric, "--floor-column", "limit", "--min-score", map[string]string{"ip": "-1", "l2": "1"}[metric]}
		s := summaryOf(t, thresher(t, append([]string{"search", "--out", out, "--json"}, args...)...))
		if s.K != 0 {
			t.Errorf("k = %d", s.K)
		}
		for j, r := range answersOf(t, out) {
			if diff := cmp.Diff(want[j], r.IDs); len(want[j])+len(r.IDs) > 0 && diff != "" {
				t.Errorf("%s, query %d (-want +got):\n%s", metric, j, diff)
			}
		}
		thresher(t, append([]string{"verify", "--answers", out}, args...)...).wantCode(t, exitOK)
	}
}

func TestGoalColumnsRefuseBadInput(t *testing.T) {
	dir := t.TempDir()
	atoms := writeFile(t, dir, "a.jsonl", []byte("[0,1]\n[1,0]\n"))
	bare := vectorFile(t, dir, "bare.npy", 1, 3, 2)
	out := filepath.Join(dir, "r.npz")
	files := 0
	query := func(content string) string {
		files++
		return writeFile(t, dir, fmt.Sprintf("q%d.jsonl", files), []byte(`{"v":[1,2],"k":1,"f":0}`+"\n"+content+"\n"))
	}
	for _, c := range []struct {
		name    string
		queries string
		args    []string
		want    []string
	}{
		{"no such column", query(`{"v":[1,2],"k":1}`), []string{"--k-column", "n"}, []string{"q1.jsonl", "row 0", `"n"`}},
		{"missing", query(`{"v":[1,2]}`), []string{"--k-column", "k"}, []string{"q2.jsonl", "row 1", `no field "k"`, "null"}},
		{"k of 0", query(`{"v":[1,2],"k":0}`), []string{"--k-column", "k"}, []string{"q3.jsonl", "row 1", `column "k"`, "0", "from 1 to 2147483647"}},
		{"k of one and a half", query(`{"v":[1,2],"k":1.5}`), []string{"--k-column", "k"}, []string{"row 1", `column "k"`, "1.5", "integer from 1"}},
		{"k below 0", query(`{"v":[1,2],"k":-3}`), []string{"--k-column", "k"}, []string{"row 1", `column "k"`, "-3", "integer from 1"}},
		{"k beyond every collection", query(`{"v":[1,2],"k":1e30}`), []string{"--k-column", "k"}, []string{"row 1", `column "k"`, "1e+30", "2147483647"}},
		{"NaN", query(`{"v":[1,2],"f":NaN}`), []string{"--floor-column", "f"}, []string{"row 1", `column "f"`, "N"}},
		{"infinite", query(`{"v":[1,2],"f":1e999}`), []string{"--floor-column", "f"}, []string{"row 1", `column "f"`, "1e999"}},
		{"text", query(`{"v":[1,2],"f":"1"}`), []string{"--floor-column", "f"}, []string{"row 1", `column "f"`}},
		{"null floor without k", query(`{"v":[1,2],"f":null}`), []string{"--floor-column", "f", "--out", filepath.Join(dir, "r.jsonl")}, []string{"row 1", `column "f"`, "without -k"}},
		{"null k without k to verify", query(`{"v":[1,2],"k":null}`), nil, []string{"row 1", `column "k"`, "no -k"}},
		{"any number in a matrix", query(`{"v":[1,2],"f":1}`), []string{"--floor-column", "f"}, []string{"r.npz", "varying length"}},
		{"a format without columns", bare, []string{"--k-column", "k"}, []string{"bare.npy", "format npy has no columns", "parquet, arrow, csv, jsonl and npz"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"search", "--atoms", atoms, "--queries", c.queries, "--out", out}, c.args...)
			if c.args == nil {
				answers := writeFile(t, t.TempDir(), "r.jsonl", []byte(`{"query":0,"ids":[0]}`+"\n"+`{"query":1,"ids":[0]}`+"\n"))
				args = []string{"verify", "--atoms", atoms, "--queries", c.queries, "--answers", answers, "--k-column", "k"}
			}
			thresher(t, args...).wantError(t, c.want...)
			if exists(out) || exists(out+".progress") {
				t.Error("an output was written")
			}
		})
	}
	arrays := npzFile(t, dir, "q.npz", map[string][]byte{"v": npy([]float32{1, 2, 3, 4}, 2), "k": npyInts(1, 2, 3)})
	thresher(t, "search", "--atoms", atoms, "--queries", arrays, "--k-column", "k").wantError(t, "q.npz", `"k"`, "3 rows", "2 queries")
}

// TestGoalColumnsResume: a run that was killed goes on with the goals of the queries left.
func TestGoalColumnsResume(t *testing.T) {
	const m, dim = 2000, 8
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 120, dim)
	rows := gaussian(2, m*dim)
	all := make([]wish, m)
	for j := range all {
		k, floor := int64(1+j%5), float64(j%3)
		all[j] = wish{Vector: rows[j*dim : (j+1)*dim], K: &k, Floor: &floor}
	}
	queries := wishes(t, dir, all)[0]
	args := func(out string) []string {
		return []string{"search", "--atoms", atoms, "--queries", queries, "--k-column", "k", "--floor-column", "floor", "--out", out}
	}
	whole, out := filepath.Join(dir, "whole.npz"), filepath.Join(dir, "out.npz")
	thresher(t, args(whole)...).wantCode(t, exitOK)
	child(t, func(p *os.Process) { p.Kill() }, args(out)...)
	thresher(t, append(args(out), "--resume", "--floor-column", "k")...).wantError(t, "other vectors or settings")
	thresher(t, append(args(out), "--resume")...).wantCode(t, exitOK)
	if !bytes.Equal(readFile(t, whole), readFile(t, out)) {
		t.Error("the answers differ from those of an uninterrupted run")
	}
}
