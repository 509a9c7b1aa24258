package wire

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/vectors"
)

const benchRows, benchDim = 256, 768

func benchQueries() []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	return vectors.Gaussian(rng, benchRows, benchDim)
}

// benchBody is the JSON body of benchQueries.
func benchBody() []byte {
	q := benchQueries()
	b := []byte(`{"k":10,"queries":[`)
	for i, v := range q {
		switch {
		case i%benchDim > 0:
			b = append(b, ',')
		case i > 0:
			b = append(b, "],["...)
		default:
			b = append(b, '[')
		}
		b = AppendFloat(b, v)
	}
	return append(b, `]],"delta":0.01}`...)
}

func BenchmarkDecodeSearch(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeSearch(body, benchDim, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeSearchNPY(b *testing.B) {
	var body bytes.Buffer
	if err := dataset.WriteNPY(&body, benchRows, benchDim, benchQueries()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeSearchNPY(body.Bytes(), nil, benchDim, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeOne(b *testing.B) {
	q := []byte(`{"queries":[[`)
	for i, v := range benchQueries()[:benchDim] {
		if i > 0 {
			q = append(q, ',')
		}
		q = AppendFloat(q, v)
	}
	q = append(q, `]],"k":10}`...)
	b.SetBytes(int64(len(q)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeSearch(q, benchDim, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// benchResponse answers 256 queries with 10 atoms each.
func benchResponse() *batch.Response {
	rng := rand.New(rand.NewPCG(3, 4))
	r := &batch.Response{Answers: make([]batch.Answer, benchRows)}
	threshold := 1.5
	for i := range r.Answers {
		a := &r.Answers[i]
		for range 10 {
			a.IDs = append(a.IDs, rng.Int64N(1e6))
			a.SearchScores = append(a.SearchScores, rng.NormFloat64())
			a.Scores = append(a.Scores, float32(a.SearchScores[len(a.SearchScores)-1]))
		}
		a.Certificate = batch.Certificate{
			Method: batch.Adaptive, Guarantee: batch.GuaranteeProbabilistic, Delta: .01, StoppedBy: batch.Done, Pulls: 123456, DensePulls: 76800000,
			Threshold: &threshold, Plan: "128,whole,rescore", Backend: "cpu", Looks: make([]batch.LookRecord, 3),
		}
	}
	return r
}

func BenchmarkAppendAnswer(b *testing.B) {
	r := benchResponse()
	for _, x := range []struct {
		name string
		s    Search
	}{{"plain", Search{}}, {"scores64", Search{Scores64: true}}, {"rows", Search{Rows: true}}, {"certificates", Search{Certificate: true, Rounds: true}}} {
		b.Run(x.name, func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst = AppendAnswer(dst[:0], 1, nil, time.Millisecond, r, &x.s, Naming{})
			}
			b.ReportMetric(float64(len(dst))/benchRows, "bytes/query")
		})
	}
}

func BenchmarkWriteAnswerNPZ(b *testing.B) {
	r := benchResponse()
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteAnswerNPZ(io.Discard, r, Naming{}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeLine(b *testing.B) {
	line := append([]byte(`{"custom_id":"a","method":"POST","url":"/v1/collections/m/search","body":`), benchBody()...)
	line = append(line, '}')
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeLine(line); err != nil {
			b.Fatal(err)
		}
	}
}
