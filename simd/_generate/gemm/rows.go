package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

// fewShape describes a multiplication of rows by 1, 2 or 4 queries that are not packed. Vectors lie
// along the coordinates, so a sum is a vector of chains; eight sums at a time are added across their
// lanes. A tile has 8 or 16 sums, which hide each other's latency.
type fewShape struct {
	name    string
	vector  func() VecVirtual
	bytes   int // of a vector
	queries int
	rows    int // of a tile; rows left over are multiplied one by one
}

var fewShapes = []fewShape{
	{"gemmFew1AVX512", ZMM, 64, 1, 8},
	{"gemmFew2AVX512", ZMM, 64, 2, 4},
	{"gemmFew4AVX512", ZMM, 64, 4, 4},
	{"gemmFew1AVX2", YMM, 32, 1, 8},
	{"gemmFew2AVX2", YMM, 32, 2, 4},
}

// fewProduct is the code of a fewShape.
type fewProduct struct {
	fewShape
	tile     product // whose row addresses a row of the tile
	out, ldo GPVirtual
	ldq      [2]GPVirtual // 1 and 3 times the distance of queries
	query    GPVirtual

	sums []VecVirtual // of the current tile: those of a query's rows side by side
}

func multiplyFew(s fewShape) {
	TEXT(s.name, NOSPLIT, "func(out *float32, ldo int, rows *float32, ldr, n int, queries *float32, ldq, k, ahead int, add bool)")
	Doc(fmt.Sprintf("%s multiplies n rows by so many queries: %d.", s.name, s.queries),
		"What lies so many bytes ahead of the rows is prefetched; nothing if ahead is 0.")
	Pragma("noescape")
	p := &fewProduct{fewShape: s, out: argument("out")}
	stride := &p.tile.stride
	stride[0] = distance("ldr")
	stride[1] = times(stride[0], stride[0], 2)
	if s.rows > 4 {
		stride[2] = times(stride[0], stride[0], 4)
		stride[3] = times(stride[1], stride[0], 4)
	}
	if s.queries > 1 {
		p.ldo, p.ldq[0] = distance("ldo"), distance("ldq")
	}
	if s.queries > 2 {
		p.ldq[1] = times(p.ldq[0], p.ldq[0], 2)
	}
	rows, n := argument("rows"), argument("n")
	for _, height := range []int{s.rows, 1} {
		label := func(name string) string { return fmt.Sprint(name, height) }
		Label(label("rows"))
		SUBQ(U8(height), n)
		JLT(LabelRef(label("fewer")))
		p.multiply(rows, height)
		LEAQ(Mem{Base: rows, Index: stride[0], Scale: uint8(height)}, rows)
		ADDQ(U8(4*height), p.out)
		JMP(LabelRef(label("rows")))
		Label(label("fewer"))
		ADDQ(U8(height), n)
	}
	VZEROUPPER()
	RET()
}

// multiply writes the products of height rows.
func (p *fewProduct) multiply(rows GPVirtual, height int) {
	label := func(name string) string { return fmt.Sprint(name, height) }
	p.tile.at, p.query = p.tile.place(rows, height), argument("queries")
	p.sums = make([]VecVirtual, height*p.queries)
	for i := range p.sums {
		p.sums[i] = p.vector()
		VXORPS(p.sums[i], p.sums[i], p.sums[i])
	}
	k, entries := argument("k"), p.bytes/4
	if height > 1 {
		ahead := argument("ahead")
		TESTQ(ahead, ahead)
		JZ(LabelRef(label("near")))
		ADDQ(p.tile.at.first, ahead)
		Label(label("far"))
		SUBQ(U8(16), k)
		JLT(LabelRef(label("few")))
		for r := range height {
			PREFETCHT1(p.tile.row(place{first: ahead}, r, 0))
		}
		ADDQ(U8(64), ahead)
		for disp := 0; disp < 64; disp += p.bytes {
			p.step(height, disp, nil)
		}
		p.advance(64)
		JMP(LabelRef(label("far")))
		Label(label("few"))
		ADDQ(U8(16), k)
	}
	Label(label("near"))
	SUBQ(U8(entries), k)
	JLT(LabelRef(label("last")))
	p.step(height, 0, nil)
	p.advance(p.bytes)
	JMP(LabelRef(label("near")))
	Label(label("last"))
	ADDQ(U8(entries), k)
	JZ(LabelRef(label("add")))
	p.step(height, 0, p.first(k))
	Label(label("add"))
	if height == 1 {
		p.storeOne()
		return
	}
	for from := 0; from < len(p.sums); from += 8 {
		p.storeEight(from, height)
	}
}

func (p *fewProduct) advance(bytes int) {
	p.tile.at.advance(bytes)
	ADDQ(U8(bytes), p.query)
}

// entries is a mask of the first entries of a vector.
type entries struct {
	k OpmaskVirtual
	v VecVirtual
}

// first returns the mask of the first n entries, fewer than a vector's.
func (p *fewProduct) first(n GPVirtual) *entries {
	if p.bytes == 64 {
		return &entries{k: asm.LowBits(n)}
	}
	at, m := GP64(), &entries{v: YMM()}
	LEAQ(entryMasks(), at)
	SHLQ(U8(2), n)
	SUBQ(n, at)
	VMOVDQU(Mem{Base: at, Disp: 32}, m.v)
	return m
}

var entryTable *Mem

// entryMasks returns a table of eight doublewords of ones, then eight of zeros.
func entryMasks() Mem {
	if entryTable == nil {
		m := GLOBL("entries", RODATA|NOPTR)
		for i := range 16 {
			v := U32(0)
			if i < 8 {
				v = 1<<32 - 1
			}
			DATA(4*i, v)
		}
		entryTable = &m
	}
	return *entryTable
}

// load returns a vector in memory; with a mask other entries are zero and not read.
func (p *fewProduct) load(from Mem, m *entries) VecVirtual {
	v := p.vector()
	switch {
	case m == nil:
		VMOVUPS(from, v)
	case p.bytes == 64:
		VMOVUPS_Z(from, m.k, v)
	default:
		VMASKMOVPS(from, m.v, v)
	}
	return v
}

// step adds the products of a vector of coordinates, disp bytes ahead.
func (p *fewProduct) step(height, disp int, m *entries) {
	queries := make([]VecVirtual, p.queries)
	for e := range queries {
		at := Mem{Base: p.query, Disp: disp}
		switch e {
		case 1, 2:
			at.Index, at.Scale = p.ldq[0], uint8(e)
		case 3:
			at.Index, at.Scale = p.ldq[1], 1
		}
		queries[e] = p.load(at, m)
	}
	for r := range height {
		at := p.tile.row(p.tile.at, r, disp)
		if p.queries == 1 && m == nil {
			VFMADD231PS(at, queries[0], p.sums[r])
			continue
		}
		x := p.load(at, m)
		for e, q := range queries {
			VFMADD231PS(x, q, p.sums[e*height+r])
		}
	}
}

// octet adds the upper half of a sum of sixteen lanes to the lower.
func (p *fewProduct) octet(v VecVirtual) VecVirtual {
	if p.bytes < 64 {
		return v
	}
	upper := YMM()
	VEXTRACTF64X4(U8(1), v, upper)
	VADDPS(upper, v.AsY(), v.AsY())
	return v.AsY().(VecVirtual)
}

// storeEight adds the lanes of eight sums, in the order of storeOne, and writes them.
func (p *fewProduct) storeEight(from, height int) {
	v := make([]VecVirtual, 8)
	for i := range v {
		v[i] = p.octet(p.sums[from+i])
	}
	for len(v) > 2 { // pairs of lanes
		for i := range len(v) / 2 {
			VHADDPS(v[2*i+1], v[2*i], v[2*i])
			v[i] = v[2*i]
		}
		v = v[:len(v)/2]
	}
	low, high := YMM(), YMM()
	VPERM2F128(U8(0x20), v[1], v[0], low)
	VPERM2F128(U8(0x31), v[1], v[0], high)
	VADDPS(high, low, low)
	to := GP64()
	MOVQ(p.out, to)
	if e := from / height; e > 0 {
		LEAQ(Mem{Base: to, Index: p.ldo, Scale: uint8(e)}, to)
	}
	out, sums := []Mem{{Base: to}}, []VecVirtual{low}
	if height == 4 {
		VEXTRACTF128(U8(1), low, high.AsX())
		out = append(out, Mem{Base: to, Index: p.ldo, Scale: 1})
		sums = []VecVirtual{low.AsX().(VecVirtual), high.AsX().(VecVirtual)}
	}
	add, store := GP8(), fmt.Sprint("store", from, "of", height)
	Load(Param("add"), add)
	TESTB(add, add)
	JEQ(LabelRef(store))
	for i, v := range sums {
		VADDPS(out[i], v, v)
	}
	Label(store)
	for i, v := range sums {
		VMOVUPS(v, out[i])
	}
}

// storeOne adds the lanes of the sums of one row and writes them.
func (p *fewProduct) storeOne() {
	to, add := GP64(), GP8()
	MOVQ(p.out, to)
	Load(Param("add"), add)
	for e, s := range p.sums {
		y := p.octet(s)
		VHADDPS(y, y, y)
		VHADDPS(y, y, y)
		v, upper := y.AsX(), XMM()
		VEXTRACTF128(U8(1), y, upper)
		VADDSS(upper, v, v)
		store := fmt.Sprint("store", e)
		TESTB(add, add)
		JEQ(LabelRef(store))
		VADDSS(Mem{Base: to}, v, v)
		Label(store)
		VMOVSS(v, Mem{Base: to})
		if e+1 < len(p.sums) {
			ADDQ(p.ldo, to)
		}
	}
}
