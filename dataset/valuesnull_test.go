package dataset

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestValuesOfNull: a column of Parquet of the type that has no values is null in every row.
func TestValuesOfNull(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("rows", parquet.Group{
		"none": parquet.Optional(parquet.Leaf(parquet.NullType)),
		"x":    parquet.Int(64),
	}))
	for range 2 {
		if err := w.Write(map[string]any{"x": int64(7)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := columnsRead(t, "a.parquet", b.Bytes(), "none", "x")
	if err != nil {
		t.Fatal(err)
	}
	row := []Value{{}, {Kind: IntegerValue, Integer: 7}}
	sameRows(t, got, [][]Value{row, row})
}
