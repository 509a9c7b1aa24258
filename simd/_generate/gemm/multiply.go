package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// shape describes a multiplication of rows by a panel. It takes the rows in tiles whose
// sums stay in registers for all of k: every sum is one chain of fused multiply-adds in
// the order of c, for any tile height.
type shape struct {
	name    string
	vector  func() VecVirtual
	bytes   int   // of a vector
	vectors int   // vectors of a panel's step
	width   int   // floats from step to step of the panel; 0: an argument
	tiles   []int // heights, at most 16 rows: the first is used while it fits, the others for the remainder
	hold    int   // steps whose vectors stay in registers for all rows
	unroll  int   // steps of a round, a multiple of hold
}

// A tile reads a step's vectors and one entry a row for vectors * height multiply-adds,
// of which 8 must be in flight (two units, latency four). Tiles of 8 rows hold several
// steps: rows a multiple of 4 KiB apart compete for the same 8 lines of the level-1
// cache, so as much of a line as fits registers is used at once.
var shapes = []shape{
	{"gemm64AVX512", ZMM, 64, 4, 64, []int{6, 4, 2, 1}, 1, 4},
	{"gemm48AVX512", ZMM, 64, 3, 48, []int{8, 4, 2, 1}, 1, 4},
	{"gemm32AVX512", ZMM, 64, 2, 32, []int{8, 4, 2, 1}, 4, 4},
	{"gemm16AVX512", ZMM, 64, 1, 16, []int{16, 8, 4, 2, 1}, 8, 16},
	{"gemm16AVX2", YMM, 32, 2, 0, []int{6, 4, 2, 1}, 1, 4},
}

// product is the code of a shape.
type product struct {
	shape
	out, ldo  GPVirtual
	rows      GPVirtual    // of the next tile
	stride    [4]GPVirtual // 1, 3, 5 and 7 times the distance of rows
	ldp, ldp3 GPVirtual    // 1 and 3 times the distance of steps, if an argument

	// Of the current tile:
	at    place // its rows
	panel GPVirtual
	sums  [][]VecVirtual
}

func multiply(s shape) {
	ldp := ""
	if s.width == 0 {
		ldp = "ldp, "
	}
	TEXT(s.name, NOSPLIT, "func(out *float32, ldo int, rows *float32, ldr, n int, panel *float32, "+ldp+"k int, add bool)")
	Doc(fmt.Sprintf("%s multiplies n rows by %d columns of a panel.", s.name, s.vectors*s.bytes/4))
	Pragma("noescape")
	p := &product{shape: s, out: argument("out"), ldo: distance("ldo"), rows: argument("rows")}
	p.stride[0] = distance("ldr")
	p.stride[1] = times(p.stride[0], p.stride[0], 2)
	p.stride[2] = times(p.stride[0], p.stride[0], 4)
	if s.tiles[0] > 7 {
		p.stride[3] = times(p.stride[1], p.stride[0], 4)
	}
	if s.width == 0 {
		p.ldp = distance("ldp")
		p.ldp3 = times(p.ldp, p.ldp, 2)
	}
	n := argument("n")
	for i, height := range s.tiles {
		next := "done"
		if i+1 < len(s.tiles) {
			next = fmt.Sprint("rows", s.tiles[i+1])
		}
		Label(fmt.Sprint("rows", height))
		SUBQ(U8(height), n)
		JLT(LabelRef(fmt.Sprint("fewer", height)))
		p.tile(height, i == 0)
		if i == 0 {
			JMP(LabelRef(fmt.Sprint("rows", height)))
		} else {
			JMP(LabelRef(next))
		}
		Label(fmt.Sprint("fewer", height))
		ADDQ(U8(height), n)
	}
	Label("done")
	VZEROUPPER()
	RET()
}

func argument(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// distance returns an argument in floats converted to bytes.
func distance(name string) GPVirtual {
	v := argument(name)
	SHLQ(U8(2), v)
	return v
}

// times is base + scale index.
func times(base, index GPVirtual, scale uint8) GPVirtual {
	v := GP64()
	LEAQ(Mem{Base: base, Index: index, Scale: scale}, v)
	return v
}

// place points to the rows of a tile: to its first row and, if it has more than 8, to the ninth.
type place struct{ first, ninth GPVirtual }

// place returns the place of height rows from the one at base on.
func (p *product) place(base GPVirtual, height int) place {
	x := place{first: GP64()}
	MOVQ(base, x.first)
	if height > 8 {
		x.ninth = times(base, p.stride[0], 8)
	}
	return x
}

// advance moves x by so many bytes.
func (x place) advance(bytes int) {
	ADDQ(U8(bytes), x.first)
	if x.ninth != nil {
		ADDQ(U8(bytes), x.ninth)
	}
}

// row is the place disp bytes into row r of a tile at x.
func (p *product) row(x place, r, disp int) Mem {
	base := x.first
	if r >= 8 {
		base, r = x.ninth, r-8
	}
	if r == 0 {
		return Mem{Base: base, Disp: disp}
	}
	scale := 1
	for ; r%2 == 0; r /= 2 {
		scale *= 2
	}
	return Mem{Base: base, Index: p.stride[r/2], Scale: uint8(scale), Disp: disp}
}

// step is the place of vector j of the panel's step u, where u < 4 if the width is an
// argument.
func (p *product) step(u, j int) Mem {
	m := Mem{Base: p.panel, Disp: 4*p.width*u + p.bytes*j}
	if p.width > 0 {
		return m
	}
	switch u {
	case 1, 2:
		m.Index, m.Scale = p.ldp, uint8(u)
	case 3:
		m.Index, m.Scale = p.ldp3, 1
	}
	return m
}

// tile multiplies the next rows. With more set it prefetches as many rows behind them
// into the level-2 cache.
func (p *product) tile(height int, more bool) {
	label := func(name string) string { return fmt.Sprint(name, height) }
	p.at, p.panel = p.place(p.rows, height), argument("panel")
	switch height {
	case 6:
		LEAQ(Mem{Base: p.rows, Index: p.stride[1], Scale: 2}, p.rows)
	case 16:
		LEAQ(Mem{Base: p.at.ninth, Index: p.stride[0], Scale: 8}, p.rows)
	default:
		LEAQ(Mem{Base: p.rows, Index: p.stride[0], Scale: uint8(height)}, p.rows)
	}
	var ahead place
	if more {
		ahead = p.place(p.rows, height)
	}
	p.sums = make([][]VecVirtual, height)
	for r := range p.sums {
		for range p.vectors {
			v := p.vector()
			VXORPS(v, v, v)
			p.sums[r] = append(p.sums[r], v)
		}
	}
	k := argument("k")

	Label(label("many"))
	SUBQ(U8(p.unroll), k)
	JLT(LabelRef(label("few")))
	if more {
		for r := range height {
			PREFETCHT1(p.row(ahead, r, 0))
		}
		ahead.advance(4 * p.unroll)
	}
	for u := 0; u < p.unroll; u += p.hold {
		p.steps(u, p.hold)
	}
	p.advance(p.unroll)
	JMP(LabelRef(label("many")))

	Label(label("few"))
	ADDQ(U8(p.unroll), k)
	Label(label("one"))
	SUBQ(U8(1), k)
	JLT(LabelRef(label("sum")))
	p.steps(0, 1)
	p.advance(1)
	JMP(LabelRef(label("one")))

	Label(label("sum"))
	add := GP8()
	Load(Param("add"), add)
	TESTB(add, add)
	JEQ(LabelRef(label("store")))
	from := GP64()
	MOVQ(p.out, from)
	for _, s := range p.sums {
		for j, v := range s {
			VADDPS(Mem{Base: from, Disp: p.bytes * j}, v, v)
		}
		ADDQ(p.ldo, from)
	}
	Label(label("store"))
	for _, s := range p.sums {
		for j, v := range s {
			VMOVUPS(v, Mem{Base: p.out, Disp: p.bytes * j})
		}
		ADDQ(p.ldo, p.out)
	}
}

// steps adds the products of count steps from u on to the sums: rows in groups of 8
// chains, which hide each other's latency.
func (p *product) steps(u, count int) {
	held := make([][]VecVirtual, count)
	for i := range held {
		for j := range p.vectors {
			v := p.vector()
			VMOVUPS(p.step(u+i, j), v)
			held[i] = append(held[i], v)
		}
	}
	group := 8 / p.vectors
	for from := 0; from < len(p.sums); from += group {
		for i, columns := range held {
			for r := from; r < min(from+group, len(p.sums)); r++ {
				p.entry(p.row(p.at, r, 4*(u+i)), columns, p.sums[r])
			}
		}
	}
}

// entry adds a row's entry times the columns to the row's sums.
func (p *product) entry(x Mem, columns, sums []VecVirtual) {
	if len(columns) == 1 {
		VFMADD231PS_BCST(x, columns[0], sums[0])
		return
	}
	v := p.vector()
	VBROADCASTSS(x, v)
	for j, c := range columns {
		VFMADD231PS(c, v, sums[j])
	}
}

// advance moves rows and panel by a number of steps: 1 or unroll.
func (p *product) advance(steps int) {
	p.at.advance(4 * steps)
	if p.width > 0 {
		ADDQ(U32(4*p.width*steps), p.panel)
		return
	}
	LEAQ(Mem{Base: p.panel, Index: p.ldp, Scale: uint8(steps)}, p.panel)
}
