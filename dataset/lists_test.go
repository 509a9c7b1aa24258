package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// drainLists returns copies of the lists that are left.
func drainLists(r ListReader) (all [][]int64, err error) {
	for {
		ids, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, append([]int64{}, ids.IDs...))
	}
}

func readLists(path string) ([][]int64, int64, error) {
	r, err := OpenLists(path, nil)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	all, err := drainLists(r)
	return all, r.Len(), err
}

func TestLists(t *testing.T) {
	want := [][]int64{{7, 5, 9}, {}, {0}}
	for path, length := range map[string]int64{
		"testdata/lists.npz": 3, "testdata/storedlists.npz": 3, "testdata/ownlists.npz": 3,
		writeTemp(t, "a.jsonl", "\n[7,5,9]\n[]\n[0]\n"):                                          -1,
		writeTemp(t, "b.jsonl", `{"query":0,"ids":[7,5,9]}`+"\n"+`{"ids":[0],"x":{},"query":2}`): -1,
		writeTemp(t, "c.jsonl", `[7,5,9]`+"\n"+`{"ids":[0],"query":2}`):                          -1,
		writeTemp(t, "a.ivecs", string(le32(3, 7, 5, 9, 0, 1, 0))):                               -1,
		writeTemp(t, "b.ivecs", string(le32(4, 7, 5, 9, 0xffffffff, 1, 0xffffffff, 1, 0))):       -1,
		writeTemp(t, "c.jsonl.gz", string(gzipped([]byte("[7,5,9]\n[]\n[0]")))):                  -1,
	} {
		got, n, err := readLists(path)
		if d := cmp.Diff(want, got); err != nil || d != "" || n != length {
			t.Errorf("%s: Len %d (%v), (-want +got):\n%s", path, n, err, d)
		}
	}
}

// TestListsOfTexts: names take the place of integers, list by list.
func TestListsOfTexts(t *testing.T) {
	r, err := OpenLists(writeTemp(t, "a.jsonl", `["a","é"]`+"\n[]\n[3]\n"+`{"ids":["b"],"query":3}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []List
	for {
		list, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, List{slices.Clone(list.IDs), slices.Clone(list.Names)})
	}
	want := []List{{Names: []string{"a", "é"}}, {IDs: []int64{}}, {IDs: []int64{3}}, {Names: []string{"b"}}}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMalformedLists(t *testing.T) {
	csr := func(indptr, indices []byte) []byte {
		return npzOf(t, map[string][]byte{"indptr": indptr, "indices": indices})
	}
	vector := func(n int, ids ...uint64) []byte { return npyOf("<i8", "False", fmt.Sprintf("(%d,)", n), le64(ids...)) }
	csc, err := os.ReadFile("testdata/csc.npz")
	if err != nil {
		t.Fatal(err)
	}
	coo, err := os.ReadFile("testdata/pairs.npz")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file     string
		data     []byte
		row, col int64
		want     string
	}{
		{"a.npz", csc, -1, -1, `format "csc"; tocsr()`},
		{"a.npz", coo, -1, -1, `format "coo"; tocsr()`},
		{"a.npz", npzOf(t, map[string][]byte{"ids": vector(1, 5)}), -1, -1, "no array indptr of a sparse matrix; it holds ids"},
		{"a.npz", npzOf(t, map[string][]byte{"indptr": vector(2, 0, 1)}), -1, -1, "no array indices"},
		{"a.npz", csr(vector(0), vector(0)), -1, -1, "is empty"},
		{"a.npz", csr(vector(2, 1, 1), vector(1, 5)), 0, -1, "begins with 1"},
		{"a.npz", csr(vector(3, 0, 2, 1), vector(2, 5, 6)), 2, -1, "1 is below the 2"},
		{"a.npz", csr(vector(3, 0, 1, 3), vector(2, 5, 6)), 2, -1, "3 exceeds the 2 elements"},
		{"a.npz", csr(vector(2, 0, 1), vector(2, 5, 6)), 1, -1, "ends with 1, and"},
		{"a.npz", csr(vector(2, 0, 2), vector(2, 5)), 0, -1, "truncated"},
		{"a.npz", csr(vector(3, 0, 2), vector(2, 5, 6)), 2, -1, "truncated"},
		{"a.npz", csr(vector(2, 0, 1<<40), vector(1<<40, 5)), 0, -1, "more than the limit of 268435456"},
		{"a.npz", csr(vector(2, 0, 1), npyOf("<f4", "False", "(1,)", floats(5))), -1, -1, `dtype "<f4" is not one of`},
		{"a.npz", csr(vector(2, 0, 1), npyOf("<u8", "False", "(1,)", le64(1<<63))), 0, -1, "does not fit int64"},
		{"a.npz", csr(vector(2, 0, 1), npyOf("<i8", "False", "(1, 1)", le64(5))), -1, -1, "1 dimensions in C order"},
		{"a.npz", npzOf(t, map[string][]byte{"indptr": vector(2, 0, 1), "indices": vector(1, 5), "shape": vector(2, 2, 10)}), -1, -1, "shape announces [2 10], and indptr 1 rows"},
		{"a.jsonl", []byte("[1,2.5]"), 0, 1, "no integer of int64"},
		{"a.jsonl", []byte("[1]\n[1,\"a\"]"), 1, 1, "integers or texts, not both"},
		{"a.jsonl", []byte("[\"a\"]\n[\"a\",2]"), 1, 1, "integers or texts, not both"},
		{"a.jsonl", []byte("[true]"), 0, 0, "an id, an integer or a text,"},
		{"a.npz", npzOf(t, map[string][]byte{"indptr": vector(2, 0, 2), "indices": vector(2, 5, 10), "shape": vector(2, 1, 10)}), 1, -1, "id 10 of row 0 is outside [0, 10)"},
		{"a.jsonl", []byte("[9223372036854775808]"), 0, 0, "no integer of int64"},
		{"a.jsonl", []byte("[1]]"), 0, -1, "the end of the line"},
		{"a.jsonl", []byte(`{"query":1,"ids":[]}` + "\n" + `{"query":1,"ids":[]}`), 1, -1, "query 1 where one from 2 on"},
		{"a.jsonl", []byte(`{"ids":[]}`), 0, -1, "an object with query and ids"},
		{"a.jsonl", []byte(`{"query":0,"ids":[],"ids":[]}`), 0, -1, `"ids" appears twice`},
		{"a.jsonl", []byte(`{"query":-1,"ids":[]}`), 0, -1, "negative"},
		{"a.ivecs", le32(1, 5, 2, 6), 1, -1, "truncated"},
		{"a.ivecs", le32(0xffffffff), 0, -1, "outside [0,"},
		{"a.ivecs", le32(2, 0xffffffff, 5), 0, 0, "only the padding"},
		{"a.fvecs", le32(1, 5), -1, -1, "does not hold lists of ids"},
	} {
		path := writeTemp(t, c.file, string(c.data))
		_, _, err := readLists(path)
		checkError(t, nil, err, path, c.row, c.col, c.want)
	}
}

// TestListsRoundTrip: lists in every form are read back.
func TestListsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64(), 0, 5), 1, 6).Draw(rt, "lists")
		indptr, ids := le64(0), []byte{}
		var lines, objects []byte
		total := 0
		for q, list := range want {
			total += len(list)
			indptr = join(indptr, le64(uint64(total)))
			text, err := json.Marshal(list)
			if err != nil {
				rt.Fatal(err)
			}
			for _, id := range list {
				ids = join(ids, le64(uint64(id)))
			}
			lines = append(append(lines, text...), '\n')
			if len(list) > 0 || q == len(want)-1 {
				objects = fmt.Appendf(objects, `{"query":%d,"ids":%s}`+"\n", q, text)
			}
		}
		npz := npzOf(t, map[string][]byte{
			"indptr": npyOf("<i8", "False", fmt.Sprintf("(%d,)", len(want)+1), indptr),
			"ids":    npyOf("<i8", "False", fmt.Sprintf("(%d,)", total), ids),
		})
		for name, data := range map[string][]byte{"a.npz": npz, "a.jsonl": lines, "b.jsonl": objects} {
			format, _ := FormatOf(name)
			r, err := openListsAs(memorySource(name, data), format, ListOptions{})
			if err != nil {
				rt.Fatal(err)
			}
			got, err := drainLists(r)
			if err != nil || !slices.EqualFunc(want, got, slices.Equal[[]int64]) {
				rt.Fatalf("%s: %v (%v), want %v", name, got, err, want)
			}
		}
	})
}

func fuzzLists(f *testing.F, format Format) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		before := allocated()
		defer func() {
			if used := allocated() - before; used > fuzzMemory(len(data)) {
				t.Fatalf("%d bytes of memory for %d bytes of input", used, len(data))
			}
		}()
		src := memorySource("fuzz", bytes.Clone(data))
		src.limit(fuzzBudget())
		r, err := openListsAs(src, format, ListOptions{})
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		defer r.Close()
		// A line may name a query far ahead, before which all lists are empty.
		for n := int64(0); n < 10_000; n++ {
			_, err := r.Next()
			if err == io.EOF {
				if r.Len() >= 0 && r.Len() != n {
					t.Fatalf("Len %d, but %d lists", r.Len(), n)
				}
				return
			}
			if err != nil {
				checkFuzzError(t, err)
				return
			}
		}
	})
}

func FuzzListsNPZ(f *testing.F) {
	addFixtures(f, "lists.npz", "csc.npz")
	fuzzLists(f, NPZ)
}

func FuzzListsJSONL(f *testing.F) {
	f.Add([]byte("[7,5,9]\n[]\n[0]\n"))
	f.Add([]byte(`{"query":0,"ids":[7]}` + "\n" + `{"ids":[0],"x":{},"query":2}`))
	fuzzLists(f, JSONL)
}

func FuzzListsIVecs(f *testing.F) {
	f.Add(le32(3, 7, 5, 0xffffffff, 0, 1, 0))
	fuzzLists(f, IVecs)
}
