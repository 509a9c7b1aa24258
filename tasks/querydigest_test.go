package tasks_test

import (
	"math"
	"testing"

	"thresher/tasks"
)

// TestQueryDigest: the digest is of the values, whatever their type; the last bit of a float64 is one of them. Those of queries that
// float32 holds, and of those that need no more than a float32 and another for the rest, are what they always were.
func TestQueryDigest(t *testing.T) {
	digest := func(rows []float32, given ...float64) string {
		d := tasks.NewQueryDigest(2)
		d.Add(rows, given)
		if want := int64(max(len(rows), len(given)) / 2); d.Count() != want {
			t.Errorf("%d queries counted, want %d", d.Count(), want)
		}
		return d.String()
	}
	narrow := []float32{1, -2.5, 0, float32(math.Copysign(0, -1))}
	const plain = "55b00d47e53026b6845bb10005cc3ead49164513725bf582a63641b40577930f"
	if a, b := digest(narrow), digest(nil, 1, -2.5, 0, 0); a != plain || b != plain {
		t.Errorf("float32: %s and, given as float64, %s; want %s", a, b, plain)
	}
	const long = "01e34aca7de33c5d6b2d4f48b95fdaf4069f245696515ec28c8b81147bb3d5df"
	rounded := []float32{1, .1}
	if got := digest(rounded, 1, 1+0x1p-40); got != long {
		t.Errorf("float64: %s, want %s", got, long)
	}
	if a, b := digest(rounded, 1, .1), digest(rounded, 1, math.Nextafter(.1, 1)); a == b {
		t.Errorf("queries that differ in the last bit have one digest, %s", a)
	}
}
