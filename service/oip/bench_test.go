package oip

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/service/wire"
)

const benchRows, benchDim = 256, 768

func BenchmarkDecode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	q := make([]float32, benchRows*benchDim)
	text := []byte{}
	for i := range q {
		q[i] = float32(rng.NormFloat64())
		if i > 0 {
			text = append(text, ',')
		}
		text = wire.AppendFloat(text, q[i])
	}
	head := fmt.Sprintf(`{"inputs":[{"name":"queries","shape":[%d,%d],"datatype":"FP32"`, benchRows, benchDim)
	tensor := fmt.Sprintf(`%s,"parameters":{"binary_data_size":%d}}]}`, head, 4*len(q))
	tensor += strings.Repeat(" ", -len(tensor)&3)
	for _, x := range []struct {
		name   string
		body   []byte
		length int
	}{
		{"json", append(append([]byte(head+`,"data":[`), text...), `]}]}`...), -1},
		{"aligned", append([]byte(tensor), bytesFrom(q)...), len(tensor)},
		{"unaligned", append([]byte(tensor+" "), bytesFrom(q)...), len(tensor) + 1},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(int64(len(x.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(x.body, x.length, benchDim, wire.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAnswer(b *testing.B) {
	r := &batch.Response{Answers: make([]batch.Answer, benchRows)}
	for i := range r.Answers {
		a := &r.Answers[i]
		for j := range 10 {
			a.IDs = append(a.IDs, int64(1000*i+j))
			a.SearchScores = append(a.SearchScores, 1/float64(1000*i+j+3))
			a.Scores = append(a.Scores, float32(a.SearchScores[j]))
		}
	}
	for _, asBinary := range []bool{false, true} {
		narrow := []Output{{"ids", asBinary}, {"scores", asBinary}, {"exact", asBinary}, {"pulls", asBinary}}
		for _, outputs := range [][]Output{narrow, nil} {
			b.Run(fmt.Sprintf("binary=%v/all=%v", asBinary, outputs == nil), func(b *testing.B) {
				b.ReportAllocs()
				bytes := 0
				for b.Loop() {
					body, _, err := (&Request{Binary: asBinary, Outputs: outputs}).Answer("m", 1, r, wire.Naming{})
					if err != nil {
						b.Fatal(err)
					}
					bytes = len(body)
				}
				b.ReportMetric(float64(bytes)/benchRows, "bytes/query")
			})
		}
	}
}
