package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// bareResults are sampleResults as files without pulls, and perhaps without scores, hold them.
func bareResults(scored bool) []Result {
	rs := sampleResults()
	for i := range rs {
		rs[i] = Result{Query: rs[i].Query, Rows: rs[i].Rows, Scores: rs[i].Scores}
		if !scored {
			rs[i].Scores = nil
		}
	}
	return rs
}

// assembleTruth writes ground truth in a form.
func assembleTruth(rs []Result, form truthForm, k int) ([]byte, error) {
	var b bytes.Buffer
	switch form {
	case truthIDs:
		err := AssembleTruthIDs(spoolOf(rs), k, &b)
		return b.Bytes(), err
	case truthRanged:
		k = 0
	}
	err := AssembleTruth(spoolOf(rs), k, &b)
	return b.Bytes(), err
}

// TestGroundTruthFixtures: files made by NumPy are read, with and without their extension, and
// written to the byte.
func TestGroundTruthFixtures(t *testing.T) {
	for form, file := range map[truthForm]string{truthScored: "scored.ibin", truthIDs: "ids.neighbors.ibin", truthRanged: "ranged.ibin"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{file, "gt.bin", "gt"} {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, n, err := readResults(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(bareResults(form != truthIDs), got); d != "" || n != 2 {
				t.Errorf("%s as %s: Len %d, (-want +got):\n%s", file, name, n, d)
			}
		}
		b, err := assembleTruth(sampleResults(), form, 3)
		if err != nil || !bytes.Equal(b, data) {
			t.Errorf("%s: written otherwise than by NumPy: %x, want %x (%v)", file, b, data, err)
		}
	}
}

// TestGroundTruthRoundTrip: what is written is read back, unless its size has two meanings.
func TestGroundTruthRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 5).Draw(t, "k")
		form := rapid.SampledFrom([]truthForm{truthScored, truthIDs, truthRanged}).Draw(t, "form")
		var rs []Result
		for i := range rapid.IntRange(1, 6).Draw(t, "queries") {
			n := rapid.IntRange(0, k).Draw(t, "ids")
			r := Result{
				Query:  int64(i),
				Rows:   rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt32), n, n).Draw(t, "id"),
				Scores: rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "score"),
			}
			for j, s := range r.Scores {
				if s != s {
					r.Scores[j] = 0
				}
			}
			rs = append(rs, r)
		}
		data, err := assembleTruth(rs, form, k)
		if err != nil {
			t.Fatal(err)
		}
		if form == truthIDs {
			for i := range rs {
				rs[i].Scores = nil
			}
		}
		r, err := openTruth(memorySource("gt.ibin", data))
		if err != nil {
			if !strings.Contains(err.Error(), "write the answers as .npz") || len(data) > 44 {
				t.Fatal(err)
			}
			return
		}
		for i := range rs {
			got, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(rs[i], got); d != "" {
				t.Fatalf("%v, query %d (-want +got):\n%s", form, i, d)
			}
		}
	})
}

// TestGroundTruthAmbiguous: a size that fits two forms is decided by the counts or the name, or
// refused.
func TestGroundTruthAmbiguous(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string // in the error, "" for none
		ids  int    // of query 0
	}{
		{"a.ibin", le32(3, 3, 9, 1, 2, 4, 5, 6, 7, 8, 9), "", 3},
		{"a.ibin", le32(3, 3, 0, 1, 2, 4, 5, 6, 7, 8, 9), "may hold ids alone or a range search", 0},
		{"a.neighbors.ibin", le32(3, 3, 0, 1, 2, 4, 5, 6, 7, 8, 9), "", 3},
		{"a.ibin", le32(4, 2, 1, math.MaxUint32, 3, 4, 5, 6, 7, 8), "", 1},
		{"a.ibin", join(le32(2, 1, 7, 8), floats(1, 2)), "", 1},
		{"a.ibin", join(le32(2, 1, 1, 0), floats(1, 2)), "may hold ids and scores or a range search", 0},
	} {
		r, err := openTruth(memorySource(c.name, c.data))
		if c.want != "" {
			checkError(t, nil, err, c.name, -1, -1, c.want)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Next(); err != nil || len(got.Rows) != c.ids {
			t.Errorf("%s: %v (%v), want %d ids", c.name, got, err, c.ids)
		}
	}
}

func TestMalformedGroundTruth(t *testing.T) {
	none := uint32(math.MaxUint32)
	for _, c := range []struct {
		name     string
		data     []byte
		row, col int64
		want     string
	}{
		{"header", le32(3), -1, -1, "truncated"},
		{"no queries", le32(0, 5), -1, -1, "no rows"},
		{"k = 0", le32(5, 0), -1, -1, "k = 0"},
		{"overflow", le32(none, none), -1, -1, "do not fit an address space"},
		{"huge", le32(1<<30, 1<<20), 0, 0, "whose ids take"},
		{"ids cut", le32(3, 4, 1, 2, 3, 4, 5), 1, 1, "truncated"},
		{"scores cut", join(le32(2, 2, 1, 2, 3, 4), floats(1, 2, 3)), 1, 1, "truncated"},
		{"long", join(le32(1, 2, 1, 2), floats(2, 1), []byte{0}), -1, -1, "1 bytes follow"},
		{"negative", le32(1, 2, 4, none-1), 0, 1, "id -2 where only the padding"},
		{"padding", le32(1, 2, none, 4), 0, 0, "only the padding"},
		{"NaN", join(le32(1, 2, 1, 2), floats(1), le32(nan32)), 0, 1, "score is NaN"},
		{"count", join(le32(3, 2, 1, none, 2, 5, 6), floats(1, 2)), 1, -1, "count -1 is outside [0, 1]"},
		{"counts above", join(le32(3, 2, 1, 2, 0, 5, 6), floats(1, 2)), 1, -1, "count 2 is outside [0, 1]"},
		{"counts below", join(le32(3, 2, 1, 0, 0, 5, 6), floats(1, 2)), -1, -1, "counts add up to 1"},
		{"range padding", join(le32(3, 2, 1, 1, 0, 5, none), floats(1, 2)), 1, 0, "is negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gt.ibin")
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := readResults(path)
			checkError(t, nil, err, path, c.row, c.col, c.want)
		})
	}
	path := filepath.Join(t.TempDir(), "gt.ibin.gz")
	if err := os.WriteFile(path, gzipped(le32(1, 1, 5)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := readResults(path)
	checkError(t, nil, err, path, -1, -1, "needs a plain file")
}

func TestAssembleTruthRefuses(t *testing.T) {
	good := sampleResults()
	for _, c := range []struct {
		form truthForm
		k    int
		rs   []Result
		want string
	}{
		{truthScored, -1, good, "k = -1 is not in"},
		{truthIDs, 0, good, "k = 0 is not in"},
		{truthScored, 2, good, "query 0: 3 ids where the output has k = 2"},
		{truthScored, 3, good[1:], "should be query 0"},
		{truthRanged, 0, good[1:], "should be query 0"},
		{truthIDs, 1, []Result{{Rows: []int64{1 << 31}}}, "query 0: id 2147483648 does not fit the int32 of ibin; write .npz"},
		{truthScored, 1, []Result{{Rows: []int64{1}}}, "has no scores"},
	} {
		if _, err := assembleTruth(c.rs, c.form, c.k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, k = %d: error %v lacks %q", c.form, c.k, err, c.want)
		}
	}
	torn := AppendRecord(nil, &good[0])
	if err := AssembleTruth(bytes.NewReader(torn[:len(torn)-1]), 3, new(bytes.Buffer)); !errors.Is(err, ErrTorn) {
		t.Errorf("torn spool: %v", err)
	}
}

// TestForeignMatrices: ids and scores as FAISS, hnswlib, cuVS and scikit-learn users save them.
func TestForeignMatrices(t *testing.T) {
	for file, scored := range map[string]bool{
		"ids8.npy": false, "ids4.npy": false, "idsu4.npy": false, "idsu8.npy": false,
		"faiss.npz": true, "hnswlib.npz": true, "cuvs.npz": false, "sklearn.npz": true,
	} {
		got, n, err := readResults(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(bareResults(scored), got); d != "" || n != 2 {
			t.Errorf("%s: Len %d, (-want +got):\n%s", file, n, d)
		}
	}
}

func TestMalformedMatrices(t *testing.T) {
	ids := npyOf("<i8", "False", "(2, 1)", le64(1, 2))
	for _, c := range []struct {
		file     string
		data     []byte
		row, col int64
		want     string
	}{
		{"a.npy", npyOf("<i8", "False", "(2,)", le64(1, 2)), -1, -1, "save it as (m, k)"},
		{"a.npy", npyOf("<f4", "False", "(2, 1)", floats(1, 2)), -1, -1, `dtype "<f4" is not one of i8 i4 u4 u8`},
		{"a.npy", npyOf("<i8", "True", "(2, 2)", le64(1, 2, 3, 4)), -1, -1, "C order"},
		{"a.npy", npyOf("<i8", "False", "(2, 0)", nil), -1, -1, "cannot be that of results"},
		{"a.npy", npyOf("<i8", "False", "(4611686018427387904, 4)", nil), -1, -1, "cannot be that of results"},
		{"a.npy", npyOf("<i8", "False", "(2, 2)", le64(1, 2, 3)), 1, 1, "truncated"},
		{"a.npy", npyOf("<i4", "False", "(1, 2)", le32(1, 2, 3)), -1, -1, "4 bytes follow"},
		{"a.npy", npyOf("<i4", "False", "(1, 2)", le32(1<<31, 2)), 0, 0, "only the padding"},
		{"a.npz", npzOf(t, map[string][]byte{"I": ids, "labels": ids}), -1, -1, "several arrays could be the ids: I, labels"},
		{"a.npz", npzOf(t, map[string][]byte{"I": ids, "D": ids}), -1, -1, `dtype "<i8" is not one of f4 f8`},
		{"a.npz", npzOf(t, map[string][]byte{"x": ids}), -1, -1, "no array ids or I, labels, neighbors, indices, keys, neighbors_id; it holds x"},
	} {
		t.Run(fmt.Sprintf("%s %.20s", c.file, c.want), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := readResults(path)
			checkError(t, nil, err, path, c.row, c.col, c.want)
		})
	}
}
