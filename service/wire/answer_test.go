package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	_ "thresher/internal/draws"
)

// response has a complete answer, one interrupted by a deadline, and an empty one.
func response() *batch.Response {
	open, threshold := 17.25, -1e-7
	return &batch.Response{
		Warnings: []string{`k 10 cut to "2"`},
		Answers: []batch.Answer{
			{IDs: []int64{7, 1}, Scores: []float32{2.5, 0.1}, SearchScores: []float64{-1.25, -.1 / 2}, Certificate: batch.Certificate{
				Method: batch.Adaptive, Guarantee: batch.GuaranteeProbabilistic, Law: batch.LawHaar, Delta: .01, StoppedBy: batch.Done,
				Pulls: 1 << 40, DensePulls: 1 << 41, Bytes: 9, RowsScored: 3, Threshold: &threshold, Plan: "64,rescore",
				Looks: []batch.LookRecord{{Reads: "panels", Width: 64, Rule: "student", Alpha: 1e-8, Seen: 100, Survivors: 5}, {Reads: "codes", Width: 768}},
			}},
			{IDs: []int64{3}, Scores: []float32{float32(math.Inf(-1))}, SearchScores: []float64{math.Inf(-1)}, Certificate: batch.Certificate{
				Method: batch.Exact, Guarantee: batch.GuaranteeBound, StoppedBy: batch.Deadline, Pulls: 5, OpenBound: &open}},
			{Certificate: batch.Certificate{Guarantee: batch.GuaranteeBound, StoppedBy: batch.Cancelled}},
		},
	}
}

func TestAppendAnswer(t *testing.T) {
	for _, x := range []struct {
		name string
		s    Search
		ids  Naming
		want string
	}{
		{"rows", Search{}, Naming{}, `x{"answers_version":2,"version":12,"took_ms":1.5,"results":[` +
			`{"ids":[7,1],"scores":[2.5,0.1],"complete":true,"guarantee":"probabilistic","delta":0.01},` +
			`{"ids":[3],"scores":[null],"complete":false,"guarantee":"bound","delta":0,"open_bound":17.25},` +
			`{"ids":[],"scores":[],"complete":false,"guarantee":"bound","delta":0}],"warnings":["k 10 cut to \"2\""]}`},
		{"integers", Search{}, Naming{Int: func(row int64) int64 { return -row }}, `x{"answers_version":2,"version":12,"took_ms":1.5,"results":[` +
			`{"ids":[-7,-1],"scores":[2.5,0.1],"complete":true,"guarantee":"probabilistic","delta":0.01},` +
			`{"ids":[-3],"scores":[null],"complete":false,"guarantee":"bound","delta":0,"open_bound":17.25},` +
			`{"ids":[],"scores":[],"complete":false,"guarantee":"bound","delta":0}],"warnings":["k 10 cut to \"2\""]}`},
		{"names and certificates", Search{Certificate: true}, Naming{Name: func(row int64) string { return fmt.Sprintf("é\n%d", row) }},
			`x{"answers_version":2,"version":12,"took_ms":1.5,"results":[` +
				`{"ids":["é\n7","é\n1"],"scores":[2.5,0.1],"complete":true,"guarantee":"probabilistic","delta":0.01,"certificate":{"method":"adaptive","guarantee":"probabilistic","law":"haar","delta":0.01,"epsilon":0,` +
				`"exact":false,"stopped_by":"done","pulls":1099511627776,"dense_pulls":2199023255552,"bytes":9,"rows_scored":3,"threshold":-1e-07,"open_bound":null,"plan":"64,rescore"}},` +
				`{"ids":["é\n3"],"scores":[null],"complete":false,"guarantee":"bound","delta":0,"open_bound":17.25,"certificate":{"method":"exact","guarantee":"bound","delta":0,"epsilon":0,` +
				`"exact":false,"stopped_by":"deadline","pulls":5,"dense_pulls":0,"bytes":0,"rows_scored":0,"threshold":null,"open_bound":17.25,"plan":""}},` +
				`{"ids":[],"scores":[],"complete":false,"guarantee":"bound","delta":0,"certificate":{"method":"","guarantee":"bound","delta":0,"epsilon":0,` +
				`"exact":false,"stopped_by":"cancelled","pulls":0,"dense_pulls":0,"bytes":0,"rows_scored":0,"threshold":null,"open_bound":null,"plan":""}}],"warnings":["k 10 cut to \"2\""]}`},
		{"rows and scores64", Search{Rows: true, Scores64: true}, Naming{Int: func(row int64) int64 { return -row }, Metric: collection.Euclidean},
			`x{"answers_version":2,"version":12,"took_ms":1.5,"results":[` +
				`{"ids":[-7,-1],"rows":[7,1],"scores":[2.5,0.1],"scores64":[2.5,0.1],"complete":true,"guarantee":"probabilistic","delta":0.01},` +
				`{"ids":[-3],"rows":[3],"scores":[null],"scores64":[null],"complete":false,"guarantee":"bound","delta":0,"open_bound":17.25},` +
				`{"ids":[],"rows":[],"scores":[],"scores64":[],"complete":false,"guarantee":"bound","delta":0}],"warnings":["k 10 cut to \"2\""]}`},
		{"rounds", Search{Rounds: true}, Naming{}, `x{"answers_version":2,"version":12,"took_ms":1.5,"results":[` +
			`{"ids":[7,1],"scores":[2.5,0.1],"complete":true,"guarantee":"probabilistic","delta":0.01,"rounds":[{"reads":"panels","width":64,"rule":"student","alpha":1e-08,"seen":100,"survivors":5},` +
			`{"reads":"codes","width":768,"rule":"","alpha":0,"seen":0,"survivors":0}]},` +
			`{"ids":[3],"scores":[null],"complete":false,"guarantee":"bound","delta":0,"open_bound":17.25,"rounds":[]},` +
			`{"ids":[],"scores":[],"complete":false,"guarantee":"bound","delta":0,"rounds":[]}],"warnings":["k 10 cut to \"2\""]}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := AppendAnswer([]byte("x"), 12, nil, 1500*time.Microsecond, response(), &x.s, x.ids)
			if !json.Valid(got[1:]) {
				t.Error("not JSON")
			}
			if diff := cmp.Diff(x.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := AppendAnswer(nil, 1, nil, 0, &batch.Response{}, &Search{}, Naming{}); string(got) != `{"answers_version":2,"version":1,"took_ms":0,"results":[]}` {
		t.Errorf("%s", got)
	}
}

// TestCertificateIsWhole: the output equals encoding/json's of batch.Certificate, so that a
// field added there is not forgotten here.
func TestCertificateIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(-1e300, 1e300)
		c := batch.Certificate{
			Method:    batch.Method(rapid.String().Draw(t, "method")),
			Guarantee: batch.Guarantee(rapid.String().Draw(t, "guarantee")), Law: batch.Law(rapid.String().Draw(t, "law")),
			Delta: number.Draw(t, "delta"), Epsilon: number.Draw(t, "epsilon"), Exact: rapid.Bool().Draw(t, "exact"),
			StoppedBy: batch.Stop(rapid.String().Draw(t, "stop")),
			Pulls:     rapid.Int64Min(0).Draw(t, "pulls"), DensePulls: rapid.Int64Min(0).Draw(t, "dense"), Bytes: rapid.Int64Min(0).Draw(t, "bytes"),
			RowsScored: rapid.Int().Draw(t, "rows"), Plan: rapid.String().Draw(t, "plan"),
			Threshold: rapid.Ptr(number, true).Draw(t, "threshold"), OpenBound: rapid.Ptr(number, true).Draw(t, "open"),
			Predicted: number.Draw(t, "predicted"), PredictedCost: number.Draw(t, "cost"),
			Backend: rapid.String().Draw(t, "backend"), Fallback: rapid.String().Draw(t, "fallback"),
		}
		looks := make([]batch.LookRecord, rapid.IntRange(1, 3).Draw(t, "looks"))
		for i := range looks {
			looks[i] = batch.LookRecord{
				Reads: rapid.String().Draw(t, "reads"), Width: rapid.Int().Draw(t, "width"), Rule: rapid.String().Draw(t, "rule"),
				Alpha: number.Draw(t, "alpha"), Seen: rapid.Int().Draw(t, "seen"), Disallowed: rapid.IntRange(-1, 1).Draw(t, "beside"), Survivors: rapid.Int().Draw(t, "survivors"),
			}
		}
		same(t, c, AppendCertificate(nil, &c))
		same(t, looks, appendRounds(nil, looks))
	})
}

// same compares text with encoding/json's output for v.
func same(t *rapid.T, v any, text []byte) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// TestNotFinite: numbers that are not finite do not make the answer invalid JSON.
func TestNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	r := &batch.Response{Answers: []batch.Answer{{IDs: []int64{1}, Scores: []float32{float32(nan)}, Certificate: batch.Certificate{
		StoppedBy: batch.Deadline, Delta: nan, Threshold: &nan, OpenBound: &inf, Predicted: inf, Looks: []batch.LookRecord{{Alpha: nan}}}}}}
	got := AppendAnswer(nil, 1, nil, 1, r, &Search{Certificate: true, Rounds: true}, Naming{})
	if !json.Valid(got) {
		t.Errorf("%s", got)
	}
}

// TestScoresComeBack: the digits of a score determine it.
func TestScoresComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Float32().Draw(t, "score")
		var got float32
		if err := json.Unmarshal(AppendFloat(nil, want), &got); err != nil || math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%v comes back as %v (%v)", want, got, err)
		}
		double := rapid.Float64().Draw(t, "bound")
		var back float64
		if err := json.Unmarshal(AppendDouble(nil, double), &back); err != nil || math.Float64bits(back) != math.Float64bits(double) {
			t.Fatalf("%v comes back as %v (%v)", double, back, err)
		}
	})
}

func TestAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		var got string
		if err := json.Unmarshal(AppendString(nil, want), &got); err != nil || got != want {
			t.Fatalf("%q comes back as %q (%v)", want, got, err)
		}
	})
	if got := string(AppendString(nil, "a\xffb")); got != `"a\ufffdb"` {
		t.Error(got)
	}
}

func TestWriteAnswerNPZ(t *testing.T) {
	var b bytes.Buffer
	if err := WriteAnswerNPZ(&b, response(), Naming{Int: func(row int64) int64 { return row + 100 }, Metric: collection.Euclidean}, nil); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.npz")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := dataset.OpenResults(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []dataset.Result
	for range 3 {
		x, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, x)
	}
	want := []dataset.Result{
		{Query: 0, Rows: []int64{7, 1}, IDs: []string{"107", "101"}, Scores: []float32{2.5, .1}, Scores64: []float64{2.5, .1}, Pulls: 1 << 40, Guarantee: "probabilistic", Delta: .01},
		{Query: 1, Rows: []int64{3}, IDs: []string{"103"}, Scores: []float32{float32(math.Inf(-1))}, Scores64: []float64{math.Inf(1)}, Pulls: 5, Partial: true, Guarantee: "bound"},
		{Query: 2, Partial: true, Guarantee: "bound"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestSearchesComeBack: a search encoded as JSON and as npy is decoded to the same search.
func TestSearchesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 5).Draw(t, "dim")
		m := rapid.IntRange(1, 4).Draw(t, "m")
		q := rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), m*dim, m*dim).Draw(t, "queries")
		k := rapid.IntRange(1, 1e6).Draw(t, "k")
		delta := rapid.Float64Range(1e-300, .999).Draw(t, "delta")
		allow := rapid.SliceOf(rapid.Int64()).Draw(t, "filter")
		deny := rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "exclude")
		rows := make([][]float64, m) // whose text is that of float64, so that nothing is rounded
		for i := range rows {
			for _, x := range q[i*dim : (i+1)*dim] {
				rows[i] = append(rows[i], float64(x))
			}
		}
		body, err := json.Marshal(map[string]any{"queries": rows, "k": k, "delta": delta, "filter": allow, "exclude": deny})
		if err != nil {
			t.Fatal(err)
		}
		want := &Search{Queries: q, M: m, Dim: dim, K: k, Delta: delta, Filter: &IDList{Ints: allow}, Exclude: &IDList{Names: deny}}
		got, err := DecodeSearch(body, dim, Limits{})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatal(err, diff)
		}
		var b bytes.Buffer
		if err := dataset.WriteNPY(&b, m, dim, q); err != nil {
			t.Fatal(err)
		}
		options := map[string][]string{"k": {fmt.Sprint(k)}, "delta": {fmt.Sprint(delta)}}
		got, err = DecodeSearchNPY(b.Bytes(), options, dim, Limits{})
		if err != nil || !slices.Equal(got.Queries, q) || got.K != k || got.Delta != delta {
			t.Fatal(err, got)
		}
	})
}
