package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/url"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/problem"
)

// npyOf encodes a float32 matrix as npy.
func npyOf(t testing.TB, rows, dim int, data ...float32) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := dataset.WriteNPY(&b, rows, dim, data); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// npyHead is an npy header with any contents.
func npyHead(descr, shape string) []byte {
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	b := []byte("\x93NUMPY\x01\x00")
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(dict))), dict...)
}

func TestDecodeSearchNPY(t *testing.T) {
	options := url.Values{
		"k": {"7"}, "cut_k": {"true"}, "delta": {"0.05"}, "epsilon": {"1e-3"}, "method": {"exact"}, "deadline_ms": {"2.5"},
		"include": {"certificate,rounds"}, "filter": {"3,4", "-5"}, "exclude": {"a,7"},
	}
	want := &Search{
		Queries: []float32{1, 2, 3, 4, 5, 6}, M: 2, Dim: 3, K: 7, CutK: true, Delta: .05, Epsilon: 1e-3, Method: batch.Exact,
		Deadline: 2500 * time.Microsecond, Certificate: true, Rounds: true,
		Filter: &IDList{Ints: []int64{3, 4, -5}, Names: []string{"3", "4", "-5"}}, Exclude: &IDList{Names: []string{"a", "7"}},
	}
	body := npyOf(t, 2, 3, 1, 2, 3, 4, 5, 6)
	got, err := DecodeSearchNPY(body, options, dim, limits())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// A single row is a query; other types are converted to float32.
	row := append(npyHead("<f8", "(3,)"), make([]byte, 24)...)
	binary.LittleEndian.PutUint64(row[len(row)-8:], math.Float64bits(.1))
	got, err = DecodeSearchNPY(row, nil, dim, limits())
	if diff := cmp.Diff(&Search{Queries: []float32{0, 0, .1}, Changes: []float64{float64(float32(.1)) - .1}, M: 1, Dim: 3, K: 10, CutK: true}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	// More rows than memory is allocated for at once.
	const many = npyChunk/4 + 12345
	data := make([]float32, many)
	for i := range data {
		data[i] = float32(i)
	}
	got, err = decodeNPY(npyOf(t, many, 1, data...), nil, 1, Limits{})
	if err != nil || got.M != many || cmp.Diff(data, got.Queries) != "" {
		t.Error("large matrix is read otherwise", err)
	}
}

// TestDecodeSearchNPYFortran: a column-major matrix is the same search.
func TestDecodeSearchNPYFortran(t *testing.T) {
	const m, dim = 700, 30
	rows, columns := make([]float32, m*dim), make([]float32, m*dim)
	for i := range m {
		for j := range dim {
			rows[i*dim+j], columns[j*m+i] = float32(i*1000+j), float32(i*1000+j)
		}
	}
	body := bytes.Replace(npyOf(t, m, dim, columns...), []byte("False"), []byte("True "), 1)
	got, err := DecodeSearchNPY(body, nil, dim, Limits{})
	if err != nil || got.M != m || cmp.Diff(rows, got.Queries) != "" {
		t.Errorf("%v: rows are not those", err)
	}
	if _, err := DecodeSearchNPY(body[:len(body)-1], nil, dim, Limits{}); err == nil {
		t.Error("a matrix that is cut was taken")
	}
	if _, err := DecodeSearchNPY(body, nil, dim, Limits{Queries: m - 1}); err == nil {
		t.Error("more queries than may be were taken")
	}
}

func TestDecodeSearchNPYRefuses(t *testing.T) {
	good := npyOf(t, 2, 3, 1, 2, 3, 4, 5, 6)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	f64 := func(v float64) []byte {
		return binary.LittleEndian.AppendUint64(append(npyHead("<f8", "(1, 3)"), make([]byte, 16)...), math.Float64bits(v))
	}
	for _, x := range []struct {
		name    string
		body    []byte
		options string
		kind    problem.Kind
		field   string
		index   int
		says    string
	}{
		{"nothing", nil, "", problem.Malformed, "queries", -1, "input is empty"},
		{"garbage", []byte("hello, this is no array"), "", problem.Malformed, "queries", -1, "not an npy file"},
		{"json", []byte(`{"queries":[[1,2,3]]}`), "", problem.Malformed, "queries", -1, "not an npy file"},
		{"dimension", npyOf(t, 1, 4, 1, 2, 3, 4), "", problem.WrongDimension, "queries", 0, "query 0 has 4 values, the collection 3 dimensions"},
		{"cube", append(npyHead("<f4", "(1, 1, 3)"), make([]byte, 12)...), "", problem.Malformed, "queries", -1, "3-dimensional"},
		{"dtype", append(npyHead("<c8", "(1, 3)"), make([]byte, 24)...), "", problem.Malformed, "queries", -1, `dtype "<c8" is not supported`},
		{"no rows", npyHead("<f4", "(0, 3)"), "", problem.NoQueries, "queries", -1, "queries is empty"},
		{"cut", good[:len(good)-5], "", problem.Malformed, "queries", 1, "truncated"},
		{"claims too much", append(npyHead("<f4", "(3, 3)"), make([]byte, 12)...), "", problem.Malformed, "queries", 1, "truncated"},
		{"behind", append(good[:len(good):len(good)], 0), "", problem.Malformed, "queries", -1, "data goes on"},
		{"NaN", npyOf(t, 2, 3, 1, 2, 3, 4, nan, 6), "", problem.NotFinite, "queries", 1, "query 1, coordinate 1: value is NaN"},
		{"infinite", npyOf(t, 1, 3, 1, 2, inf), "", problem.NotFinite, "queries", 0, "query 0, coordinate 2: value is +Inf"},
		{"overflow", f64(1e39), "", problem.NotFinite, "queries", 0, "query 0, coordinate 2: value 1e+39 is beyond the range of float32"},
		{"too many", npyOf(t, 4, 3, make([]float32, 12)...), "", problem.OverLimit, "queries", -1, "4 queries, a search may have at most 3"},
		{"too many, claimed", npyHead("<f4", "(1000000000000, 3)"), "", problem.OverLimit, "queries", -1, "1000000000000 queries, a search may have at most 3"},
		{"unknown parameter", good, "detla=1", problem.UnknownField, "detla", -1, `there is no field "detla"`},
		{"queries as parameter", good, "queries=1", problem.UnknownField, "queries", -1, `there is no field "queries"`},
		{"k", good, "k=0", problem.InvalidValue, "k", -1, "k is 0, at least 1"},
		{"k text", good, "k=many", problem.InvalidValue, "k", -1, `k is "many", a whole number is wanted`},
		{"k quoted", good, `k="7"`, problem.InvalidValue, "k", -1, `k is "\"7\"", a whole number is wanted`},
		{"k hexadecimal", good, "k=0x7", problem.InvalidValue, "k", -1, `k is "0x7", a whole number is wanted`},
		{"k empty", good, "k=", problem.InvalidValue, "k", -1, `k is "", a whole number is wanted`},
		{"k true", good, "k=true", problem.InvalidValue, "k", -1, `k is true, a whole number is wanted`},
		{"k twice", good, "k=1&k=1", problem.InvalidValue, "k", -1, "k is given 2 times"},
		{"delta NaN", good, "delta=NaN", problem.InvalidValue, "delta", -1, `delta is "NaN", a number is wanted`},
		{"cut_k", good, "cut_k=1", problem.InvalidValue, "cut_k", -1, "cut_k is a number, true or false is wanted"},
		{"method", good, "method=", problem.UnknownMethod, "method", -1, `method "" is none of`},
		{"include", good, "include=rounds,looks", problem.InvalidValue, "include", 1, `include: "looks" is none of`},
	} {
		t.Run(x.name, func(t *testing.T) {
			options, err := url.ParseQuery(x.options)
			if err != nil {
				t.Fatal(err)
			}
			_, err = DecodeSearchNPY(x.body, options, dim, limits())
			checkProblem(t, err, x.kind, x.field, x.index, x.says)
		})
	}
}

// TestClaimsTakeNoMemory: no memory is allocated because of a false header.
func TestClaimsTakeNoMemory(t *testing.T) {
	body := append(npyHead("<f4", "(1000000000, 3)"), make([]byte, 1200)...)
	before := allocated()
	if _, err := DecodeSearchNPY(body, nil, dim, Limits{}); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Fatal(err)
	}
	if used := allocated() - before; used > 4<<20 {
		t.Errorf("%d bytes for a body of %d", used, len(body))
	}
}

// allocated returns the bytes allocated since the start of the process.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
