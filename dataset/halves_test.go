package dataset

import (
	"bytes"
	"slices"
	"testing"
)

// TestHalves: 1, -2 and the least positive number of each 16-bit type, by row, from the formats that have it
// without a name of their own for it.
func TestHalves(t *testing.T) {
	float := []byte{0, 0x3c, 0, 0xc0, 1, 0}
	brain := []byte{0x80, 0x3f, 0, 0xc0, 1, 0}
	for _, c := range []struct {
		name   string
		format Format
		data   []byte
		least  float32
	}{
		{"f16bin", F16Bin, join(le32(1, 3), float), 0x1p-24},
		{"npy float16", NPY, npyOf("<f2", "False", "(1, 3)", float), 0x1p-24},
		{"npy bfloat16", NPY, npyOf("<V2", "False", "(1, 3)", brain), 0x1p-133},
		{"npy bfloat16 in Fortran order", NPY, npyOf("<V2", "True", "(1, 3)", brain), 0x1p-133},
		{"safetensors bfloat16", SafeTensors, tensorBytes(`{"x":{"dtype":"BF16","shape":[1,3],"data_offsets":[0,6]}}`, brain), 0x1p-133},
	} {
		r, err := NewReader(bytes.NewReader(c.data), c.format, "a", nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		row := make([]float32, 3)
		if n, err := r.Read(row); n != 1 || err != nil || !slices.Equal(row, []float32{1, -2, c.least}) {
			t.Errorf("%s: read %d rows, %v, %v", c.name, n, row, err)
		}
	}
}
