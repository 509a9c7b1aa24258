package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"thresher/service/problem"
)

// TestFloatsShareMemory where it is aligned, and are the same where it is not.
func TestFloatsShareMemory(t *testing.T) {
	want := []float32{1, -2.5, 3}
	b := make([]byte, 16)
	for shift := range 4 {
		for i, v := range want {
			binary.LittleEndian.PutUint32(b[shift+4*i:], math.Float32bits(v))
		}
		got := floats(b[shift : shift+12])
		if !slices.Equal(got, want) {
			t.Errorf("shift %d: %v", shift, got)
		}
		aligned := shift == 0 && little()
		b[shift+3] ^= 0x80
		if shared := got[0] == -1; shared != aligned {
			t.Errorf("shift %d: memory is shared: %v", shift, shared)
		}
	}
}

// TestNotFiniteAt finds the first value that is not finite, wherever it is.
func TestNotFiniteAt(t *testing.T) {
	for n := range 40 {
		v := make([]float32, n)
		for i := range v {
			v[i] = math.MaxFloat32
			if i%2 == 1 {
				v[i] = -v[i]
			}
		}
		if i := notFinite(v); i != -1 {
			t.Errorf("of %d finite values, %d is not", n, i)
		}
		for i := range v {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				w := slices.Clone(v)
				w[i], w[n-1] = float32(bad), float32(math.Inf(1))
				if got := notFinite(w); got != i {
					t.Errorf("value %d of %d is %v; found %d", i, n, bad, got)
				}
			}
		}
	}
}

// TestDecodeSearchNPYShares compares with decodeNPY, which copies: the results or the errors
// are equal. Queries in the plain format are not copied.
func TestDecodeSearchNPYShares(t *testing.T) {
	data := []float32{1, -2, 3.5, 4, 5, 6}
	plain := npyOf(t, 2, 3, data...)
	with := func(head []byte, data ...float32) []byte {
		for _, v := range data {
			head = binary.LittleEndian.AppendUint32(head, math.Float32bits(v))
		}
		return head
	}
	changed := func(at int, to byte) []byte {
		b := bytes.Clone(plain)
		b[at] = to
		return b
	}
	nan := float32(math.NaN())
	for name, x := range map[string]struct {
		body   []byte
		shared bool
	}{
		"plain":           {plain, true},
		"as by NumPy":     {with(npyHead("<f4", "(2, 3)"), data...), true},
		"a row":           {with(npyHead("<f4", "(3,)"), data[:3]...), false},
		"other type":      {with(npyHead("<f8", "(1, 3)"), data...), false},
		"high byte first": {with(npyHead(">f4", "(2, 3)"), data...), false},
		"other dimension": {npyOf(t, 3, 2, data...), false},
		"fewer rows":      {with(npyHead("<f4", "(3, 3)"), data...), false},
		"more rows":       {with(npyHead("<f4", "(1, 3)"), data...), false},
		"no rows":         {npyHead("<f4", "(0, 3)"), false},
		"too many":        {npyOf(t, 5, 3, make([]float32, 15)...), false},
		"part of a row":   {plain[:len(plain)-4], false},
		"no values":       {plain[:len(plain)-24], false},
		"half a header":   {plain[:40], false},
		"a magic":         {plain[:6], false},
		"nothing":         {nil, false},
		"other magic":     {changed(1, 'X'), false},
		"other version":   {changed(6, 9), false},
		"NaN":             {npyOf(t, 2, 3, 1, 2, 3, 4, nan, 6), false},
		"Inf":             {npyOf(t, 2, 3, 1, 2, 3, 4, 5, float32(math.Inf(-1))), false},
	} {
		want, werr := decodeNPY(x.body, nil, dim, limits())
		got, err := DecodeSearchNPY(x.body, nil, dim, limits())
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (werr == nil) {
			t.Errorf("%s: error %v, copied %v\n%s", name, err, werr, diff)
		}
		if err != nil {
			if diff := cmp.Diff(problem.Of(werr), problem.Of(err), cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) })); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			continue
		}
		at, end := uintptr(unsafe.Pointer(&got.Queries[0])), uintptr(unsafe.Pointer(unsafe.SliceData(x.body)))+uintptr(len(x.body))
		share := x.shared && little() && end%4 == 0
		if shared := at+uintptr(4*len(got.Queries)) == end; shared != share {
			t.Errorf("%s: memory is shared: %v", name, shared)
		}
	}
}
