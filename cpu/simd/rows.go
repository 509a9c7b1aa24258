package simd

// RowQuery holds a query's 16-bit codes q_c = 256 Hi_c + Lo_c, |q_c| <= MaxRow,
// head first; both halves have one length, a multiple of 64 that covers head and
// rest, with zeros beyond.
type RowQuery struct {
	Hi, Lo []int8
}

// MaxRow is the greatest code a RowQuery splits into two signed bytes.
const MaxRow = 127*256 + 127

// SplitCodes writes codes q, |q_c| <= MaxRow, as hi*256 + lo.
func SplitCodes(hi, lo []int8, q []int16) {
	for c, v := range q {
		l := int8(v)
		hi[c], lo[c] = int8((int32(v)-int32(l))>>8), l
	}
}

// RowSums are an atom's sums of unsigned (biased) codes times the query's high
// and low halves, over the head and over the rest. The product of the codes is
// 256 hi + lo - 128 sum q, which the caller takes.
type RowSums struct {
	HeadHi, HeadLo, RestHi, RestLo int32
}

// Rows sums rows ids of codes, stride bytes apart: head codes and then width rest
// codes each; head and width are multiples of 4 and at most MaxScan. Rows of the
// ids to come are fetched ahead. len(out) >= len(ids).
func (l Level) Rows(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	rowsGeneric(out, codes, stride, ids, head, width, q)
}

func rowsGeneric(out []RowSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	out = out[:len(ids)]
	for k, i := range ids {
		row := codes[int(i)*stride:][:head+width]
		out[k].HeadHi, out[k].HeadLo = halves(row[:head], q.Hi[:head], q.Lo[:head])
		out[k].RestHi, out[k].RestLo = halves(row[head:], q.Hi[head:head+width], q.Lo[head:head+width])
	}
}

func halves(row []uint8, hi, lo []int8) (int32, int32) {
	hi, lo = hi[:len(row)], lo[:len(row)]
	var a, b, c, d int32
	i := 0
	for ; i+2 <= len(row); i += 2 {
		x, y := int32(row[i]), int32(row[i+1])
		a += x * int32(hi[i])
		b += x * int32(lo[i])
		c += y * int32(hi[i+1])
		d += y * int32(lo[i+1])
	}
	if i < len(row) {
		a += int32(row[i]) * int32(hi[i])
		b += int32(row[i]) * int32(lo[i])
	}
	return a + c, b + d
}
