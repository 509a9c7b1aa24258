// Command sort writes the amd64 kernels of package simd that sort few keys.
//
//	go run ./sort -out ../sort_amd64.s -stubs ../sort_stubs_amd64.go -pkg simd
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lanes is the number of keys in a vector.
const lanes = 8

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	sortKeys("sortKeys64AVX512", 8)
	sortKeys("sortKeys128AVX512", 16)
	Generate()
}

// network sorts rows of vectors of keys by comparisons that do not depend on the keys. A key's place
// in the order is its lane times the number of rows, plus its row: first the lanes are sorted by
// themselves, then neighbouring groups of lanes are merged (Batcher, Sorting Networks and Their
// Applications, 1968).
type network struct {
	rows  []VecVirtual
	lower map[int]OpmaskVirtual // by the size of a group of lanes: the lower half of each group
	all   VecVirtual            // indexes that reverse all lanes
}

func sortKeys(name string, rows int) {
	TEXT(name, NOSPLIT, "func(keys *uint64)")
	Doc(fmt.Sprintf("%s sorts %d keys, ascending.", name, rows*lanes))
	Pragma("noescape")
	keys := Load(Param("keys"), GP64()).(GPVirtual)
	n := &network{lower: map[int]OpmaskVirtual{}, all: ZMM()}
	for i, mask := range []uint32{0x55, 0x33, 0x0f} {
		size, bits := 2<<i, GP32()
		n.lower[size] = K()
		MOVL(U32(mask), bits)
		KMOVW(bits, n.lower[size])
	}
	VMOVDQU64(reversed(), n.all)
	for i := range rows {
		v := ZMM()
		VMOVDQU64(Mem{Base: keys, Disp: 8 * lanes * i}, v)
		n.rows = append(n.rows, v)
	}
	n.sortLanes(0, rows)
	for size := 2; size <= lanes; size *= 2 {
		n.merge(size)
	}
	for from := 0; from < rows; from += lanes {
		for lane, v := range transposed(n.rows[from : from+lanes]) {
			VMOVDQU64(v, Mem{Base: keys, Disp: 8 * (lane*rows + from)})
		}
	}
	VZEROUPPER()
	RET()
}

var reversedTable *Mem

// reversed returns the indexes 7 to 0.
func reversed() Mem {
	if reversedTable == nil {
		m := GLOBL("reversed", RODATA|NOPTR)
		for i := range lanes {
			DATA(8*i, U64(lanes-1-i))
		}
		reversedTable = &m
	}
	return *reversedTable
}

// sortLanes sorts n rows from row lo on, in each lane: Batcher's odd-even merge sort.
func (n *network) sortLanes(lo, count int) {
	if count < 2 {
		return
	}
	n.sortLanes(lo, count/2)
	n.sortLanes(lo+count/2, count/2)
	n.mergeRows(lo, count, 1)
}

// mergeRows merges the rows lo, lo+step, .. of count rows, of which both halves are sorted.
func (n *network) mergeRows(lo, count, step int) {
	if 2*step >= count {
		n.order(lo, lo+step)
		return
	}
	n.mergeRows(lo, count, 2*step)
	n.mergeRows(lo+step, count, 2*step)
	for i := lo + step; i+step < lo+count; i += 2 * step {
		n.order(i, i+step)
	}
}

// order puts the lesser of two keys in row a, in each lane.
func (n *network) order(a, b int) {
	least := ZMM()
	VPMINUQ(n.rows[a], n.rows[b], least)
	VPMAXUQ(n.rows[a], n.rows[b], n.rows[b])
	n.rows[a] = least
}

// merge merges the sorted halves of each group of so many lanes: its first comparisons are those of
// places equally far from the group's ends, after which each half is bitonic.
func (n *network) merge(size int) {
	lower := n.lower[size]
	for r := range len(n.rows) / 2 {
		o := len(n.rows) - 1 - r
		a, b := n.rows[r], n.reverse(n.rows[o], size)
		n.rows[r] = n.minIn(lower, a, b)
		greatest := ZMM()
		VPMINUQ(a, b, greatest)
		VPMAXUQ(a, b, lower, greatest)
		n.rows[o] = n.reverse(greatest, size)
	}
	for size /= 2; size > 1; size /= 2 {
		for r, a := range n.rows {
			n.rows[r] = n.minIn(n.lower[size], a, n.exchange(a, size))
		}
	}
	for d := len(n.rows) / 2; d > 0; d /= 2 {
		for r := range n.rows {
			if r&d == 0 {
				n.order(r, r+d)
			}
		}
	}
}

// minIn returns the lesser keys of a and b in the lanes of lower, the greater in the others.
func (n *network) minIn(lower OpmaskVirtual, a, b VecVirtual) VecVirtual {
	v := ZMM()
	VPMAXUQ(a, b, v)
	VPMINUQ(a, b, lower, v)
	return v
}

// reverse returns v with the lanes of each group in reversed order.
func (n *network) reverse(v VecVirtual, size int) VecVirtual {
	out := ZMM()
	switch size {
	case 2:
		VPERMILPD(U8(0x55), v, out)
	case 4:
		VPERMQ(U8(0x1b), v, out)
	default:
		VPERMQ(v, n.all, out)
	}
	return out
}

// exchange returns v with the halves of each group exchanged.
func (n *network) exchange(v VecVirtual, size int) VecVirtual {
	out := ZMM()
	switch size {
	case 2:
		VPERMILPD(U8(0x55), v, out)
	default:
		VPERMQ(U8(0x4e), v, out)
	}
	return out
}

// transposed returns the columns of eight rows.
func transposed(rows []VecVirtual) []VecVirtual {
	var pairs, fours [lanes]VecVirtual
	columns := make([]VecVirtual, lanes)
	for i := range lanes / 2 { // pairs[i] has even columns of rows 2i and 2i+1, pairs[i+4] odd ones
		pairs[i], pairs[i+4] = ZMM(), ZMM()
		VPUNPCKLQDQ(rows[2*i+1], rows[2*i], pairs[i])
		VPUNPCKHQDQ(rows[2*i+1], rows[2*i], pairs[i+4])
	}
	for i := range lanes / 2 { // columns c and c+4 of rows 0 to 3 and of rows 4 to 7
		a, b := pairs[2*i], pairs[2*i+1]
		fours[2*i], fours[2*i+1] = ZMM(), ZMM()
		VSHUFI64X2(U8(0x88), b, a, fours[2*i])
		VSHUFI64X2(U8(0xdd), b, a, fours[2*i+1])
	}
	for odd := range 2 {
		for i := range 2 { // columns odd+2i and odd+2i+4
			a, b := fours[4*odd+i], fours[4*odd+2+i]
			first, second := ZMM(), ZMM()
			VSHUFI64X2(U8(0x88), b, a, first)
			VSHUFI64X2(U8(0xdd), b, a, second)
			columns[odd+2*i], columns[odd+2*i+4] = first, second
		}
	}
	return columns
}
