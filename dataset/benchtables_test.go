package dataset

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

const tableRows = 4096

// benchFile writes a file for a benchmark.
func benchFile(b *testing.B, name string, data []byte) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// eachRow reports the time of a row of what open opens, which next reads to the end.
func eachRow[R io.Closer](b *testing.B, open func() (R, error), next func(R) error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		r, err := open()
		if err != nil {
			b.Fatal(err)
		}
		rows := 0
		for err = next(r); err == nil; err = next(r) {
			rows++
		}
		if err != io.EOF || rows != tableRows {
			b.Fatalf("%d rows, %v", rows, err)
		}
		r.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tableRows, "ns/row")
}

// BenchmarkNumbers reads two columns of numbers in every format that has columns.
func BenchmarkNumbers(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	csv, lines := []byte("x,k,floor\n"), []byte{}
	var rows []limited
	var ks []uint64
	for range tableRows {
		k, floor := int32(rng.IntN(1000)), float64(rng.IntN(1<<20))/1024
		csv = fmt.Appendf(csv, "1,%d,%v\n", k, floor)
		lines = fmt.Appendf(lines, `{"x":[1,2],"k":%d,"floor":%v}`+"\n", k, floor)
		rows = append(rows, limited{K: &k, Floor: &floor})
		ks = append(ks, uint64(k))
	}
	shape := fmt.Sprintf("(%d,)", tableRows)
	for name, data := range map[string][]byte{
		"a.csv": csv, "a.jsonl": lines, "a.parquet": parquetNumbers(b, rows...), "a.arrows": arrowNumbers(b, rows...),
		"a.npz": npzOf(b, map[string][]byte{"k": npyOf("<i8", "False", shape, le64(ks...)), "floor": npyOf("<i8", "False", shape, le64(ks...))}),
	} {
		path := benchFile(b, name, data)
		b.Run(name, func(b *testing.B) {
			eachRow(b, func() (NumberReader, error) { return OpenNumbers(path, nil, "k", "floor") }, func(r NumberReader) error {
				_, err := r.Next()
				return err
			})
		})
	}
}

// benchAnswers are answers with ids that are whole numbers, texts or none.
func benchAnswers(kind string) []Result {
	const k = 10
	var all []Result
	for j := range tableRows {
		r := Result{Query: int64(j), Rows: make([]int64, k), Scores: make([]float32, k), Scores64: make([]float64, k), Guarantee: "certain", Pulls: 77}
		for i := range k {
			r.Rows[i], r.Scores64[i] = int64((j+i)*7919%100_000), float64(k-i)*1.37
			r.Scores[i] = float32(r.Scores64[i])
			switch kind {
			case "whole":
				r.IDs = append(r.IDs, strconv.Itoa(int(r.Rows[i])+1_000_000))
			case "texts":
				r.IDs = append(r.IDs, "doc-"+strconv.Itoa(int(r.Rows[i])))
			}
		}
		all = append(all, r)
	}
	return all
}

// BenchmarkResults reads answers in the forms that keep certificates' fields, and tables of a row for each atom.
func BenchmarkResults(b *testing.B) {
	for _, kind := range []string{"rows", "whole", "texts"} {
		var spool, lines []byte
		for _, r := range benchAnswers(kind) {
			spool = AppendRecord(spool, &r)
			lines = AppendJSONL(lines, &r, kind == "whole")
		}
		var npz, parquet bytes.Buffer
		if err := WriteNPZ(Covering(bytes.NewReader(spool), nil), 10, &npz); err != nil {
			b.Fatal(err)
		}
		if err := WriteParquet(Covering(bytes.NewReader(spool), nil), &parquet); err != nil {
			b.Fatal(err)
		}
		csv, long := []byte("query,id,score\n"), []byte{}
		for _, r := range benchAnswers(kind) {
			for i := range r.Rows {
				csv = fmt.Appendf(csv, "%d,%s,%v\n", r.Query, r.ID(i), r.Scores[i])
				long = fmt.Appendf(long, `{"query":%d,"id":%q,"score":%v}`+"\n", r.Query, r.ID(i), r.Scores[i])
			}
		}
		for name, data := range map[string][]byte{"a.npz": npz.Bytes(), "a.parquet": parquet.Bytes(), "a.jsonl": lines, "long.csv": csv, "long.jsonl": long} {
			path := benchFile(b, name, data)
			b.Run(kind+"/"+name, func(b *testing.B) {
				eachRow(b, func() (ResultReader, error) { return OpenResults(path, nil) }, func(r ResultReader) error {
					_, err := r.Next()
					return err
				})
			})
		}
	}
}

// BenchmarkLists reads lists of ids.
func BenchmarkLists(b *testing.B) {
	var lines, objects, vecs, indices []byte
	indptr := le64(0)
	for j := range tableRows {
		lines = fmt.Appendf(lines, "[%d,%d,%d,%d]\n", j, j+1, 7*j, 11*j)
		objects = fmt.Appendf(objects, `{"query":%d,"ids":[%d,%d,%d,%d]}`+"\n", j, j, j+1, 7*j, 11*j)
		vecs = append(vecs, le32(4, uint32(j), uint32(j+1), uint32(7*j), uint32(11*j))...)
		indices = append(indices, le32(uint32(j), uint32(j+1), uint32(7*j), uint32(11*j))...)
		indptr = append(indptr, le64(uint64(4*j+4))...)
	}
	for name, data := range map[string][]byte{
		"a.jsonl": lines, "objects.jsonl": objects, "a.ivecs": vecs,
		"a.npz": npzOf(b, map[string][]byte{
			"indptr": npyOf("<i8", "False", fmt.Sprintf("(%d,)", tableRows+1), indptr), "indices": npyOf("<i4", "False", fmt.Sprintf("(%d,)", 4*tableRows), indices),
		}),
	} {
		path := benchFile(b, name, data)
		b.Run(name, func(b *testing.B) {
			eachRow(b, func() (ListReader, error) { return OpenLists(path, nil) }, func(r ListReader) error {
				_, err := r.Next()
				return err
			})
		})
	}
}

// BenchmarkVectorIDs reads small vectors with their ids.
func BenchmarkVectorIDs(b *testing.B) {
	var lines []byte
	csv := []byte("id,d0,d1\n")
	for j := range tableRows {
		csv = fmt.Appendf(csv, "doc-%d,%d,%v\n", j, j, float64(j)/8)
		lines = fmt.Appendf(lines, `{"id":"doc-%d","v":[%d,%v]}`+"\n", j, j, float64(j)/8)
	}
	for name, data := range map[string][]byte{
		"a.csv": csv, "a.jsonl": lines,
		"a.npz": npzOf(b, map[string][]byte{"v": npyOf("<f4", "False", fmt.Sprintf("(%d, 1)", tableRows), make([]byte, 4*tableRows)), "ids": npyOf("<i8", "False", fmt.Sprintf("(%d,)", tableRows), make([]byte, 8*tableRows))}),
	} {
		path := benchFile(b, name, data)
		buf := make([]float32, 2)
		b.Run(name, func(b *testing.B) {
			eachRow(b, func() (Reader, error) { return Open(path, &Options{FindIDs: true}) }, func(r Reader) error {
				_, err := r.Read(buf[:r.Dim()])
				return err
			})
		})
	}
}
