package simd

import "math/bits"

// FewQueries is the greatest number of queries for which GemmFew is faster than Gemm; 0 if it never
// is.
func (kern Kernels) FewQueries() int {
	if kern == NEON { // which has no kernel of its own for them
		return 0
	}
	return 8
}

// GemmFew multiplies n rows of k entries, ldr floats apart, by few queries, ldq floats apart,
// that are not packed:
//
//	out[e*ldo+i] (+)= sum_c rows[i*ldr+c] queries[e*ldq+c],  i < n, e < m
//
// With add set it adds to out, otherwise it overwrites. A sum has at least eight chains of
// products, each of at most k/8+1 multiply-adds (fused or not) in the order of c, which are then
// added in pairs; so the error is below (k/8+6) 2^-24 sum_c |rows_ic queries_ec| + k 2^-150. The
// addition to out rounds once more. Sums do not depend on n and m. out shares no memory with the
// other slices.
//
// Gemm multiplies whole panels, of at least 16 columns; this multiplies no more than there is. The
// kernels prefetch rows ahead, also some after the last.
func (kern Kernels) GemmFew(out []float32, ldo int, rows []float32, ldr, n int, queries []float32, ldq, m, k int, add bool) {
	if n <= 0 || m <= 0 {
		return
	}
	_, _, _ = out[(m-1)*ldo:][:n], rows[(n-1)*ldr:][:k], queries[(m-1)*ldq:][:k]
	kern.gemmFew(out, ldo, rows, ldr, n, queries, ldq, m, k, add)
}

func gemmFewGeneric(out []float32, ldo int, rows []float32, ldr, n int, queries []float32, ldq, m, k int, add bool) {
	for i := range n {
		row := rows[i*ldr:][:k]
		for e := range m {
			s := dotEight(row, queries[e*ldq:][:k])
			if add {
				s += out[e*ldo+i]
			}
			out[e*ldo+i] = s
		}
	}
}

// dotEight returns the product of two vectors of one length by eight chains.
func dotEight(a, b []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	b = b[:len(a)]
	for ; len(a) >= 8 && len(b) >= 8; a, b = a[8:], b[8:] {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
	}
	s := [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
	for j, v := range a {
		s[j] += v * b[j]
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// DenseTestColumn is DenseTestRows for one query, whose products with n = len(dots) rows are side by
// side: bit i%64 of masks[i/64] is clear if
//
//	dots[i]*scale[i] + margin*size[i] + offset[i]*factor < tau
//
// in float32 with every operation rounded, and set otherwise, also for a NaN. Bits from n on are
// clear; masks has (n+63)/64 words, which are the same with every instruction set.
func (kern Kernels) DenseTestColumn(dots []float32, margin, factor, tau float32, scale, size, offset []float32, masks []uint64) {
	n := len(dots)
	masks = masks[:(n+63)/64]
	clear(masks)
	scale, size, offset = scale[:n], size[:n], offset[:n]
	done := kern.denseTestColumn(dots, margin, factor, tau, scale, size, offset, masks)
	for i := done; i < n; i++ {
		if !(float32(dots[i]*scale[i])+float32(margin*size[i])+float32(offset[i]*factor) < tau) {
			masks[i/64] |= 1 << (i % 64)
		}
	}
}

// ListColumn lists those of up to 64 rows of a column of products that passed DenseTestRows or
// DenseTestColumn. For each bit i that is set in mask, lowest first, it computes
//
//	bound = dots[i*ld]*scale[i] + margin*size[i] + offset[i]*factor
//
// in float32 with every operation rounded. It writes base + i to ids and the bound to bounds, side by
// side, if the bound is finite, and otherwise sets bit i of odd. n is how many it wrote. There are
// len(scale) rows, and no bit is set beyond them; ids and bounds have room for 64 entries more than
// that, which it may overwrite. All instruction sets agree bit for bit.
func (kern Kernels) ListColumn(ids []uint32, bounds []float32, mask uint64, dots []float32, ld int, margin, factor float32,
	scale, size, offset []float32, base uint32) (n int, odd uint64) {
	rows := len(scale)
	_, _, _ = dots[(rows-1)*ld], size[:rows], offset[:rows]
	if kern.listsColumn() && rows == 64 && bits.OnesCount64(mask) >= listedMany {
		return listColumn(ids[:128], bounds[:128], mask, dots, ld, margin, factor, scale, size, offset, base)
	}
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		bound := float32(dots[i*ld]*scale[i]) + float32(margin*size[i]) + float32(offset[i]*factor)
		if bound-bound != 0 {
			odd |= 1 << i
			continue
		}
		ids[n], bounds[n] = base+uint32(i), bound
		n++
	}
	return n, odd
}

// listedMany is the least number of rows for which the assembly of ListColumn is faster than the loop.
const listedMany = 20
