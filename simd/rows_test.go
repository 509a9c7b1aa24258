package simd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// rowsCase holds the inputs of a call of Rows, and of Rows8 with the high halves.
type rowsCase struct {
	codes               []uint8
	stride, head, width int
	ids                 []uint32
	q                   RowQuery
}

// sum returns the plain sum of n codes of row i, from index from on, times the query's.
func (c *rowsCase) sum(i uint32, q []int8, from, n int) (s int32) {
	row := c.codes[int(i)*c.stride:]
	for j := from; j < from+n; j++ {
		s += int32(row[j]) * int32(q[j])
	}
	return s
}

// check compares kern with plain sums; what lies around the sums must stay.
func (c *rowsCase) check(t *testing.T, kern Kernels) {
	t.Helper()
	out, intact := fenced(len(c.ids), RowSums{1, 2, 3, 4}, equal)
	out8, intact8 := fenced(len(c.ids), RowSums8{5, 6}, equal)
	kern.Rows(out, c.codes, c.stride, c.ids, c.head, c.width, &c.q)
	kern.Rows8(out8, c.codes, c.stride, c.ids, c.head, c.width, c.q.Hi)
	for k, i := range c.ids {
		want := RowSums{c.sum(i, c.q.Hi, 0, c.head), c.sum(i, c.q.Lo, 0, c.head),
			c.sum(i, c.q.Hi, c.head, c.width), c.sum(i, c.q.Lo, c.head, c.width)}
		if out[k] != want {
			t.Fatalf("%v: Rows %d+%d codes, id %d of %d: %v, want %v", kern, c.head, c.width, k, len(c.ids), out[k], want)
		}
		if want := (RowSums8{want.HeadHi, want.RestHi}); out8[k] != want {
			t.Fatalf("%v: Rows8 %d+%d codes, id %d of %d: %v, want %v", kern, c.head, c.width, k, len(c.ids), out8[k], want)
		}
	}
	if !intact() || !intact8() {
		t.Fatalf("%v: %d+%d codes, %d ids: wrote beyond the sums", kern, c.head, c.width, len(c.ids))
	}
}

// rowCodes draws codes of rows or queries: from all values, or extreme ones only.
func rowCodes[T uint8 | int8](r *rand.Rand, n int, extreme bool) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.Uint32())
		if extreme {
			x[i] = [...]T{^T(0), ^T(0) >> 1, 0, ^(^T(0) >> 1)}[r.IntN(4)]
		}
	}
	return x
}

// newRowsCase draws a call on rows separated by gap codes; the slice ends with the last
// row. The query is longer than the codes looked at.
func newRowsCase(r *rand.Rand, rows, head, width, gap, n int) *rowsCase {
	extreme := r.IntN(2) == 0
	end := head + width
	c := &rowsCase{stride: end + gap, head: head, width: width, q: RowQuery{rowCodes[int8](r, end+64, extreme), rowCodes[int8](r, end+64, extreme)}}
	c.codes = rowCodes[uint8](r, (rows-1)*c.stride+end, extreme)
	for range n {
		c.ids = append(c.ids, uint32(r.IntN(rows)))
	}
	if n > 0 {
		c.ids[r.IntN(n)] = uint32(rows - 1)
	}
	return c
}

// TestRows tries all tails of head and rest, all numbers of rows up to two groups and
// some greater, with ids in any order.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for _, kern := range Available() {
		for _, head := range []int{0, 4, 16, 32, 60, 64, 92, 128} {
			for width := 0; width <= 192; width += 4 {
				newRowsCase(r, 40, head, width, 4*r.IntN(3), 1+r.IntN(9)).check(t, kern)
			}
		}
		for n := range 71 {
			newRowsCase(r, 100, 64, 256, 0, n).check(t, kern)
			newRowsCase(r, 100, 32, 4*(n%20), 64, n).check(t, kern)
		}
	}
}

// TestRowsFar uses matrices large enough for prefetching to the level-2 cache.
func TestRowsFar(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for _, kern := range Available() {
		for _, shape := range [][2]int{{64, 768}, {32, 256}, {0, 36}, {8, 0}, {64, 4096}} {
			stride := shape[0] + shape[1] + 64
			rows := 3 << 20 / 2 / stride
			c := newRowsCase(r, rows, shape[0], shape[1], 64, 200)
			slices.Sort(c.ids)
			ids := c.ids
			for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 47, 48, 49, 51, 52, 53, 55, 56, 57, 99, 200} {
				c.ids = ids[len(ids)-n:]
				c.check(t, kern)
			}
		}
	}
}

// TestRowsExtremes asserts that the greatest possible sums fit.
func TestRowsExtremes(t *testing.T) {
	c := &rowsCase{stride: 2 * MaxScan, head: MaxScan, width: MaxScan, ids: []uint32{0, 1, 0, 1, 1, 0}}
	c.codes = slices.Repeat([]uint8{255}, 4*MaxScan)
	for _, q := range [][2]int8{{127, -128}, {-127, 127}, {-127, -127}, {127, 127}} {
		c.q = RowQuery{slices.Repeat(q[:1], 2*MaxScan), slices.Repeat(q[1:], 2*MaxScan)}
		for _, kern := range Available() {
			c.check(t, kern)
		}
	}
}

// TestRowsProduct asserts that the sums give the product of the codes, for every code
// that SplitCodes takes.
func TestRowsProduct(t *testing.T) {
	q := make([]int16, 0, 2*MaxRow+2)
	for v := -MaxRow; v <= MaxRow; v++ {
		q = append(q, int16(v))
	}
	hi, lo := make([]int8, len(q)), make([]int8, len(q))
	SplitCodes(hi, lo, q)
	for c, v := range q {
		if 256*int(hi[c])+int(lo[c]) != int(v) {
			t.Fatalf("code %d split in %d and %d", v, hi[c], lo[c])
		}
	}
	code := rowCodes[uint8](rand.New(rand.NewPCG(55, 56)), len(q)-1, false) // 2^16-2 codes, 2 short of a multiple of 4
	n := len(code) &^ 3
	var sum, want int64
	for c, v := range q[:n] {
		sum += int64(v)
		want += (int64(code[c]) - Bias) * int64(v)
	}
	for _, kern := range Available() {
		var out [1]RowSums
		kern.Rows(out[:], code, len(code), []uint32{0}, 64, n-64, &RowQuery{hi, lo})
		s := out[0]
		if got := 256*(int64(s.HeadHi)+int64(s.RestHi)) + int64(s.HeadLo) + int64(s.RestLo) - Bias*sum; got != want {
			t.Errorf("%v: product %d, want %d", kern, got, want)
		}
	}
}

// TestRowsRefuses asserts that arguments beyond their slices panic before anything is read.
func TestRowsRefuses(t *testing.T) {
	for _, kern := range Available() {
		for name, spoil := range map[string]func(c *rowsCase) int{
			"a row beyond the codes": func(c *rowsCase) int { c.ids[2] = 10; return len(c.ids) },
			"a row cut short":        func(c *rowsCase) int { c.codes = slices.Clip(c.codes[:len(c.codes)-1]); return len(c.ids) },
			"a short query":          func(c *rowsCase) int { c.q.Hi = slices.Clip(c.q.Hi[:99]); return len(c.ids) },
			"few sums":               func(c *rowsCase) int { return len(c.ids) - 1 },
		} {
			c := newRowsCase(rand.New(rand.NewPCG(57, 58)), 10, 32, 68, 0, 6)
			n := spoil(c)
			for kernel, call := range map[string]func(){
				"Rows":  func() { kern.Rows(make([]RowSums, n), c.codes, c.stride, c.ids, 32, 68, &c.q) },
				"Rows8": func() { kern.Rows8(make([]RowSums8, n), c.codes, c.stride, c.ids, 32, 68, c.q.Hi) },
			} {
				t.Run(fmt.Sprintf("%v/%s/%s", kern, kernel, name), func(t *testing.T) {
					defer func() {
						if recover() == nil {
							t.Error("went on")
						}
					}()
					call()
				})
			}
		}
	}
}

// fuzzedRows draws how many rows a fuzzed case has: enough for prefetching to the level-2 cache
// if seed is a multiple of 8.
func fuzzedRows(r *rand.Rand, seed uint64, head, width, gap uint8) int {
	rows := 1 + r.IntN(30)
	if seed%8 == 0 {
		rows += (1 << 20) / (4*(int(head)+int(width)+int(gap)) + 1)
	}
	return rows
}

// fillFuzzed repeats data over the codes of rows and adds it to those of a query.
func fillFuzzed(codes []uint8, query []int8, data []byte) {
	for i := range codes {
		codes[i] = data[i%len(data)]
	}
	for i := range query {
		query[i] += int8(data[i%len(data)])
	}
}

// FuzzRows compares all Kernels with plain sums.
func FuzzRows(f *testing.F) {
	f.Add([]byte{255, 0, 128, 127}, uint8(16), uint8(64), uint8(0), uint16(9), uint64(1))
	f.Add([]byte{1}, uint8(0), uint8(1), uint8(1), uint16(1), uint64(2))
	f.Add([]byte("rows of codes"), uint8(8), uint8(0), uint8(5), uint16(130), uint64(3))
	f.Fuzz(func(t *testing.T, data []byte, head, width, gap uint8, n uint16, seed uint64) {
		if len(data) == 0 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 59))
		c := newRowsCase(r, fuzzedRows(r, seed, head, width, gap), 4*int(head), 4*int(width), 4*int(gap), int(n%300))
		fillFuzzed(c.codes, c.q.Hi, data)
		for _, kern := range Available() {
			c.check(t, kern)
		}
	})
}
