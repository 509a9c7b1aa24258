package dataset

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// malformed is a file that must be refused with a position and a reason.
type malformed struct {
	test        string
	file        string
	data        []byte
	opt         *Options
	row, column int64
	want        string
}

func runMalformed(t *testing.T, cases []malformed) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.test, func(t *testing.T) {
			m, path, err := readBytes(t, c.file, c.data, c.opt)
			checkError(t, m, err, path, c.row, c.column, c.want)
			if strings.HasSuffix(c.file, ".npz") || strings.HasSuffix(c.file, ".parquet") {
				return
			}
			if m, _, err = readBytes(t, c.file+".gz", gzipped(c.data), c.opt); err == nil {
				t.Fatalf("accepted through gzip as %v", m)
			}
		})
	}
}

const nan32 = 0x7fc00001

func TestMalformedNPY(t *testing.T) {
	six := floats(1, 2, 3, 4, 5, 6)
	inf := float32(math.Inf(1))
	runMalformed(t, []malformed{
		{"empty", "a.npy", nil, nil, -1, -1, "is empty"},
		{"foreign", "a.npy", []byte("hello, world"), nil, -1, -1, "not an npy file"},
		{"npz inside", "a.npy", []byte("PK\x03\x04aaaaaaaaaaaaaaaa"), nil, -1, -1, "extension says npy but the content is npz"},
		{"version", "a.npy", []byte("\x93NUMPY\x09\x00\x00\x00"), nil, -1, -1, "version 9.0 is not supported"},
		{"cut magic", "a.npy", []byte("\x93NUMPY"), nil, -1, -1, "truncated"},
		{"cut header", "a.npy", npyOf("<f4", "False", "(2, 3)", nil)[:30], nil, -1, -1, "truncated"},
		{"huge header", "a.npy", join([]byte("\x93NUMPY\x02\x00"), le32(1<<31)), nil, -1, -1, "exceeds the limit"},
		{"no dictionary", "a.npy", npyBytes("nothing", six), nil, -1, -1, "no dictionary"},
		{"missing key", "a.npy", npyBytes("{'descr': '<f4', 'shape': (2, 3)}", six), nil, -1, -1, "are wanted"},
		{"unknown key", "a.npy", npyBytes("{'descr': '<f4', 'x': 1}", six), nil, -1, -1, `unknown key "x"`},
		{"twice", "a.npy", npyBytes("{'shape': (1,), 'shape': (1,)}", six), nil, -1, -1, "malformed near key"},
		{"trailing text", "a.npy", npyBytes("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x", six), nil, -1, -1, "follows the dictionary"},
		{"bad shape", "a.npy", npyOf("<f4", "False", "(2, -3)", six), nil, -1, -1, "malformed shape"},
		{"shape beyond int64", "a.npy", npyOf("<f4", "False", "(2, 99999999999999999999)", six), nil, -1, -1, "malformed shape"},
		{"bad boolean", "a.npy", npyOf("<f4", "Maybe", "(2, 3)", six), nil, -1, -1, "neither True nor False"},
		{"no byte order", "a.npy", npyOf("f4", "False", "(2, 3)", six), nil, -1, -1, "no byte order"},
		{"object", "a.npy", npyOf("|O", "False", "(2, 3)", six), nil, -1, -1, `dtype "|O" is not supported`},
		{"complex", "a.npy", npyOf("<c8", "False", "(2, 3)", six), nil, -1, -1, `dtype "<c8" is not supported`},
		{"scalar", "a.npy", npyOf("<f4", "False", "()", six), nil, -1, -1, "0-dimensional"},
		{"cube", "a.npy", npyOf("<f4", "False", "(1, 2, 3)", six), nil, -1, -1, "3-dimensional"},
		{"no rows", "a.npy", npyOf("<f4", "False", "(0, 3)", nil), nil, -1, -1, "no rows"},
		{"no columns", "a.npy", npyOf("<f4", "False", "(3, 0)", nil), nil, -1, -1, "zero columns"},
		{"too many rows", "a.npy", npyOf("<f4", "False", "(1000000000000, 3)", six), nil, 2, 0, "truncated"},
		{"absurd columns", "a.npy", npyOf("<f4", "False", "(1, 1000000000000)", six), nil, -1, -1, "exceed the limit"},
		{"overflow", "a.npy", npyOf("<f4", "False", "(9000000000000000000, 1000000)", six), nil, -1, -1, "do not fit an address space"},
		{"truncated", "a.npy", npyOf("<f4", "False", "(2, 3)", six[:20]), nil, 1, 2, "truncated"},
		{"trailing data", "a.npy", npyOf("<f4", "False", "(2, 3)", floats(1, 2, 3, 4, 5, 6, 7)), nil, -1, -1, "4 bytes follow the 2 rows"},
		{"NaN", "a.npy", npyOf("<f4", "False", "(2, 3)", floats(1, 2, 3, 4, math.Float32frombits(nan32), 6)), nil, 1, 1, "value is NaN"},
		{"Inf", "a.npy", npyOf("<f4", "False", "(2, 3)", floats(1, 2, inf, 4, 5, 6)), nil, 0, 2, "value is +Inf"},
		{"NaN big-endian", "a.npy", npyOf(">f4", "False", "(1, 2)", []byte{0, 0, 0, 0, 0x7f, 0xc0, 0, 0}), nil, 0, 1, "value is NaN"},
		{"NaN float16", "a.npy", npyOf("<f2", "False", "(1, 2)", []byte{0, 0x3c, 1, 0x7c}), nil, 0, 1, "value is NaN"},
		{"-Inf float16", "a.npy", npyOf("<f2", "False", "(1, 2)", []byte{0, 0x3c, 0, 0xfc}), nil, 0, 1, "value is -Inf"},
		{"NaN bfloat16", "a.npy", npyOf("<V2", "False", "(1, 2)", []byte{0x80, 0x3f, 0xc0, 0x7f}), nil, 0, 1, "value is NaN"},
		{"two bytes of void", "a.npy", npyOf("|V2", "False", "(1, 2)", []byte{0x80, 0x3f, 0, 0}), nil, -1, -1, "may be bfloat16"},
		{"void, big end first", "a.npy", npyOf(">V2", "False", "(1, 2)", []byte{0x3f, 0x80, 0, 0}), nil, -1, -1, `dtype ">V2" is not supported`},
		{"float64 too large", "a.npy", npyOf("<f8", "False", "(2, 1)", le64(0, math.Float64bits(1e39))), nil, 1, 0, "value 1e+39 is beyond the range of float32"},
		{"float64 NaN", "a.npy", npyOf("<f8", "False", "(2, 1)", le64(0, math.Float64bits(math.NaN()))), nil, 1, 0, "value is NaN"},
		{"Fortran NaN", "a.npy", npyOf("<f4", "True", "(2, 3)", floats(1, 2, 3, math.Float32frombits(nan32), 5, 6)), nil, 1, 1, "value is NaN"},
		{"Fortran truncated", "a.npy", npyOf("<f4", "True", "(2, 3)", six[:8]), nil, 0, 2, "truncated"},
	})
}

func TestFortranStreamRefused(t *testing.T) {
	data := npyOf("<f4", "True", "(2, 3)", floats(1, 4, 2, 5, 3, 6))
	_, err := NewReader(struct{ io.Reader }{bytes.NewReader(data)}, NPY, "pipe", nil)
	checkError(t, nil, err, "pipe", -1, -1, "Fortran order")

	r, err := NewReader(bytes.NewReader(data), NPY, "memory", nil)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float32, 6)
	if n, err := r.Read(dst); n != 2 || err != nil || !slices.Equal(dst, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%d %v %v", n, err, dst)
	}
	_, err = NewReader(bytes.NewReader(data[:len(data)-4]), NPY, "memory", nil)
	checkError(t, nil, err, "memory", 1, 2, "truncated")
}

// TestIntegers: integers of every width are accepted if float32 holds them exactly.
func TestIntegers(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		descr string
		size  int
		value uint64
		want  float32
		ok    bool
	}{
		{"<i2", 2, 1<<16 - 300, -300, true}, {"<u2", 2, 65535, 65535, true},
		{"<i4", 4, 1<<32 - 1<<24, -1 << 24, true}, {"<i4", 4, 1<<24 + 1, 0, false}, {"<u4", 4, 1 << 31, 1 << 31, true}, {"<u4", 4, 1<<32 - 1, 0, false},
		{"<i8", 8, 1<<64 - 7, -7, true}, {"<i8", 8, 1 << 63, -1 << 63, true}, {"<i8", 8, 1<<63 - 1, 0, false},
		{"<u8", 8, 1 << 63, 1 << 63, true}, {"<u8", 8, 1<<64 - 1, 0, false}, {"<u8", 8, 0, 0, true}, {"<u8", 8, 0xffffff << 40, 0xffffff << 40, true},
	} {
		b := le.AppendUint64(nil, c.value)[:c.size]
		one := append(make([]byte, c.size), b...)
		dst := make([]float32, 2)
		r, err := NewReader(bytes.NewReader(npyOf(c.descr, "False", "(1, 2)", one)), NPY, "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Read(dst)
		if c.ok && (err != nil || dst[1] != c.want) || !c.ok && err == nil {
			t.Errorf("%s %d: %v %v", c.descr, c.value, dst, err)
		}
		if !c.ok {
			checkError(t, nil, err, "a", 0, 1, "cannot be held by float32 exactly")
		}
	}
}

func TestMalformedVecs(t *testing.T) {
	runMalformed(t, []malformed{
		{"empty", "a.fvecs", nil, nil, -1, -1, "is empty"},
		{"cut dimension", "a.fvecs", []byte{3, 0}, nil, 0, -1, "truncated"},
		{"zero columns", "a.fvecs", le32(0), nil, -1, -1, "zero columns"},
		{"negative", "a.fvecs", le32(0x80000001), nil, -1, -1, "negative"},
		{"huge", "a.fvecs", join(le32(1<<29), floats(1)), nil, -1, -1, "536870912 columns exceed the limit of 4194304"},
		{"ragged", "a.fvecs", join(le32(2), floats(1, 2), le32(1), floats(1), floats(0)), nil, 1, -1, "row has 1 columns, the first has 2"},
		{"truncated", "a.fvecs", join(le32(2), floats(1, 2), le32(2), floats(1)), nil, 1, 1, "truncated"},
		{"NaN", "a.fvecs", join(le32(2), floats(1, 2), le32(2), floats(1), le32(nan32)), nil, 1, 1, "value is NaN"},
		{"bytes cut", "a.bvecs", join(le32(3), []byte{1, 2, 3}, le32(3), []byte{1}), nil, 1, 1, "truncated"},
		{"inexact", "a.ivecs", le32(2, 5, 1<<24+1), nil, 0, 1, "16777217 cannot be held by float32 exactly"},
	})
}

func TestMalformedBin(t *testing.T) {
	runMalformed(t, []malformed{
		{"empty", "a.fbin", nil, nil, -1, -1, "is empty"},
		{"cut header", "a.fbin", le32(1), nil, -1, -1, "truncated"},
		{"no rows", "a.fbin", le32(0, 3), nil, -1, -1, "no rows"},
		{"no columns", "a.fbin", le32(3, 0), nil, -1, -1, "zero columns"},
		{"huge", "a.fbin", le32(math.MaxUint32, 1<<20), nil, 0, 0, "truncated"},
		{"beyond", "a.fbin", le32(math.MaxUint32, 1<<30), nil, -1, -1, "1073741824 columns exceed the limit of 4194304"},
		{"huge columns", "a.fbin", le32(1, math.MaxUint32), nil, -1, -1, "exceed the limit"},
		{"truncated", "a.fbin", join(le32(2, 2), floats(1, 2, 3)), nil, 1, 1, "truncated"},
		{"wrong count", "a.fbin", join(le32(1, 2), floats(1, 2, 3, 4)), nil, -1, -1, "8 bytes follow the 1 rows"},
		{"Inf", "a.fbin", join(le32(2, 2), floats(1, 2, float32(math.Inf(-1)), 4)), nil, 1, 0, "value is -Inf"},
		{"u8 truncated", "a.u8bin", join(le32(2, 2), []byte{1, 2, 3}), nil, 1, 1, "truncated"},
		{"half NaN", "a.f16bin", join(le32(2, 2), []byte{0, 0x3c, 0, 0, 0, 0xc0, 1, 0x7e}), nil, 1, 1, "value is NaN"},
		{"half Inf", "a.f16bin", join(le32(1, 2), []byte{0, 0x3c, 0, 0xfc}), nil, 0, 1, "value is -Inf"},
		{"half truncated", "a.f16bin", join(le32(2, 2), []byte{0, 0x3c, 0, 0, 1}), nil, 1, 0, "truncated"},
		{"i8 wrong count", "a.i8bin", join(le32(1, 2), []byte{1, 2, 3}), nil, -1, -1, "1 bytes follow"},
		{"inexact", "a.ibin", le32(1, 2, 1, 1<<31-1), nil, 0, 1, "cannot be held by float32 exactly"},
	})
}

func TestMalformedJSONL(t *testing.T) {
	line := func(s string) []byte { return []byte(s) }
	id := &Options{IDs: "id"}
	runMalformed(t, []malformed{
		{"empty", "a.jsonl", nil, nil, -1, -1, "is empty"},
		{"blank", "a.jsonl", line("\n \n"), nil, -1, -1, "no rows"},
		{"zero columns", "a.jsonl", line("[]\n"), nil, 0, -1, "zero columns"},
		{"ragged short", "a.jsonl", line("[1,2]\n\n[1]\n"), nil, 1, -1, "line 3: row has 1 columns, the first has 2"},
		{"ragged long", "a.jsonl", line("[1,2]\n[1,2,3]\n"), nil, 1, -1, "row has 3 columns, the first has 2"},
		{"cut", "a.jsonl", line("[1,2]\n[1,"), nil, 1, 1, "line 2: text ends where a number is wanted"},
		{"no comma", "a.jsonl", line("[1 2]"), nil, 0, 1, `where "," or "]" is wanted`},
		{"NaN", "a.jsonl", line("[1,2]\n[1,NaN]\n"), nil, 1, 1, "value is NaN"},
		{"Infinity", "a.jsonl", line("[1,-Infinity]"), nil, 0, 1, "value is -Infinity"},
		{"null", "a.jsonl", line("[null,1]"), nil, 0, 0, "value is null"},
		{"string", "a.jsonl", line(`[1,"2"]`), nil, 0, 1, "where a number is wanted"},
		{"too large", "a.jsonl", line("[1,2]\n[1e39,2]"), nil, 1, 0, "value 1e39 is beyond the range of float32"},
		{"leading zero", "a.jsonl", line("[01]"), nil, 0, 0, "where a number is wanted"},
		{"no fraction", "a.jsonl", line("[1.]"), nil, 0, 0, "where a number is wanted"},
		{"no exponent", "a.jsonl", line("[1e+]"), nil, 0, 0, "where a number is wanted"},
		{"plus", "a.jsonl", line("[+1]"), nil, 0, 0, "where a number is wanted"},
		{"array of arrays", "a.jsonl", line("[[1,2],[3,4]]"), nil, 0, 0, "where a number is wanted"},
		{"behind", "a.jsonl", line("[1,2] 3"), nil, 0, -1, "where the end of the line is wanted"},
		{"no vector", "a.jsonl", line(`{"a":1,"b":["x"]}`), nil, 0, -1, "no field is an array of numbers; the object has a, b"},
		{"two vectors", "a.jsonl", line(`{"b":[1],"a":[2]}`), nil, 0, -1, "Options.Column names one: a, b"},
		{"NaN in the only vector", "a.jsonl", line(`{"a":[1,NaN]}`), nil, 0, 1, "value is NaN"},
		{"field missing", "a.jsonl", line("{\"a\":[1]}\n{\"b\":[1]}"), nil, 1, -1, `object has no field "a"`},
		{"field twice", "a.jsonl", line("{\"a\":[1]}\n{\"a\":[1],\"a\":[2]}"), nil, 1, -1, `field "a" appears twice`},
		{"field is no array", "a.jsonl", line(`{"a":1}`), &Options{Column: "a"}, 0, -1, "where an array is wanted"},
		{"array after objects", "a.jsonl", line("{\"a\":[1]}\n[1]"), nil, 1, -1, "line is not an object"},
		{"object after arrays", "a.jsonl", line("[1]\n{\"a\":[1]}"), nil, 1, -1, "line is an object, the first is an array"},
		{"id missing", "a.jsonl", line(`{"a":[1]}`), id, 0, -1, `no field "id" for the id`},
		{"id is a float", "a.jsonl", line(`{"a":[1],"id":1.5}`), id, 0, -1, "an id, a string or an integer"},
		{"ids of arrays", "a.jsonl", line(`[1]`), id, 0, -1, `line is not an object, so it has no field "id"`},
		{"bad string", "a.jsonl", line("{\"a\":[1],\"s\":\"\xff\"}"), nil, 0, -1, "not UTF-8"},
		{"NaN first", "a.jsonl", line(`{"a":[NaN]}`), nil, 0, 0, "value is NaN"},
		{"deep", "a.jsonl", line(`{"a":[1],"s":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}"), nil, 0, -1, "nested deeper"},
		{"object cut", "a.jsonl", line(`{"a":[1],`), nil, 0, -1, "where a string is wanted"},
	})
}

func TestMalformedSafeTensors(t *testing.T) {
	six := floats(1, 2, 3, 4, 5, 6)
	ok := `{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`
	runMalformed(t, []malformed{
		{"empty", "a.safetensors", nil, nil, -1, -1, "is empty"},
		{"cut length", "a.safetensors", []byte{1, 2}, nil, -1, -1, "truncated"},
		{"huge header", "a.safetensors", le64(1 << 40), nil, -1, -1, "exceeds the limit"},
		{"cut header", "a.safetensors", le64(90_000_000), nil, -1, -1, "truncated"},
		{"not JSON", "a.safetensors", tensorBytes("{", six), nil, -1, -1, "safetensors header"},
		{"no tensors", "a.safetensors", tensorBytes(`{"__metadata__":{}}`, nil), nil, -1, -1, "no tensors"},
		{"truncated", "a.safetensors", tensorBytes(ok, six[:20]), nil, -1, -1, "truncated"},
		{"offsets", "a.safetensors", tensorBytes(`{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[24,0]}}`, six), nil, -1, -1, "not a range"},
		{"negative", "a.safetensors", tensorBytes(`{"a":{"dtype":"F32","shape":[-2,-3],"data_offsets":[0,24]}}`, six), nil, -1, -1, "negative shape"},
		{"shape too large", "a.safetensors", tensorBytes(`{"a":{"dtype":"F32","shape":[3,3],"data_offsets":[0,24]}}`, six), nil, 2, 0, "truncated"},
		{"shape too small", "a.safetensors", tensorBytes(`{"a":{"dtype":"F32","shape":[1,3],"data_offsets":[0,24]}}`, six), nil, -1, -1, "12 bytes follow"},
		{"dtype", "a.safetensors", tensorBytes(`{"a":{"dtype":"F8_E4M3","shape":[24,1],"data_offsets":[0,24]}}`, six), &Options{Column: "a"}, -1, -1, `dtype "F8_E4M3" is not supported`},
		{"dtype not chosen", "a.safetensors", tensorBytes(`{"a":{"dtype":"I64","shape":[3,1],"data_offsets":[0,24]}}`, six), nil, -1, -1, "no tensor is a matrix"},
		{"NaN", "a.safetensors", tensorBytes(ok, join(six[:20], le32(nan32))), nil, 1, 2, "value is NaN"},
		{"Inf bfloat16", "a.safetensors", tensorBytes(`{"a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}}`, []byte{0, 0, 0x80, 0x7f}), nil, 0, 1, "value is +Inf"},
	})
}

func fixtureBytes(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mutated is a fixture with bytes replaced or cut.
func mutated(t *testing.T, file string, change func([]byte) []byte) []byte {
	t.Helper()
	b := fixtureBytes(t, file)
	out := change(bytes.Clone(b))
	if bytes.Equal(out, b) {
		t.Fatal("the change did nothing")
	}
	return out
}

func cut(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }

// replaceFloat changes the first occurrence of a float32 from the back.
func replaceFloat(from, to float32) func([]byte) []byte {
	return func(b []byte) []byte {
		if i := bytes.LastIndex(b, floats(from)); i >= 0 {
			copy(b[i:], floats(to))
		}
		return b
	}
}

func TestMalformedNPZ(t *testing.T) {
	runMalformed(t, []malformed{
		{"empty", "a.npz", nil, nil, -1, -1, "is empty"},
		{"cut", "a.npz", mutated(t, "stored.npz", cut(30)), nil, -1, -1, "not readable as npz"},
		{"no arrays", "a.npz", []byte("PK\x05\x06" + strings.Repeat("\x00", 18)), nil, -1, -1, "holds no arrays"},
		{"NaN", "a.npz", mutated(t, "stored.npz", replaceFloat(22, math.Float32frombits(nan32))), nil, 4, 2, "value is NaN"},
		{"bit flip", "a.npz", mutated(t, "stored.npz", replaceFloat(22, 23)), nil, -1, -1, "checksum"},
		{"name", "a.npz", mutated(t, "stored.npz", func(b []byte) []byte { return b[:len(b)-1] }), nil, -1, -1, "npz"},
	})
}

func TestMalformedParquet(t *testing.T) {
	runMalformed(t, []malformed{
		{"empty", "a.parquet", nil, nil, -1, -1, "is empty"},
		{"foreign", "a.parquet", []byte("hello, parquet world"), nil, -1, -1, "not a Parquet file"},
		{"tiny", "a.parquet", []byte("PAR1PAR1"), nil, -1, -1, "too few"},
		{"cut", "a.parquet", mutated(t, "list.parquet", cut(5)), nil, -1, -1, "or truncated"},
		{"footer length", "a.parquet", mutated(t, "list.parquet", func(b []byte) []byte { return join(b[:len(b)-8], le32(1<<31), b[len(b)-4:]) }), nil, -1, -1, "does not fit the file"},
	})
	path := filepath.Join("testdata", "lz4.parquet")
	_, err := Open(path, nil)
	checkError(t, nil, err, path, 0, -1, "compression LZ4_RAW is not supported")
}

func TestMalformedArrow(t *testing.T) {
	for _, file := range []string{"list.arrow", "list.arrows"} {
		runMalformed(t, []malformed{
			{"empty", file, nil, nil, -1, -1, "is empty"},
			{"NaN", file, mutated(t, file, replaceFloat(22, math.Float32frombits(nan32))), nil, 4, 2, "value is NaN"},
			{"Inf", file, mutated(t, file, replaceFloat(-20, float32(math.Inf(1)))), nil, 0, 0, "value is +Inf"},
		})
	}
	runMalformed(t, []malformed{
		{"foreign", "a.arrow", []byte("hello, arrow world"), nil, -1, -1, "not readable as Arrow IPC"},
		{"Feather 1", "a.feather", []byte("FEA1aaaaaaaaaaaaaaaaaaaa"), nil, -1, -1, "Feather version 1 is not supported"},
		{"file cut", "a.arrow", mutated(t, "list.arrow", cut(3)), nil, 5, -1, "does not end with ARROW1"},
		{"file cut in a batch", "a.arrow", mutated(t, "list.arrow", func(b []byte) []byte { return b[:700] }), nil, 2, -1, "truncated"},
		{"stream cut in a batch", "a.arrows", mutated(t, "list.arrows", func(b []byte) []byte { return b[:700] }), nil, 2, -1, "truncated"},
		{"stream goes on", "a.arrows", mutated(t, "list.arrows", func(b []byte) []byte { return append(b, 1) }), nil, 5, -1, "data goes on"},
	})
}

// TestNPZChoice: a matrix is preferred to single rows, which are used if there is none.
func TestNPZChoice(t *testing.T) {
	matrix := npyOf("<f4", "False", "(1, 2)", floats(1, 2))
	row := npyOf("<f4", "False", "(3,)", floats(1, 2, 3))
	number := npyOf("<i8", "False", "(1, 2)", le64(1, 2))
	for _, c := range []struct {
		arrays map[string][]byte
		dim    int
	}{
		{map[string][]byte{"vectors": matrix, "norms": row, "ids": number}, 2},
		{map[string][]byte{"norms": row, "ids": number}, 3},
	} {
		m, _, err := readBytes(t, "a.npz", npzOf(t, c.arrays), &Options{OneRow: true})
		if err != nil || m.Dim != c.dim || m.Rows != 1 {
			t.Errorf("%v, %v; want one row of %d", m, err, c.dim)
		}
	}
	m, path, err := readBytes(t, "a.npz", npzOf(t, map[string][]byte{"ids": number}), nil)
	checkError(t, m, err, path, -1, -1, "no array is a matrix of a supported dtype; the file holds ids")
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		file, content, want string
	}{
		{"a.txt", "1 2 3", "unknown format"},
		{"a", "", "is empty"},
		{"a.fvecs", "\x93NUMPY\x01\x00aaaaaaaa", "extension says fvecs but the content is npy"},
		{"a.npz.gz", string(gzipped([]byte("PK\x03\x04"))), "needs a plain file"},
		{"a.parquet.gz", string(gzipped([]byte("PAR1"))), "needs a plain file"},
		{"a.npy.gz", "not gzip at all", "not readable as gzip"},
		{"a.npy.gz", string(gzipped(npyOf("<f4", "False", "(1, 2)", floats(1, 2)))[:60]), "truncated"},
	} {
		t.Run(c.file, func(t *testing.T) {
			m, path, err := readBytes(t, c.file, []byte(c.content), nil)
			checkError(t, m, err, path, -1, -1, c.want)
		})
	}
	// With an unknown extension the content decides.
	m, _, err := readBytes(t, "data.bin", npyOf("<f4", "False", "(1, 2)", floats(1, 2)), nil)
	if err != nil || m.Rows != 1 || m.Dim != 2 {
		t.Fatalf("npy under another name: %v, %v", m, err)
	}
}
