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
	ids := &TermTable{Signals: []string{"a", "b", "c", "d,d"}, Atoms: []string{"x", "y", "zoë"}}
	for _, c := range []struct {
		format Format
		table  *TermTable
		want   string
	}{
		{CSV, &TermTable{}, "signal,step,atom,coefficient,residual,pulls\n0,0,2,-1.5,0.25,640\n3,1,0,1e-300,0,7\n"},
		{CSV, ids, "signal,signal_id,step,atom,atom_id,coefficient,residual,pulls\n0,a,0,2,zoë,-1.5,0.25,640\n3,\"d,d\",1,0,x,1e-300,0,7\n"},
		{JSONL, &TermTable{Atoms: ids.Atoms}, `{"signal":0,"step":0,"atom":2,"atom_id":"zoë","coefficient":-1.5,"residual":0.25,"pulls":640}` + "\n" +
			`{"signal":3,"step":1,"atom":0,"atom_id":"x","coefficient":1e-300,"residual":0,"pulls":7}` + "\n"},
	} {
		var b bytes.Buffer
		if err := WriteTerms(&b, c.format, terms, c.table); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, b.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.format, d)
		}
	}
	var npz, parquet bytes.Buffer
	if err := WriteTerms(&npz, NPZ, terms, ids); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"signal.npy", "signal_id.npy", "step.npy", "atom.npy", "atom_id.npy", "coefficient.npy", "residual.npy", "pulls.npy"} {
		if !bytes.Contains(npz.Bytes(), []byte(name)) {
			t.Errorf("npz has no %s", name)
		}
	}
	coefficients := binary.LittleEndian.AppendUint64(nil, math.Float64bits(-1.5))
	coefficients = binary.LittleEndian.AppendUint64(coefficients, math.Float64bits(1e-300))
	if !bytes.Contains(npz.Bytes(), coefficients) {
		t.Error("npz has other coefficients")
	}
	if err := WriteTerms(&parquet, Parquet, terms, ids); err != nil || !bytes.HasPrefix(parquet.Bytes(), []byte("PAR1")) {
		t.Errorf("%d bytes of Parquet, %v", parquet.Len(), err)
	}
	if err := WriteTerms(&parquet, NPY, terms, ids); err == nil {
		t.Error("written as npy")
	}
}
