//go:build (amd64 || arm64) && !noasm && !purego

package simd

import "slices"

const (
	// signGroup is the number of rows the assembly sums at a time.
	signGroup = 4
	// signSpan is the number of a row's bits for which the assembly has room to reorder
	// the query's codes.
	signSpan = 4096
)

func (kern Kernels) signs(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, q *RowQuery) {
	end, size := head+width, head+width/8
	if kern == Generic || len(ids) == 0 || end == 0 {
		signsGeneric(out, codes, stride, ids, head, width, q)
		return
	}
	out, hi, lo := out[:len(ids)], q.Hi[:end], q.Lo[:head]
	_ = codes[int(slices.Max(ids))*stride:][:size]
	kern.signsWithin(out, codes, stride, ids, head, min(width, signSpan), hi, lo)
	for from := signSpan; from < width; from += signSpan {
		n := min(signSpan, width-from)
		kern.signsBeyond(out, codes[head+from/8:], stride, ids, hi[head+from:][:n])
	}
}

// signsWithin is signs for at most signSpan bits.
func (kern Kernels) signsWithin(out []SignSums, codes []uint8, stride int, ids []uint32, head, width int, hi, lo []int8) {
	whole, size := len(ids)&^(signGroup-1), head+width/8
	if whole > 0 {
		near, far := rowsAhead(len(codes), size)
		kern.signGroups(out, codes, stride, ids, hi, lo, head, size, near, far)
	}
	if whole == len(ids) {
		return
	}
	// A last group that is not full repeats the last row.
	var few [signGroup]uint32
	var sums [signGroup]SignSums
	for j := range few {
		few[j] = ids[min(whole+j, len(ids)-1)]
	}
	kern.signGroups(sums[:], codes, stride, few[:], hi, lo, head, size, 0, 0)
	copy(out[whole:], sums[:])
}

// signsBeyond adds to out the sums over the len(hi) bits at the start of each row.
func (kern Kernels) signsBeyond(out []SignSums, codes []uint8, stride int, ids []uint32, hi []int8) {
	var sums [64]SignSums
	for len(ids) > 0 {
		n := min(len(sums), len(ids))
		kern.signsWithin(sums[:n], codes, stride, ids[:n], 0, len(hi), hi, nil)
		for j := range n {
			out[j].Rest += sums[j].Rest
		}
		out, ids = out[n:], ids[n:]
	}
}
