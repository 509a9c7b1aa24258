package dataset

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strconv"
	"testing"

	"thresher/internal/vectors"

	"github.com/parquet-go/parquet-go"
)

const benchRows, benchDim = 4096, 256

func benchMatrix() []float32 {
	rng := rand.New(rand.NewPCG(5, 6))
	return vectors.Gaussian(rng, benchRows, benchDim)
}

// benchRead reports bytes of the file; data is a whole file in memory.
func benchRead(b *testing.B, format Format, data []byte) {
	buf := make([]float32, 256*benchDim)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := openFormat(memorySource("bench", data), format, nil)
		if err != nil {
			b.Fatal(err)
		}
		rows := 0
		for {
			n, err := r.Read(buf)
			if err != nil {
				break
			}
			rows += n
		}
		if rows != benchRows {
			b.Fatalf("%d rows", rows)
		}
		r.Close()
	}
}

func BenchmarkNPY(b *testing.B) {
	var f bytes.Buffer
	if err := WriteNPY(&f, benchRows, benchDim, benchMatrix()); err != nil {
		b.Fatal(err)
	}
	benchRead(b, NPY, f.Bytes())
}

func BenchmarkNPYFloat16(b *testing.B) {
	data := npyOf("<f2", "False", "(4096, 256)", make([]byte, 2*benchRows*benchDim))
	benchRead(b, NPY, data)
}

func BenchmarkJSONL(b *testing.B) {
	var f bytes.Buffer
	if err := writeArrays(&f, benchRows, benchDim, benchMatrix()); err != nil {
		b.Fatal(err)
	}
	benchRead(b, JSONL, f.Bytes())
}

func BenchmarkParquet(b *testing.B) {
	m := benchMatrix()
	type row struct {
		Vec []float32 `parquet:"vec,list"`
	}
	var f bytes.Buffer
	w := parquet.NewGenericWriter[row](&f, parquet.Compression(&parquet.Snappy))
	for i := range benchRows {
		if _, err := w.Write([]row{{m[i*benchDim : (i+1)*benchDim]}}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	benchRead(b, Parquet, f.Bytes())
}

func BenchmarkReadAllNPY(b *testing.B) {
	var f bytes.Buffer
	if err := WriteNPY(&f, benchRows, benchDim, benchMatrix()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(f.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r, err := openFormat(memorySource("bench", f.Bytes()), NPY, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Drain(context.Background(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAssemble writes the answers to 4,096 queries, with ids that are whole numbers.
func BenchmarkAssemble(b *testing.B) {
	const m, k = 4096, 10
	var spool []byte
	for j := range m {
		r := Result{Query: int64(j), Rows: make([]int64, k), IDs: make([]string, k), Scores: make([]float32, k), Scores64: make([]float64, k), Guarantee: "certain"}
		for i := range k {
			r.Rows[i], r.Scores64[i] = int64((j+i)*7919%100_000), float64(k-i)*1.37
			r.Scores[i], r.IDs[i] = float32(r.Scores64[i]), strconv.Itoa(int(r.Rows[i])+1_000_000)
		}
		spool = AppendRecord(spool, &r)
	}
	for name, write := range map[string]func(io.ReadSeeker) error{
		"npz":     func(s io.ReadSeeker) error { return WriteNPZ(Covering(s, nil), k, io.Discard) },
		"parquet": func(s io.ReadSeeker) error { return WriteParquet(Covering(s, nil), io.Discard) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := write(bytes.NewReader(spool)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/m, "ns/query")
		})
	}
}

func BenchmarkAppendJSONL(b *testing.B) {
	r := Result{Query: 1, Rows: make([]int64, 10), Scores: make([]float32, 10), Scores64: make([]float64, 10), Pulls: 12345}
	for i := range r.Rows {
		r.Scores64[i] = float64(i) * 1.37
		r.Rows[i], r.Scores[i] = int64(i*7919), float32(r.Scores64[i])
	}
	var line []byte
	b.ReportAllocs()
	for b.Loop() {
		line = AppendJSONL(line[:0], &r, false)
	}
	b.SetBytes(int64(len(line)))
}
