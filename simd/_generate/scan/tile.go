package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The layout of simd.ScanQuery: byte offsets of its fields, and its size.
const (
	queryHead = 4 * iota
	queryRest
	queryRadius
	queryOffset
	queryCut
	queryHeadBias
	queryRestBias
	querySize = 32
)

const (
	// quad is the bytes of four codes of 64 atoms, the operand of one step.
	quad = 256
	// lanes is the bytes of one float an atom.
	lanes = 256
)

// tile is a scan of all 64 atoms of a panel whose sums, of queries queries in vectors
// vectors each, stay in registers.
type tile struct {
	name             string
	queries, vectors int
	// fetch says that each step prefetches its lines of a later panel.
	fetch bool
	dots
}

// dots is an instruction set's way to multiply codes, biased ones of atoms with signed
// ones of queries, with 32-bit sums.
type dots interface {
	vector() VecVirtual
	bytes() int // of a vector
	constants()
	// begin sets a query's sums to minus the bias at bias, or to zero if step's products have
	// no bias.
	begin(sums []VecVirtual, bias Mem)
	// step adds the products of four codes of panel's 64 atoms and of the queries.
	step(sums [][]VecVirtual, panel Mem, queries []Mem)
	end(sums []VecVirtual) // after a query's last step
	// every2 returns the even (which = 0) or odd (1) doublewords of the two vectors at from.
	every2(from Mem, which int) VecVirtual
	// mask writes the bits of values >= cut and may overwrite values.
	mask(to Mem, values []VecVirtual, cut VecVirtual)
}

// scan is the code of a tile being written.
type scan struct {
	tile
	panel, ahead, code Register
	codes              []Mem // the next codes of each query
	query, values      Register
}

func (s *scan) field(i, field int) Mem { return Mem{Base: s.query, Disp: querySize*i + field} }

func (s *scan) value(i, j int) Mem { return Mem{Base: s.values, Disp: lanes*i + s.bytes()*j} }

// emit writes the kernel. The sums of head codes are finished first; their term waits
// where the value will be.
func (t tile) emit() {
	TEXT(t.name, NOSPLIT, "func(panel *uint8, ahead, head, width int, codes *int8, stride int, queries *float32, groups int, "+
		"heads, rests, radii, offsets *float32, masks *uint64, values *float32)")
	Pragma("noescape")
	doc := fmt.Sprintf("%s is Scan for groups of %d queries", t.name, t.queries)
	if t.queries == 1 {
		doc = fmt.Sprintf("%s is Scan for groups queries", t.name)
	}
	if t.fetch {
		Doc(doc+"; lines ahead bytes later are", "prefetched. groups >= 1, offsets may be nil.")
	} else {
		Doc(doc+"; ahead is not used. groups >= 1,", "offsets may be nil.")
	}
	s := scan{tile: t, panel: GP64(), code: GP64()}
	first := Load(Param("panel"), GP64())
	if t.fetch {
		s.ahead = Load(Param("ahead"), GP64())
	}
	codes := Load(Param("codes"), GP64())
	stride := Load(Param("stride"), GP64())
	s.query = Load(Param("queries"), GP64())
	groups := Load(Param("groups"), GP64())
	masks := Load(Param("masks"), GP64())
	s.values = Load(Param("values"), GP64())
	s.codes = []Mem{{Base: s.code}}
	if t.queries == 4 {
		stride3 := GP64()
		LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
		s.codes = append(s.codes, s.codes[0].Idx(stride, 1), s.codes[0].Idx(stride, 2), s.codes[0].Idx(stride3, 1))
	}
	t.constants()

	Label("group")
	MOVQ(first, s.panel)
	MOVQ(codes, s.code)
	s.headTerm(s.sums("head", queryHeadBias))
	v := s.sums("width", queryRestBias)
	s.otherTerms(v)
	for i := range v {
		for j := range v[i] {
			VMOVUPS(v[i][j], s.value(i, j))
		}
		cut := t.vector()
		VBROADCASTSS(s.field(i, queryCut), cut)
		t.mask(Mem{Base: masks, Disp: 8 * i}, v[i], cut)
	}
	LEAQ(Mem{Base: codes, Index: stride, Scale: uint8(t.queries)}, codes)
	ADDQ(I32(t.queries*querySize), s.query)
	ADDQ(I8(t.queries*8), masks)
	ADDQ(I32(t.queries*lanes), s.values)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// sums adds the products of the next codes, as many as param says, and advances.
func (s *scan) sums(param string, bias int) [][]VecVirtual {
	v := make([][]VecVirtual, s.queries)
	for i := range v {
		for range s.vectors {
			v[i] = append(v[i], s.vector())
		}
		s.begin(v[i], s.field(i, bias))
	}
	left := Load(Param(param), GP64())
	SUBQ(I8(8), left)
	JLT(LabelRef(param + "_four"))
	Label(param + "_eight")
	s.steps(v, 2)
	SUBQ(I8(8), left)
	JGE(LabelRef(param + "_eight"))
	Label(param + "_four")
	TESTQ(I32(4), left) // -4 or -8
	JEQ(LabelRef(param + "_done"))
	s.steps(v, 1)
	Label(param + "_done")
	for i := range v {
		s.end(v[i])
	}
	return v
}

func (s *scan) steps(sums [][]VecVirtual, n int) {
	for k := range n {
		for line := 0; s.fetch && line < quad; line += 64 {
			PREFETCHT1(Mem{Base: s.panel, Index: s.ahead, Scale: 1, Disp: quad*k + line})
		}
		var codes []Mem
		for _, c := range s.codes {
			codes = append(codes, c.Offset(4*k))
		}
		s.step(sums, Mem{Base: s.panel, Disp: quad * k}, codes)
	}
	ADDQ(I32(quad*n), s.panel)
	ADDQ(I8(4*n), s.code)
}

// headTerm stores Head_i (q.Head dh) in values.
func (s *scan) headTerm(dh [][]VecVirtual) {
	heads := s.terms("heads")
	for i := range dh {
		head := s.factor(i, queryHead)
		for j, v := range dh[i] {
			VCVTDQ2PS(v, v)
			VMULPS(head, v, v)
			VMULPS(heads[j], v, v)
			VMOVUPS(v, s.value(i, j))
		}
	}
}

// otherTerms computes values from the sums of rest codes.
func (s *scan) otherTerms(dr [][]VecVirtual) {
	rests, radii := s.terms("rests"), s.terms("radii")
	for i := range dr {
		rest, radius := s.factor(i, queryRest), s.factor(i, queryRadius)
		for j, v := range dr[i] {
			VCVTDQ2PS(v, v)
			VMULPS(rest, v, v)
			head := s.vector()
			VMOVUPS(s.value(i, j), head)
			VFMADD132PS(rests[j], head, v)
			VFMADD231PS(radii[j], radius, v)
		}
	}
	p := Load(Param("offsets"), GP64())
	TESTQ(p, p)
	JEQ(LabelRef("test"))
	offsets := s.terms("offsets")
	for i := range dr {
		offset := s.factor(i, queryOffset)
		for j, v := range dr[i] {
			VFMADD231PS(offsets[j], offset, v)
		}
	}
	Label("test")
}

// terms returns the atoms' terms param: in registers if several queries need them, in
// memory otherwise.
func (s *scan) terms(param string) []Op {
	p := Load(Param(param), GP64())
	var terms []Op
	for j := range s.vectors {
		m := Mem{Base: p, Disp: s.bytes() * j}
		if s.queries == 1 {
			terms = append(terms, m)
			continue
		}
		v := s.vector()
		VMOVUPS(m, v)
		terms = append(terms, v)
	}
	return terms
}

// factor broadcasts a field of query i to every lane.
func (s *scan) factor(i, field int) VecVirtual {
	v := s.vector()
	VBROADCASTSS(s.field(i, field), v)
	return v
}
