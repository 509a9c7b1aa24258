package simd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// checkTranspose compares all Kernels with the layout of panel.go, for rows at the end
// of their slice and for rows that others follow.
func checkTranspose(t *testing.T, n, width, stride int, bytes []byte) {
	t.Helper()
	end := max(0, (n-1)*stride+width)
	rows := make([]uint8, end+100*stride)
	for i := range rows {
		rows[i] = bytes[i%len(bytes)]
	}
	for _, kern := range Available() {
		for _, rows := range [][]uint8{rows, rows[:end:end]} {
			panel, intact := fenced(PanelLanes*width, uint8(0xa5), equal[uint8])
			kern.Transpose(panel, rows, stride, n, width)
			for i := range PanelLanes {
				for c := range width {
					want := uint8(Bias)
					if i < n {
						want = rows[i*stride+c]
					}
					if got := panel[c/4*quadBytes+4*i+c%4]; got != want {
						t.Fatalf("%v: code %d of row %d of %d, width %d, stride %d: %d, want %d", kern, c, i, n, width, stride, got, want)
					}
				}
			}
			if !intact() {
				t.Fatalf("%v: %d rows of width %d: wrote beyond", kern, n, width)
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	bytes := make([]byte, 65537)
	for i := range bytes {
		bytes[i] = byte(r.Uint32())
	}
	for n := range PanelLanes + 1 {
		for _, width := range []int{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 64, 100, 128} {
			checkTranspose(t, n, width, width, bytes)
			checkTranspose(t, n, width, width+n, bytes[width:])
		}
	}
	checkTranspose(t, PanelLanes, 832, 832, bytes)
	checkTranspose(t, PanelLanes, 1020, 1024, bytes)
}

// TestTransposeRefuses asserts that rows that end early panic before anything beyond is read.
func TestTransposeRefuses(t *testing.T) {
	for _, kern := range Available() {
		for _, n := range []int{1, 16, 37, 64} {
			rows := make([]uint8, (n-1)*36+32-1)
			if !panics(func() { kern.Transpose(make([]uint8, PanelLanes*32), rows, 36, n, 32) }) {
				t.Errorf("%v: went on with a byte of %d rows missing", kern, n)
			}
		}
	}
}

// checkLists compares Select, on the entries that a mask lists, with its definition.
func checkLists(t *testing.T, kern Kernels, mask uint64, values *[PanelLanes]float32, base uint32, add, cut float32) {
	t.Helper()
	var wantIDs []uint32
	var wantBounds []float32
	for i, v := range values {
		if mask>>i&1 != 0 {
			wantIDs, wantBounds = append(wantIDs, base+uint32(i)), append(wantBounds, v+add)
		}
	}
	for _, span := range [][2]float32{{cut, float32(math.Inf(1))}, {float32(math.Inf(-1)), cut}, {-1, 1}, {1, -1}, {nan32, 1}, {-1, nan32}} {
		checkSelect(t, kern, wantIDs, wantBounds, span[0], span[1])
	}
}

// checkSelect compares Select, into other memory and in place, with its definition.
func checkSelect(t *testing.T, kern Kernels, ids []uint32, bounds []float32, lo, hi float32) {
	t.Helper()
	var wantIDs []uint32
	var wantBounds []float32
	for k, b := range bounds {
		if b >= lo && b < hi {
			wantIDs, wantBounds = append(wantIDs, ids[k]), append(wantBounds, b)
		}
	}
	toIDs, intactIDs := fenced(len(ids), uint32(0xa5a5a5a5), equal[uint32])
	toBounds, intactBounds := fencedFloats(make([]float32, len(ids)))
	n := kern.Select(toIDs, toBounds, ids, bounds, lo, hi)
	sameList(t, "Select", kern, toIDs, toBounds, n, wantIDs, wantBounds)
	copy(toIDs, ids)
	copy(toBounds, bounds)
	n = kern.Select(toIDs, toBounds, toIDs, toBounds, lo, hi)
	sameList(t, "Select in place", kern, toIDs, toBounds, n, wantIDs, wantBounds)
	if !intactIDs() || !intactBounds() {
		t.Fatalf("%v: Select from %d wrote beyond", kern, len(ids))
	}
}

func sameList(t *testing.T, what string, kern Kernels, ids []uint32, bounds []float32, n int, wantIDs []uint32, wantBounds []float32) {
	t.Helper()
	if n != len(wantIDs) {
		t.Fatalf("%v: %s: %d entries, want %d", kern, what, n, len(wantIDs))
	}
	for k := range n {
		if ids[k] != wantIDs[k] || !sameBits32(bounds[k], wantBounds[k]) {
			t.Fatalf("%v: %s: entry %d of %d is %d, %g, want %d, %g", kern, what, k, n, ids[k], bounds[k], wantIDs[k], wantBounds[k])
		}
	}
}

func TestLists(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	var values [PanelLanes]float32
	for _, kern := range Available() {
		for n := range 20 * (PanelLanes + 1) {
			var mask uint64 // of n bits, for every n
			for _, i := range r.Perm(PanelLanes)[:n%(PanelLanes+1)] {
				mask |= 1 << i
			}
			for i := range values {
				values[i] = float32(r.NormFloat64())
			}
			values[r.IntN(PanelLanes)] = float32(math.Inf(1 - 2*r.IntN(2)))
			checkLists(t, kern, mask, &values, r.Uint32(), float32(r.NormFloat64()), 0)
		}
	}
}

func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	inf := float32(math.Inf(1))
	for _, kern := range Available() {
		for n := range 301 {
			ids, bounds := make([]uint32, n), make([]float32, n)
			for k := range ids {
				ids[k], bounds[k] = r.Uint32(), []float32{0, 1, 2, 3, -inf, inf, nan32, 1.5}[r.IntN(8)]
			}
			for _, span := range [][2]float32{{1, 2}, {1, 1}, {-inf, inf}, {2, inf}, {inf, inf}, {0, 3}, {4, 5}} {
				checkSelect(t, kern, ids, bounds, span[0], span[1])
			}
		}
	}
}
