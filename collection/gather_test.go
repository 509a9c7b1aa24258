package collection

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"thresher/dataset"
	"thresher/internal/vectors"
)

// TestGatheredCodes: atoms that are coded in the order of rows, gathered and placed have the codes, terms and forecast of those that are
// coded in their own order: of all types and metrics, with rows that are zero or too small to be coded, whatever the segments, what
// is held in memory, and the threads.
func TestGatheredCodes(t *testing.T) {
	const n = 21*PanelAtoms + 7
	for _, s := range []struct {
		dim     int
		elem    dataset.Elem
		metric  Metric
		segment int64
		held    int64
		threads int
	}{
		{100, dataset.ElemFloat32, InnerProduct, 1 << 16, 0, 3},
		{300, dataset.ElemFloat32, InnerProduct, 1 << 17, 1 << 18, 2},
		{768, dataset.ElemFloat16, Euclidean, 1 << 18, 1 << 19, 3},
		{96, dataset.ElemFloat64, Euclidean, 1 << 16, 1 << 30, 1}, // all of them
		{128, dataset.ElemFloat16, Cosine, 1 << 16, 1 << 10, 2},   // no bucket
		{200, dataset.ElemInt8, InnerProduct, 1 << 12, 0, 2},      // less than a panel, and records are written one by one
		{200, dataset.ElemInt8, Cosine, 1 << 12, 1 << 17, 2},
	} {
		r := vectors.Rand(uint64(s.dim))
		var values []byte
		for i := range n * s.dim {
			x := float64(int32(r.Uint32()))*0x1p-31*float64(1+i/s.dim%5) + 3
			switch i / s.dim {
			case 17:
				x *= 1e-35
			case 40:
				x = 0
			}
			switch s.elem {
			case dataset.ElemFloat32:
				values = binary.NativeEndian.AppendUint32(values, math.Float32bits(float32(x)))
			case dataset.ElemFloat64:
				values = binary.NativeEndian.AppendUint64(values, math.Float64bits(x))
			case dataset.ElemFloat16:
				values = binary.NativeEndian.AppendUint16(values, uint16(0x3c00+r.Uint32()%0x400))
			default:
				values = append(values, byte(r.Uint32()))
			}
		}
		v, err := dataset.NewVectors(s.elem, s.dim, values)
		if err != nil {
			t.Fatal(err)
		}
		o := &Options{Metric: s.metric, Threads: s.threads, Elem: s.elem}
		want, err := BuildVectors(t.Context(), v, o)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(t.TempDir(), "c"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(v.Bytes(), firstSection()); err != nil {
			t.Fatal(err)
		}
		w := &file{f: f, end: firstSection(), sums: map[int]uint32{}, atoms: n, segment: s.segment, held: s.held}
		got := newShape(n, s.dim, &Options{Metric: s.metric, Origin: want.Origin})
		if err := got.layoutRows(w, s.elem); err != nil {
			t.Fatal(err)
		}
		defer func() {
			for i, b := range w.maps {
				if !w.inMemory[i] {
					unmapFile(f, w.sections[i].Offset, b, false)
				}
			}
		}()
		if err := got.build(t.Context(), w, o); err != nil {
			t.Fatal(err)
		}
		what := t.Name() + " " + s.elem.String() + " " + s.metric.String()
		a, b := want.codedArrays(), got.codedArrays()
		for k := range a.terms {
			if !slices.Equal(a.terms[k], b.terms[k]) {
				t.Errorf("%s: terms %d differ", what, k)
			}
		}
		for k := range a.rows {
			if !slices.Equal(a.rows[k].b, b.rows[k].b) {
				t.Errorf("%s: codes %d differ", what, k)
			}
		}
		if !slices.Equal(want.Panels, got.Panels) {
			t.Errorf("%s: panels differ", what)
		}
		if !reflect.DeepEqual(want.Forecast(), got.Forecast()) {
			t.Errorf("%s: forecasts differ", what)
		}
		if st, err := f.Stat(); err != nil || st.Size() > w.end+1<<20+pageBytes() {
			t.Errorf("%s: %d bytes, %v: records are left behind %d", what, st.Size(), err, w.end)
		}
		if len(w.sums) != len(w.perAtom()) {
			t.Errorf("%s: %d sums of %d sections", what, len(w.sums), len(w.perAtom()))
		}
	}
}
