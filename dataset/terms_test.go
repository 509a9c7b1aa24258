package dataset

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWriteTerms: text formats are written byte for byte, and npz has an array for each column.
func TestWriteTerms(t *testing.T) {
	terms := []Term{{0, 0, 2, -1.5, .25, 640}, {3, 1, 0, 1e-300, 0, 7}}
	each := logged(t, terms)
	ids := &TermTable{Count: 2, Signals: RowIDsOf(IDsOf([]string{"a", "b", "c", "d,d"})), Vectors: RowIDsOf(IDsOf([]string{"x", "y", "zoë"}))}
	for _, c := range []struct {
		format Format
		table  *TermTable
		want   string
	}{
		{CSV, &TermTable{Count: 2}, "signal,step,vector,coefficient,residual,pulls\n0,0,2,-1.5,0.25,640\n3,1,0,1e-300,0,7\n"},
		{CSV, ids, "signal,signal_id,step,vector,vector_id,coefficient,residual,pulls\n0,a,0,2,zoë,-1.5,0.25,640\n3,\"d,d\",1,0,x,1e-300,0,7\n"},
		{CSV, &TermTable{Count: 2, WithoutPulls: true}, "signal,step,vector,coefficient,residual\n0,0,2,-1.5,0.25\n3,1,0,1e-300,0\n"},
		{JSONL, &TermTable{Count: 2, Vectors: ids.Vectors}, `{"signal":0,"step":0,"vector":2,"vector_id":"zoë","coefficient":-1.5,"residual":0.25,"pulls":640}` + "\n" +
			`{"signal":3,"step":1,"vector":0,"vector_id":"x","coefficient":1e-300,"residual":0,"pulls":7}` + "\n"},
	} {
		var b bytes.Buffer
		if err := WriteTerms(&b, c.format, each, c.table); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.format, d)
		}
	}
	var npz, parquet bytes.Buffer
	if err := WriteTerms(&npz, NPZ, each, ids); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"signal.npy", "signal_id.npy", "step.npy", "vector.npy", "vector_id.npy", "coefficient.npy", "residual.npy", "pulls.npy"} {
		if !bytes.Contains(npz.Bytes(), []byte(name)) {
			t.Errorf("npz has no %s", name)
		}
	}
	coefficients := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-1.5))
	coefficients = binary.LittleEndian.AppendUint64(coefficients, math.Float64bits(1e-300))
	if !bytes.Contains(npz.Bytes(), coefficients) {
		t.Error("npz has other coefficients")
	}
	if err := WriteTerms(&parquet, Parquet, each, ids); err != nil || !bytes.HasPrefix(parquet.Bytes(), []byte("PAR1")) {
		t.Errorf("%d bytes of Parquet, %v", parquet.Len(), err)
	}
	if err := WriteTerms(&parquet, NPY, each, ids); err == nil {
		t.Error("written as npy")
	}
}

// logged returns terms by way of a log.
func logged(t *testing.T, terms []Term) EachTerm {
	t.Helper()
	log := AppendTerms(AppendTerms(nil, terms[:1]), terms[1:])
	each, err := TermLog(bytes.NewReader(log), int64(len(log)))
	if err != nil {
		t.Fatal(err)
	}
	return each
}

// TestTermLog: a log has its terms bit by bit, as often as they are read; a torn one is refused, and one that has become
// shorter is an error.
func TestTermLog(t *testing.T) {
	terms := []Term{{1 << 40, 3, 1<<62 + 1, math.Copysign(0, -1), 5e-324, 9}, {-1, 0, 2, math.MaxFloat64, .1, 1}}
	each := logged(t, terms)
	for range 2 {
		var got []Term
		if err := each(func(m *Term) error { got = append(got, *m); return nil }); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(terms, got); d != "" || !math.Signbit(got[0].Coefficient) {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if _, err := TermLog(bytes.NewReader(nil), TermBytes-1); err == nil {
		t.Error("a torn log is read")
	}
	each, err := TermLog(bytes.NewReader(make([]byte, TermBytes)), 2*TermBytes)
	if err != nil {
		t.Fatal(err)
	}
	if err := each(func(*Term) error { return nil }); err == nil {
		t.Error("a log that has become shorter is read")
	}
}
