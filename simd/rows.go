package simd

// RowQuery holds a query's 16-bit codes q_c = 256 Hi_c + Lo_c, |q_c| <= MaxRow, those
// of the head first. Both halves have the same length, a multiple of 64 that covers
// head and rest; codes beyond those are zero.
type RowQuery struct {
	Hi, Lo []int8
}

// MaxRow is the greatest code that RowQuery can split into two signed bytes.
const MaxRow = 127*256 + 127

// SplitCodes splits codes q, |q_c| <= MaxRow, into hi*256 + lo. hi and lo are as long as q.
func SplitCodes(hi, lo []int8, q []int16) {
	for c, v := range q {
		l := int8(v)
		hi[c], lo[c] = int8((int32(v)-int32(l))>>8), l
	}
}

// RowSums are sums of an atom's biased codes times the high and the low halves of a
// query's codes, over the head and over the rest. The product of the codes is
// 256 hi + lo - 128 sum q; the caller subtracts the last term.
type RowSums struct {
	HeadHi, HeadLo, RestHi, RestLo int32
}

// Rows sets out[i] to the sums of row ids[i] of codes. Rows are stride bytes apart:
// head codes of the head, then width of the rest; head and width are multiples of 4
// and at most MaxScan. Rows of later ids are prefetched. len(out) >= len(ids).
func (kern Kernels) Rows(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	kern.rows(out, codes, stride, ids, head, width, q)
}

// RowSums8 are sums of an atom's biased codes times a query's 8-bit codes, over the
// head and over the rest. The product of the codes is the sum - 128 sum q; the caller
// subtracts the last term.
type RowSums8 struct {
	Head, Rest int32
}

// Rows8 is Rows for a query of 8-bit codes q, those of the head first,
// len(q) >= head+width: half the arithmetic on the same bytes of codes.
func (kern Kernels) Rows8(out []RowSums8, codes []uint8, stride int, ids []uint32, head, width int, q []int8) {
	kern.rows8(out, codes, stride, ids, head, width, q)
}

// rowGroup is the number of rows the portable kernels sum at a time.
const rowGroup = 4

// takeRows returns the first n codes of the next rows and the ids after them. If
// fewer than rowGroup ids are left the last row is repeated; callers ignore its sums.
func takeRows(codes []uint8, stride int, ids []uint32, n int) (rows [rowGroup][]uint8, rest []uint32) {
	for j := range rows {
		rows[j] = codes[int(ids[min(j, len(ids)-1)])*stride:][:n]
	}
	return rows, ids[min(rowGroup, len(ids)):]
}

func rowsGeneric(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end := head + width
	out, hi, lo := out[:len(ids)], q.Hi[:end], q.Lo[:end]
	var rows [rowGroup][]uint8
	for len(ids) > 0 {
		rows, ids = takeRows(codes, stride, ids, end)
		h, r := bothHalves(&rows, hi[:head], lo[:head], 0), bothHalves(&rows, hi[head:], lo[head:], head)
		n := min(rowGroup, len(out))
		for j := range n {
			s := &out[j]
			s.HeadHi, s.HeadLo = apart(h[j])
			s.RestHi, s.RestLo = apart(r[j])
		}
		out = out[n:]
	}
}

// bothHalves returns, for each row, the products of its codes from index from on with
// both halves, as 2^32 hi + lo: each sum fits int32.
func bothHalves(rows *[rowGroup][]uint8, hi, lo []int8, from int) [rowGroup]int64 {
	n := len(hi)
	r0, r1, r2, r3 := rows[0][from:][:n], rows[1][from:][:n], rows[2][from:][:n], rows[3][from:][:n]
	lo = lo[:n]
	var a, b, c, d int64
	for i, h := range hi {
		w := int64(h)<<32 + int64(lo[i])
		a += int64(r0[i]) * w
		b += int64(r1[i]) * w
		c += int64(r2[i]) * w
		d += int64(r3[i]) * w
	}
	return [...]int64{a, b, c, d}
}

// apart splits a sum of bothHalves.
func apart(s int64) (hi, lo int32) {
	lo = int32(s)
	return int32((s - int64(lo)) >> 32), lo
}

func rows8Generic(out []RowSums8, codes []uint8, stride int, ids []uint32, head, width int, q []int8) {
	end := head + width
	out, q = out[:len(ids)], q[:end]
	var rows [rowGroup][]uint8
	for len(ids) > 0 {
		rows, ids = takeRows(codes, stride, ids, end)
		h, r := oneHalf(&rows, q[:head], 0), oneHalf(&rows, q[head:], head)
		n := min(rowGroup, len(out))
		for j := range n {
			out[j] = RowSums8{h[j], r[j]}
		}
		out = out[n:]
	}
}

// oneHalf is bothHalves for a query of 8-bit codes.
func oneHalf(rows *[rowGroup][]uint8, q []int8, from int) [rowGroup]int32 {
	n := len(q)
	r0, r1, r2, r3 := rows[0][from:][:n], rows[1][from:][:n], rows[2][from:][:n], rows[3][from:][:n]
	var a, b, c, d int32
	for i, v := range q {
		w := int32(v)
		a += int32(r0[i]) * w
		b += int32(r1[i]) * w
		c += int32(r2[i]) * w
		d += int32(r3[i]) * w
	}
	return [...]int32{a, b, c, d}
}
