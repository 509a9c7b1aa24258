package collection

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"thresher/internal/draws"
)

// TestBuildOver maps rows behind other bytes, with codes and without, and compares them with the same rows in memory.
func TestBuildOver(t *testing.T) {
	const n, dim, offset = 300, 24, 5000
	r := draws.Rand(1)
	rows, b := make([]float32, n*dim), make([]byte, offset)
	for i := range rows {
		rows[i] = float32(r.NormFloat64())
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(rows[i]))
	}
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, o := range []Options{{Metric: Euclidean, Seed: 1}, {Metric: Cosine, NoCodes: true}} {
		c, err := BuildOver(t.Context(), f, offset, n, dim, &o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Build(t.Context(), rows, dim, &o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Rows, rows) || !slices.Equal(c.Order, want.Order) || !slices.Equal(c.Norm, want.Norm) || !slices.Equal(c.Codes, want.Codes) {
			t.Errorf("%+v: not what is built in memory", o)
		}
		if c.Unbuilt() != o.NoCodes || c.Coded() == o.NoCodes {
			t.Errorf("%+v: unbuilt %v, coded %v", o, c.Unbuilt(), c.Coded())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := BuildOver(t.Context(), f, offset, n+1, dim, nil); !errors.Is(err, ErrTruncated) {
		t.Errorf("a row too many: %v", err)
	}
	if _, err := BuildOver(t.Context(), f, offset+2, n-1, dim, nil); err == nil {
		t.Error("rows that are not aligned are mapped")
	}
	if _, err := BuildOver(t.Context(), f, 0, 0, dim, nil); err == nil {
		t.Error("no rows are mapped")
	}
}
