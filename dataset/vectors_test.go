package dataset

import (
	"io"
	"math"
	"slices"
	"testing"
)

// sixValues are 0, 1, 2, 3, -1 and -128 in each type; those that are negative are 5 and 6 in ElemUint8.
func sixValues(t *testing.T, e Elem) Vectors {
	t.Helper()
	var v Vectors
	var err error
	switch e {
	case ElemFloat32:
		v, err = VectorsOf([]float32{0, 1, 2, 3, -1, -128}, 2)
	case ElemFloat64:
		v, err = VectorsOf([]float64{0, 1, 2, 3, -1, -128}, 2)
	case ElemInt8:
		v, err = VectorsOf([]int8{0, 1, 2, 3, -1, -128}, 2)
	case ElemUint8:
		v, err = VectorsOf([]uint8{0, 1, 2, 3, 5, 6}, 2)
	case ElemFloat16:
		v, err = NewVectors(e, 2, bytesOf16(0, 0x3c00, 0x4000, 0x4200, 0xbc00, 0xd800))
	case ElemBFloat16:
		v, err = NewVectors(e, 2, bytesOf16(0, 0x3f80, 0x4000, 0x4040, 0xbf80, 0xc300))
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func bytesOf16(values ...uint16) []byte {
	b := make([]byte, 0, 2*len(values)) // of a size that Go aligns
	for _, v := range values {
		b = append(b, byte(v), byte(v>>8))
	}
	return b
}

func TestVectors(t *testing.T) {
	for e := ElemFloat32; e.valid(); e++ {
		t.Run(e.String(), func(t *testing.T) {
			want := []float32{0, 1, 2, 3, -1, -128}
			if e == ElemUint8 {
				want = []float32{0, 1, 2, 3, 5, 6}
			}
			v := sixValues(t, e)
			if parsed, err := ParseElem(e.String()); err != nil || parsed != e {
				t.Errorf("parsed as %v, %v", parsed, err)
			}
			if v.Elem() != e || v.Dim() != 2 || v.Len() != 3 || len(v.Bytes()) != 6*e.Size() {
				t.Fatalf("%v of %d rows of %d", v.Elem(), v.Len(), v.Dim())
			}
			got, wide := make([]float32, 3), make([]float64, 3)
			v.Slice(1, 3).Read32(got, 1)
			v.Slice(1, 3).Read64(wide, 1)
			for i, x := range want[3:] {
				if got[i] != x || wide[i] != float64(x) {
					t.Errorf("value %d is %v, %v, not %v", i+3, got[i], wide[i], x)
				}
			}
			if at := v.Unfit(); at != -1 {
				t.Errorf("value %d is unfit", at)
			}
			r := v.Reader()
			var read []float32
			for {
				buf := make([]float32, 5)
				n, err := r.Read(buf)
				if read = append(read, buf[:2*n]...); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(read, want) {
				t.Errorf("read %v, not %v", read, want)
			}
			typed, bytes := v.Reader().(TypedReader), make([]byte, 7*e.Size())
			if n, err := typed.ReadTyped(bytes); n != 3 || err != nil || !slices.Equal(bytes[:6*e.Size()], v.Bytes()) {
				t.Errorf("%d rows, %v: % x, not % x", n, err, bytes, v.Bytes())
			}
		})
	}
}

func TestUnfitVectors(t *testing.T) {
	nan := math.NaN()
	floats, _ := VectorsOf([]float32{1, 2, float32(math.Inf(1)), 0}, 2)
	doubles, _ := VectorsOf([]float64{1, math.MaxFloat64, -1, nan}, 2)
	halves, _ := NewVectors(ElemFloat16, 2, bytesOf16(0x7bff, 0xfc00))
	brains, _ := NewVectors(ElemBFloat16, 2, bytesOf16(0x7c00, 0x7fc0))
	for want, v := range map[int]Vectors{2: floats, 3: doubles, 1: halves} {
		if at := v.Unfit(); at != want {
			t.Errorf("%v: value %d, not %d", v.Elem(), at, want)
		}
	}
	if at := brains.Unfit(); at != 1 {
		t.Errorf("bfloat16: value %d, not 1", at)
	}
}

func TestNoVectors(t *testing.T) {
	aligned := bytesOf16(1, 2, 3, 4)
	for name, c := range map[string]struct {
		elem Elem
		dim  int
		data []byte
	}{
		"no type":   {ElemUint8 + 1, 1, aligned},
		"no dim":    {ElemInt8, 0, aligned},
		"no rows":   {ElemFloat16, 3, aligned},
		"unaligned": {ElemFloat16, 1, aligned[1:3]},
	} {
		if _, err := NewVectors(c.elem, c.dim, c.data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := ParseElem("int4"); err == nil || (Vectors{}).Len() != 0 {
		t.Errorf("int4 is a type, or there are %d zero vectors", (Vectors{}).Len())
	}
}

// TestEncode: all finite values of each type are written as they were read, and others are refused.
func TestEncode(t *testing.T) {
	for e := ElemFloat16; e.valid(); e++ {
		all := make([]byte, 1<<(8*e.Size())*e.Size())
		for i := range len(all) / e.Size() {
			if all[i*e.Size()] = byte(i); e.Size() == 2 {
				all[2*i+1] = byte(i >> 8)
			}
		}
		v, err := NewVectors(e, 1, all)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for i := range v.Len() {
			one, value, back := v.Slice(i, i+1), make([]float32, 1), make([]byte, e.Size())
			if one.Unfit() >= 0 {
				continue
			}
			count++
			one.Read32(value, 0)
			if bad := e.Encode(back, value); bad >= 0 || !slices.Equal(back, one.Bytes()) {
				t.Fatalf("%v: %v is % x, not % x (%d)", e, value[0], back, one.Bytes(), bad)
			}
		}
		if count < 256 {
			t.Errorf("%v: %d values", e, count)
		}
		for _, x := range []float32{.1, 65520, 0x1p-25, 2049, float32(math.Inf(1)), float32(math.NaN())} {
			if bad := e.Encode(make([]byte, 2*e.Size()), []float32{1, x}); bad != 1 && (e != ElemBFloat16 || x != 0x1p-25) {
				t.Errorf("%v holds %v (%d)", e, x, bad)
			}
		}
	}
}
