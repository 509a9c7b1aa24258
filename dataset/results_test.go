package dataset

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/internal/race"
)

var minusInf = float32(math.Inf(-1))

func sampleResults() []Result {
	return []Result{
		{Query: 0, Rows: []int64{3, 1, 2}, Scores: []float32{2.5, 1, 0.25}, Pulls: 77},
		{Query: 1, Rows: []int64{4, 0}, Scores: []float32{7, -1}, Pulls: 9, Exact: true},
	}
}

func spoolOf(rs []Result) *bytes.Reader {
	var b []byte
	for i := range rs {
		b = AppendRecord(b, &rs[i])
	}
	return bytes.NewReader(b)
}

// linesOf opens lines of answers.
func linesOf(t interface{ Fatal(...any) }, text []byte) ResultReader {
	r, err := openAnswerLines(memorySource("a", text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readResults opens a file and reads it to the end.
func readResults(path string) ([]Result, int64, error) {
	r, err := OpenResults(path, nil)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	var all []Result
	for {
		v, err := r.Next()
		if err == io.EOF {
			if _, again := r.Next(); again != io.EOF {
				return nil, 0, errors.New("Next behind the end is not io.EOF again")
			}
			return all, r.Len(), nil
		}
		if err != nil {
			return nil, 0, err
		}
		all = append(all, v)
	}
}

func TestResultFixtures(t *testing.T) {
	for _, file := range []string{"results.npz", "results.parquet"} {
		got, n, err := readResults(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(sampleResults(), got); d != "" || n != 2 {
			t.Errorf("%s: Len %d, (-want +got):\n%s", file, n, d)
		}
	}
}

// parquetAnswer is a file of one answer.
func parquetAnswer(t *testing.T, r Result) []byte {
	t.Helper()
	path, err := assemble(t, []Result{r}, len(r.Rows), ".parquet")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// assemble writes rs in the form that the extension names.
func assemble(t *testing.T, rs []Result, k int, ext string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r"+ext)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spool := spoolOf(rs)
	switch ext {
	case ".npz":
		return path, WriteNPZ(Covering(spool, nil), k, f)
	case ".parquet":
		return path, WriteParquet(Covering(spool, nil), f)
	case ".csv":
		return path, writeAnswersLong(CSV, Covering(spool, nil), f)
	case ".ivecs":
		return path, AssembleIVecs(spool, k, f)
	}
	return path, EachRecord(spool, func(_ int64, r *Result) error {
		_, err := f.Write(AppendJSONL(nil, r, false))
		return err
	})
}

func TestAssembleRoundTrip(t *testing.T) {
	full := sampleResults()
	full[0].IDs = []string{"c", `q"\` + "\n\x01é", ""}
	full[1].IDs = []string{"e", "a"}
	full[0].QueryID, full[1].QueryID = "q0", "7"
	full[0].Scores64, full[1].Scores64 = []float64{2.5 + 1e-12, 1, .25}, []float64{7, -1 - 1e-14}
	full[0].Delta = .01
	full[1].Certificate = json.RawMessage(`{"delta":0.01}`)
	full[0].Partial, full[0].Guarantee, full[1].Guarantee = true, "bound", "probabilistic"
	uncertified := func(r Result) Result { r.Certificate = nil; return r }
	for _, c := range []struct {
		ext    string
		length int64
		loses  func(Result) Result
	}{
		{".jsonl", -1, func(r Result) Result { return r }},
		{".parquet", 2, uncertified},
		{".csv", -1, uncertified},
		{".npz", 2, uncertified},
		{".ivecs", 2, func(r Result) Result { return Result{Query: r.Query, Rows: r.Rows} }},
	} {
		for k := 3; k <= 5; k += 2 {
			path, err := assemble(t, full, k, c.ext)
			if err != nil {
				t.Fatal(err)
			}
			got, n, err := readResults(path)
			if err != nil {
				t.Fatal(err)
			}
			var want []Result
			for _, r := range full {
				want = append(want, c.loses(r))
			}
			if c.ext == ".ivecs" {
				n = 2
			}
			if d := cmp.Diff(want, got); d != "" || n != c.length {
				t.Errorf("%s: Len %d, (-want +got):\n%s", c.ext, n, d)
			}
		}
	}
}

// TestIDsOfAnswers: ids come back as they were from every form, as integers where all are such, and what ids
// have a type for is told from row numbers.
func TestIDsOfAnswers(t *testing.T) {
	for _, c := range []struct {
		descr string
		ids   []string
	}{
		{"<i8", []string{"7", "0", "9223372036854775807"}},
		{"<u8", []string{"7", "18446744073709551615", "9223372036854775808"}},
		{"<U2", []string{"7", "07", "x"}},
		{"<U1", []string{"", "é", "x"}},
		{"<i8", []string{"3", "1", "2"}}, // the row numbers
		{"<i8", nil},
	} {
		for _, known := range []bool{true, false} {
			full := sampleResults()
			if full[0].IDs = c.ids; c.ids != nil {
				full[1].IDs = c.ids[:2]
				full[0].QueryID, full[1].QueryID = c.ids[2], c.ids[1]
			} else if !known {
				continue
			}
			if !known {
				if slices.Contains(c.ids, "") {
					continue // which is padding
				}
				full[0].Rows, full[1].Rows = nil, nil
			}
			for _, ext := range []string{".npz", ".parquet", ".jsonl"} {
				path, err := assemble(t, full, 4, ext)
				if err != nil {
					t.Fatal(err)
				}
				got, _, err := readResults(path)
				if d := cmp.Diff(full, got); err != nil || d != "" {
					t.Errorf("%s of %q, rows %v: %v (-want +got):\n%s", ext, c.ids, known, err, d)
				}
				text, err := os.ReadFile(path)
				if ext == ".npz" && (err != nil || !bytes.Contains(text, []byte("'descr': '"+c.descr+"'")) || bytes.Contains(text, []byte("counts")) != (c.descr == "<u8")) {
					t.Errorf("%v are not stored as %s: %v", c.ids, c.descr, err)
				}
			}
		}
	}
}

// TestAnswersVersions: what a line means depends on the version that it states.
func TestAnswersVersions(t *testing.T) {
	for line, want := range map[string]Result{
		`{"query":0,"ids":[3,1]}`:                                                   {Rows: []int64{3, 1}},
		`{"query":0,"ids":[3,1],"names":["c","a"]}`:                                 {Rows: []int64{3, 1}, IDs: []string{"c", "a"}},
		`{"query":0,"ids":[3,1],"rows":[8,9]}`:                                      {Rows: []int64{3, 1}},
		`{"query":0,"ids":["c","a"]}`:                                               {IDs: []string{"c", "a"}},
		`{"query":0,"ids":[9223372036854775808]}`:                                   {IDs: []string{"9223372036854775808"}},
		`{"query":0,"ids":[3,1],"answers_version":2,"rows":[8,9]}`:                  {Rows: []int64{8, 9}, IDs: []string{"3", "1"}},
		`{"answers_version":2,"query":0,"ids":["c","a"],"rows":[8,9],"names":[""]}`: {Rows: []int64{8, 9}, IDs: []string{"c", "a"}},
		`{"answers_version":2,"query":0,"ids":[3,1],"id_kind":"row"}`:               {Rows: []int64{3, 1}},
		`{"answers_version":2,"query":0,"query_id":7,"ids":[3,1]}`:                  {QueryID: "7", IDs: []string{"3", "1"}},
		`{"answers_version":2,"query":0,"query_id":"07","ids":[],"rows":[]}`:        {QueryID: "07", Rows: []int64{}},
		`{"answers_version":2,"query":0,"query_id":null,"ids":[4],"rows":null}`:     {IDs: []string{"4"}},
	} {
		j := linesOf(t, []byte(line))
		got, err := j.Next()
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", line, err, d)
		}
	}
	for line, want := range map[string]string{
		`{"answers_version":3,"query":0,"ids":[3,1]}`:                "answers_version 3: versions up to 2 are read",
		`{"answers_version":2,"query":0,"ids":[3,1],"rows":[3]}`:     "2 ids for 1 rows",
		`{"query":0,"ids":["c"],"names":["c"]}`:                      "the ids are no row numbers",
		`{"query":0,"ids":["c",1]}`:                                  "has numbers and texts",
		`{"query":0,"ids":[null]}`:                                   "an id, a string or an integer, is wanted",
		`{"query":0,"ids":[1.5]}`:                                    `field "ids": number 1.5, where an integer is wanted`,
		`{"query":0,"ids":["\ud800"]}`:                               "half",
		`{"query":0,"ids":[1],"query_id":true}`:                      "an id, a string or an integer, is wanted",
		`{"query":0,"ids":[1],"scores64":[1,2]}`:                     "2 scores64 for 1 ids",
		`{"query":0,"ids":[1],"ids":[2],"answers_version":2}`:        "appears twice",
		`{"query":0,"ids":[1],"scores64":["x"],"answers_version":2}`: "a number of float64",
	} {
		j := linesOf(t, []byte(line))
		if got, err := j.Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", line, got, err, want)
		}
	}
}

func TestAssembleRefuses(t *testing.T) {
	good := sampleResults()
	for _, c := range []struct {
		name, ext string
		k         int
		rs        []Result
		want      string
	}{
		{"k", ".npz", 0, good, "k = 0 is below 1"},
		{"too many", ".npz", 2, good, "query 0: 3 ids where the output has k = 2"},
		{"gap", ".npz", 3, good[1:], "should be query 0"},
		{"gap", ".ivecs", 3, good[1:], "should be query 0"},
		{"wide id", ".ivecs", 1, []Result{{Rows: []int64{1 << 31}}}, "query 0: id 2147483648 does not fit"},
		{"scores", ".parquet", 1, []Result{{Rows: []int64{1}, Scores: []float32{1, 2}}}, "2 scores for 1 ids"},
		{"guarantee", ".npz", 1, []Result{{Rows: []int64{1}, Guarantee: "probabilistic?"}}, "longer than 13"},
		{"guarantee", ".parquet", 1, []Result{{Rows: []int64{1}, Guarantee: "é"}}, "not ASCII"},
		{"names", ".jsonl", 1, []Result{{Rows: []int64{1}, IDs: []string{"a", "b"}}}, "2 ids for 1 rows"},
	} {
		if _, err := assemble(t, c.rs, c.k, c.ext); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: error %v lacks %q", c.name, c.ext, err, c.want)
		}
	}
}

// TestWriteResultsNPZ: results in memory are written, or refused, like those of a spool.
func TestWriteResultsNPZ(t *testing.T) {
	good := sampleResults()
	for _, c := range []struct {
		k  int
		rs []Result
	}{
		{3, good}, {5, good}, {1, nil}, {0, good}, {2, good}, {3, good[1:]}, {1, []Result{{Rows: []int64{1}, Scores: []float32{1, 2}}}},
	} {
		var want, got bytes.Buffer
		wantErr, gotErr := WriteNPZ(Covering(spoolOf(c.rs), nil), c.k, &want), WriteResultsNPZ(c.rs, c.k, &got)
		if (wantErr == nil) != (gotErr == nil) || wantErr == nil && !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Errorf("k %d: %d bytes (%v), from a spool %d bytes (%v)", c.k, got.Len(), gotErr, want.Len(), wantErr)
		}
	}
}

func TestAppendJSONL(t *testing.T) {
	r := Result{
		Query: 7, QueryID: "9", Rows: []int64{3, 1, 2}, Scores: []float32{1e-30, float32(math.NaN()), minusInf}, Scores64: []float64{1e-30, 2.5, math.Inf(-1)},
		IDs: []string{"10", "0", "18446744073709551615"}, Pulls: 5, Exact: true, Partial: true, Guarantee: "bound", Delta: .01, Certificate: json.RawMessage(`{"a":[1]}`),
	}
	rest := `"rows":[3,1,2],"scores":[1e-30,null,null],"scores64":[1e-30,2.5,null],"pulls":5,"exact":true,"complete":false,"guarantee":"bound","delta":0.01,"epsilon":0,"certificate":{"a":[1]}}` + "\n"
	for whole, ids := range map[bool]string{false: `["10","0","18446744073709551615"]`, true: `[10,0,18446744073709551615]`} {
		want := `{"answers_version":2,"query":7,"query_id":9,"ids":` + ids + "," + rest
		got := AppendJSONL([]byte("x"), &r, whole)
		if string(got) != "x"+want {
			t.Errorf("got  %swant x%s", got, want)
		}
		if n := testing.AllocsPerRun(100, func() { got = AppendJSONL(got[:0], &r, whole) }); n != 0 && !race.Enabled {
			t.Errorf("%v allocations a line, want none", n)
		}
	}
	r.IDs = nil
	if got, want := AppendJSONL(nil, &r, true), `{"answers_version":2,"query":7,"query_id":9,"ids":[3,1,2],"id_kind":"row",`+rest; string(got) != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestGrantedIsKept: what a guarantee allows survives spool, npz and Parquet; arrays of these names in files that
// state no guarantee are not read.
func TestGrantedIsKept(t *testing.T) {
	want := []Result{
		{Rows: []int64{1}, Scores: []float32{2}, Guarantee: "probabilistic", Delta: .001, Epsilon: .5},
		{Query: 1, Rows: []int64{0}, Scores: []float32{3}, Guarantee: "exact", Exact: true},
	}
	for _, suffix := range []string{".npz", ".parquet"} {
		path, err := assemble(t, want, 1, suffix)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := readResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", suffix, d)
		}
		want[1].Delta = 1
		if _, err := assemble(t, want, 1, suffix); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%s: delta 1: %v", suffix, err)
		}
		want[1].Delta = 0
	}
}

// TestResultsRoundTrip: any result survives spool and JSONL.
func TestResultsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 5).Draw(t, "k")
		r := Result{
			Query:  rapid.Int64Range(0, math.MaxInt64).Draw(t, "query"),
			Rows:   rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64), k, k).Draw(t, "ids"),
			Scores: rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), k, k).Draw(t, "scores"),
			Pulls:  rapid.Int64Range(0, math.MaxInt64).Draw(t, "pulls"),
			Exact:  rapid.Bool().Draw(t, "exact"), Partial: rapid.Bool().Draw(t, "partial"),
			Guarantee: rapid.SampledFrom([]string{"", "bound", "exact", "probabilistic"}).Draw(t, "guarantee"),
		}
		if k > 0 && rapid.Bool().Draw(t, "named") {
			r.IDs = rapid.SliceOfN(rapid.String(), k, k).Draw(t, "names")
		}
		if rapid.Bool().Draw(t, "exactly") {
			r.Scores64 = rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), k, k).Draw(t, "scores64")
		}
		if rapid.Bool().Draw(t, "asked by") {
			r.QueryID = rapid.String().Draw(t, "query id")
		}
		if r.Guarantee != "" {
			r.Delta = rapid.Float64Range(0, .5).Draw(t, "delta")
		}
		if rapid.Bool().Draw(t, "certified") {
			r.Certificate = json.RawMessage(`{"open":[]}`)
		}
		s := spoolReader{r: bytes.NewReader(AppendRecord(AppendRecord(nil, &r), &r))}
		for range 2 {
			var got Result
			if err := s.next(&got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(r, got); d != "" {
				t.Fatalf("spool (-want +got):\n%s", d)
			}
		}
		if err := s.next(new(Result)); err != io.EOF {
			t.Fatalf("end of the spool: %v", err)
		}
		line := AppendJSONL(nil, &r, false)
		j := linesOf(t, line)
		got, err := j.Next()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, got); d != "" {
			t.Fatalf("JSONL (-want +got):\n%s", d)
		}
	})
}

// TestSpoolDamage cuts a spool at every byte and flips every bit.
func TestSpoolDamage(t *testing.T) {
	rs := sampleResults()
	first := len(AppendRecord(nil, &rs[0]))
	whole := AppendRecord(AppendRecord(nil, &rs[0]), &rs[1])
	for n := range whole {
		s := spoolReader{r: bytes.NewReader(whole[:n])}
		good := int64(0)
		if n >= first {
			good = int64(first)
		}
		var err error
		for err == nil {
			err = s.next(new(Result))
		}
		if clean := n == 0 || n == first; clean != (err == io.EOF) || !clean && !errors.Is(err, ErrTorn) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if s.offset != good {
			t.Fatalf("cut at %d: offset %d, want %d", n, s.offset, good)
		}
	}
	for bit := range 8 * len(whole) {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		s := spoolReader{r: bytes.NewReader(b)}
		var err error
		for err == nil {
			err = s.next(new(Result))
		}
		if !errors.Is(err, ErrTorn) && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d flipped: %v", bit, err)
		}
		if !strings.Contains(err.Error(), "spool record") || !strings.Contains(err.Error(), "at byte") {
			t.Fatalf("error %v does not say where", err)
		}
	}
}

// TestAssembleScoresRefuses: a file of scores without query numbers needs all of them, in order.
func TestAssembleScoresRefuses(t *testing.T) {
	spool := func(results ...Result) *bytes.Reader {
		var b []byte
		for i := range results {
			b = AppendRecord(b, &results[i])
		}
		return bytes.NewReader(b)
	}
	one := Result{Rows: []int64{1, 2}, Scores: []float32{3, 2}}
	for _, c := range []struct {
		spool  *bytes.Reader
		k      int
		format Format
		want   string
	}{
		{spool(one), 0, FVecs, "k = 0"},
		{spool(one), 2, NPZ, "formats that are: fvecs, fbin"},
		{spool(one), 1, FBin, "2 ids where the output has k = 1"},
		{spool(one, one), 2, FVecs, "record 1 (0-based) should be query 1"},
		{spool(Result{Rows: []int64{1}}), 2, FVecs, "no scores"},
	} {
		var out bytes.Buffer
		if err := AssembleScores(c.spool, c.k, c.format, &out); err == nil || !strings.Contains(err.Error(), c.want) || out.Len() > 0 {
			t.Errorf("%v and %d bytes, want %q", err, out.Len(), c.want)
		}
	}
}

func npzOf(t testing.TB, arrays map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range arrays {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMalformedResults(t *testing.T) {
	ids := npyOf("<i8", "False", "(2, 1)", le64(1, 2))
	for _, c := range []struct {
		name, file string
		data       []byte
		row, col   int64
		want       string
	}{
		{"empty", "r.npz", nil, -1, -1, "is empty"},
		{"format", "r.fvecs", le32(1, 0), -1, -1, "format fvecs does not hold results"},
		{"no ids", "r.npz", npzOf(t, map[string][]byte{"x": ids}), -1, -1, "no array ids"},
		{"ids dtype", "r.npz", npzOf(t, map[string][]byte{"ids": npyOf("<f4", "False", "(1, 1)", le32(1))}), -1, -1, `dtype "<f4" is not one of`},
		{"ids shape", "r.npz", npzOf(t, map[string][]byte{"ids": npyOf("<i8", "False", "(2,)", le64(1, 2))}), -1, -1, "2 dimensions"},
		{"ids cut", "r.npz", npzOf(t, map[string][]byte{"ids": npyOf("<i8", "False", "(2, 1)", le64(1))}), 1, -1, "truncated"},
		{"ids long", "r.npz", npzOf(t, map[string][]byte{"ids": npyOf("<i8", "False", "(1, 1)", le64(1, 2))}), -1, -1, "goes on"},
		{"ids huge", "r.npz", npzOf(t, map[string][]byte{"ids": npyOf("<i8", "False", "(1, 1000000000)", le64(1, 2))}), -1, -1, "more than the limit of 268435456"},
		{"padding", "r.npz", npzOf(t, map[string][]byte{"ids": npyOf("<i8", "False", "(1, 2)", le64(math.MaxUint64, 2))}), 0, 0, "padding"},
		{"scores shape", "r.npz", npzOf(t, map[string][]byte{"ids": ids, "scores": npyOf("<f4", "False", "(2, 2)", floats(1, 2, 3, 4))}), -1, -1, "scores have 2 columns, ids 1"},
		{"scores rows", "r.npz", npzOf(t, map[string][]byte{"ids": ids, "scores": npyOf("<f4", "False", "(1, 1)", floats(1))}), -1, -1, "1 rows where ids have 2"},
		{"scores NaN", "r.npz", npzOf(t, map[string][]byte{"ids": ids, "scores": npyOf("<f4", "False", "(2, 1)", join(floats(1), le32(nan32)))}), 1, 0, "score is NaN"},
		{"line", "r.jsonl", []byte("{\"query\":0,\"ids\":[1]}\n{\"query\":1}\n"), 1, -1, "line 2: a result has query"},
		{"scores", "r.jsonl", []byte(`{"query":0,"ids":[1],"scores":[1,2]}`), 0, -1, "2 scores for 1 ids"},
		{"score range", "r.jsonl", []byte(`{"query":0,"ids":[1],"scores":[1e40]}`), 0, -1, "line 1"},
		{"field twice", "r.jsonl", []byte(`{"query":0,"ids":[1],"ids":[2]}`), 0, -1, `field "ids" appears twice`},
		{"field in two cases", "r.jsonl", []byte(`{"query":0,"ids":[1],"IDs":[2]}`), 0, -1, `field "IDs" appears twice`},
		{"truth for an id", "r.jsonl", []byte(`{"query":0,"ids":[true]}`), 0, -1, `field "ids": bool, where an integer is wanted`},
		{"float for an id", "r.jsonl", []byte(`{"query":0,"ids":[1.0]}`), 0, -1, `field "ids": number 1.0, where an integer is wanted`},
		{"object for ids", "r.jsonl", []byte(`{"query":0,"ids":{}}`), 0, -1, `field "ids": object, where an array is wanted`},
		{"not JSON", "r.jsonl", []byte(`{"query":0,`), 0, -1, "line 1"},
		{"ivecs cut", "r.ivecs", le32(1, 5, 1), 1, 0, "truncated"},
		{"ivecs padding", "r.ivecs", le32(2, 0xffffffff, 5), 0, 0, "padding"},
		{"foreign parquet", "r.parquet", parquetOf(t), -1, -1, "no column ids"},
		{"parquet NaN", "r.parquet", parquetAnswer(t, Result{Rows: []int64{4, 5}, Scores: []float32{1, float32(math.NaN())}}), 0, 1, "score is NaN"},
		{"parquet cut", "r.parquet", mutated(t, "results.parquet", cut(3)), -1, -1, "truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := readResults(path)
			checkError(t, nil, err, path, c.row, c.col, c.want)
		})
	}
}

// TestSpoolOfBefore reads a record as versions wrote it that did not say whether an answer is
// complete.
func TestSpoolOfBefore(t *testing.T) {
	payload := "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x09\x00\x00\x00\x00\x00\x00\x00" + "\x01" +
		"\x01\x00\x00\x00" + "\x04\x00\x00\x00\x00\x00\x00\x00"
	record := []byte("\x1d\x00\x00\x00" + "\x00\x00\x00\x00" + payload)
	binary.LittleEndian.PutUint32(record[4:], spoolSum(record))
	s := spoolReader{r: bytes.NewReader(record)}
	got := Result{Partial: true, Guarantee: "bound"} // of the record before
	if err := s.next(&got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Result{Query: 1, Pulls: 9, Exact: true, Rows: []int64{4}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestLinesForget: what a line says of its answer is not that of the next one, which says less.
func TestLinesForget(t *testing.T) {
	full := `{"answers_version":2,"query":0,"query_id":"q","ids":["c","a"],"rows":[8,9],"scores":[2,1],"scores64":[2,1],"pulls":7,"exact":true,"complete":false,` +
		`"guarantee":"bound","delta":0.5,"epsilon":0.25,"certificate":{"a":1},"covers":{"b":2}}`
	for bare, want := range map[string]Result{
		`{"query":1,"ids":[3]}`: {Query: 1, Rows: []int64{3}},
		`{"query":1,"ids":[3],"query_id":null,"scores":null,"scores64":null,"exact":null,"complete":null,"guarantee":null,"certificate":null,"other":1,"other":2}`: {Query: 1, Rows: []int64{3}},
		`{"answers_version":2,"query":1,"ids":[]}`: {Query: 1},
	} {
		r := linesOf(t, []byte(full+"\n"+bare+"\n"+full+"\n"))
		first, err := r.Next()
		if err != nil || first.Covers == nil || first.Certificate == nil || !first.Partial {
			t.Fatalf("%+v, %v", first, err)
		}
		got, err := r.Next()
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", bare, err, d)
		}
		third, err := r.Next()
		if first.Query, third.Query = 0, 0; err != nil || !cmp.Equal(first, third) {
			t.Errorf("after %s: %+v, %v", bare, third, err)
		}
	}
}

// WriteParquet writes results as rows of a Parquet table.
func WriteParquet(each EachResult, out io.Writer) error { return writeAnswerRows(Parquet, each, out) }
