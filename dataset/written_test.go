package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var writeWritten = flag.Bool("write-written", false, "write testdata/written.txt, the digests of what writers write")

// writtenAnswers returns m answers of about k ids each, by the id that name gives, with the scores, query ids and
// certificates that full says.
func writtenAnswers(m, k int, name func(i int) string, full bool) []Result {
	results := make([]Result, m)
	for j := range results {
		r := &results[j]
		r.Query, r.Pulls, r.Exact, r.Partial = int64(j), int64(j*k), j%2 == 0, j%5 == 4
		r.Guarantee = []string{"", "certain", "proven"}[j%3]
		if r.Guarantee == "proven" {
			r.Delta, r.Epsilon = 0.01, float64(j)/7
		}
		n := k - j%3*(k/4)
		if j%11 == 10 {
			n = 0
		}
		r.Rows, r.Scores = make([]int64, n), make([]float32, n)
		for i := range n {
			r.Rows[i], r.Scores[i] = int64(j*31+i*7)%100_000, float32(k-i)/float32(j+3)
			if name != nil {
				r.IDs = append(r.IDs, name(int(r.Rows[i])))
			}
		}
		if !full {
			continue
		}
		r.QueryID = "q" + strconv.Itoa(j)
		if j%2 == 0 {
			r.QueryID = strconv.Itoa(j)
		}
		r.Certificate = json.RawMessage(`{"k":` + strconv.Itoa(n) + `}`)
		for i := range n {
			r.Scores64 = append(r.Scores64, float64(k-i)/float64(j+3))
		}
		if n > 2 {
			r.Scores[1], r.Scores64[2] = float32(math.Inf(-1)), math.Inf(1)
		}
	}
	if full {
		results[0].Covers = json.RawMessage(`{"rows":5}`)
	}
	return results
}

// written calls each with everything that writers write of some values; of those that fill more than one row group
// only with Parquet.
func written(each func(name string, write func(out io.Writer) error)) {
	ids := []struct {
		name string
		of   func(i int) string
	}{
		{"rows", nil}, {"numbers", func(i int) string { return strconv.Itoa(i + 1_000_000) }},
		{"wide", func(i int) string { return strconv.FormatUint(math.MaxUint64-1-uint64(i), 10) }},
		{"texts", func(i int) string { return "vector \"ä\" " + strconv.Itoa(i) }},
	}
	for _, size := range []struct{ m, k int }{{3, 2}, {40, 9}, {6000, 10}, {1600, 1000}} {
		if testing.Short() && size.m*size.k > parquetGroup {
			continue // left out by -short: takes seconds
		}
		add := func(name string, write func(out io.Writer) error) {
			if size.m*size.k < parquetGroup || strings.HasSuffix(name, "full=false parquet") || strings.HasSuffix(name, "0 parquet") {
				each(name, write)
			}
		}
		for _, id := range ids {
			for _, full := range []bool{false, true} {
				if size.m*size.k > parquetGroup && (full || id.of != nil) {
					continue
				}
				results := writtenAnswers(size.m, size.k, id.of, full)
				rows := eachOf(results)
				name := fmt.Sprintf("answers %dx%d %s full=%v ", size.m, size.k, id.name, full)
				add(name+"npz", func(out io.Writer) error { return WriteNPZ(rows, size.k, out) })
				add(name+"parquet", func(out io.Writer) error { return WriteParquet(rows, out) })
				add(name+"jsonl", func(out io.Writer) error {
					for i := range results {
						if _, err := out.Write(AppendJSONL(nil, &results[i], id.name == "numbers" || id.name == "wide")); err != nil {
							return err
						}
					}
					return nil
				})
				var spool []byte
				for i := range results {
					spool = AppendRecord(spool, &results[i])
				}
				add(name+"spool npz", func(out io.Writer) error { return WriteNPZ(Covering(bytes.NewReader(spool), nil), size.k, out) })
				add(name+"spool parquet", func(out io.Writer) error { return WriteParquet(Covering(bytes.NewReader(spool), nil), out) })
				add(name+"ivecs", func(out io.Writer) error { return AssembleIVecs(bytes.NewReader(spool), size.k, out) })
				add(name+"fvecs", func(out io.Writer) error { return AssembleScores(bytes.NewReader(spool), size.k, FVecs, out) })
				add(name+"fbin", func(out io.Writer) error { return AssembleScores(bytes.NewReader(spool), size.k, FBin, out) })
				add(name+"truth", func(out io.Writer) error { return AssembleTruth(bytes.NewReader(spool), size.k, out) })
				add(name+"ranged truth", func(out io.Writer) error { return AssembleTruth(bytes.NewReader(spool), 0, out) })
				add(name+"truth ids", func(out io.Writer) error { return AssembleTruthIDs(bytes.NewReader(spool), size.k, out) })
			}
		}
		names := make([]string, 100_000)
		for i := range names {
			if i%9 != 1 {
				names[i] = "n,\"" + strconv.Itoa(i)
			}
		}
		rows := eachOf(writtenAnswers(size.m, size.k, nil, false))
		for form, names := range map[string]*IDs{"": nil, " named": IDsOf(names)} {
			name := fmt.Sprintf("graph %dx%d%s ", size.m, size.k, form)
			add(name+"parquet", func(out io.Writer) error { return WriteEdges(out, Parquet, rows, 0, names) })
			add(name+"jsonl", func(out io.Writer) error { return WriteEdges(out, JSONL, rows, 0, names) })
		}
		writtenPairs(add, size.m*size.k, names)
	}
	for _, ids := range [][]string{{}, {"5", "18446744073709551614"}, {"5", "7"}, {"b", "ä"}} {
		each(fmt.Sprintf("saved ids %q", ids), func(out io.Writer) error {
			return WriteSavedIDs(out, filepath.Join("testdata", "make.py"), IDsOf(ids))
		})
	}
}

// writtenPairs adds what is written of n pairs, and of as many members of components.
func writtenPairs(add func(name string, write func(out io.Writer) error), n int, names []string) {
	pairs := func(do func(p *Pair) error) error {
		for i := range n {
			if err := do(&Pair{int64(i) % 1000, int64(i * 7 % 1000), float32(i) / 9, float64(i) / 9}); err != nil {
				return err
			}
		}
		return nil
	}
	tables := map[string]PairTable{
		"": {}, " both": {NamesA: IDsOf(names), NamesB: IDsOf(names)}, " a": {NamesA: IDsOf(names)}, " b": {NamesB: IDsOf(names)},
	}
	for form, table := range tables {
		table.RowsA, table.RowsB, table.Count = 1000, 1000, int64(n)
		for _, format := range []Format{Parquet, CSV, JSONL, NPZ} {
			add(fmt.Sprintf("pairs %d%s %s", n, form, format), func(out io.Writer) error { return WritePairs(out, format, pairs, &table) })
		}
	}
	for form, table := range map[string]ComponentTable{"": {}, " named": {Named: true}, " sided": {Sides: true}, " both": {Named: true, Sides: true}} {
		table.Rows = int64(n)
		members := func(do func(m *Member) error) error {
			for i := range n {
				m := Member{Row: int64(i), Component: int64(i / 3), Size: 3, Label: int32(i / 3), Keep: i%3 == 0}
				if table.Named {
					m.Name = names[i%1000]
				}
				if table.Sides {
					m.Side = "ab"[i*2/n : i*2/n+1]
				}
				if err := do(&m); err != nil {
					return err
				}
			}
			return nil
		}
		for _, format := range []Format{Parquet, CSV, JSONL, NPY, NPZ} {
			add(fmt.Sprintf("components %d%s %s", n, form, format), func(out io.Writer) error { return WriteComponents(out, format, members, &table) })
		}
	}
}

// TestWritten compares the digests of what writers write with those in testdata/written.txt, so that no byte of an
// output changes unnoticed. After a change that is meant, `go test ./dataset -run TestWritten -write-written` writes
// them.
func TestWritten(t *testing.T) {
	path := filepath.Join("testdata", "written.txt")
	text, err := os.ReadFile(path)
	if err != nil && !*writeWritten {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, digest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		want[name] = digest
	}
	got := map[string]string{}
	written(func(name string, write func(out io.Writer) error) {
		h := sha256.New()
		if err := write(h); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got[name] = fmt.Sprintf("%x", h.Sum(nil)[:12])
		if !*writeWritten && got[name] != want[name] {
			t.Errorf("%s: other bytes than before (%s, not %q)", name, got[name], want[name])
		}
	})
	if len(got) != len(want) && !*writeWritten && !testing.Short() {
		t.Errorf("%d outputs, and %s has %d", len(got), path, len(want))
	}
	if !*writeWritten {
		return
	}
	var lines []string
	for name, digest := range got {
		lines = append(lines, name+"\t"+digest+"\n")
	}
	slices.Sort(lines)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
