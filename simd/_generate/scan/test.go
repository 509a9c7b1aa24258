package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// test emits what a tile of one query does after its sums, for sums in memory, an atom's
// head and rest side by side. The same routines write the arithmetic, so the bits are
// the same.
func (t tile) test(name string) {
	TEXT(name, NOSPLIT, "func(sums *int32, query, heads, rests, radii, offsets, values *float32) uint64")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s is Test of 64 atoms. offsets may be nil.", name))
	sums := Load(Param("sums"), GP64())
	s := scan{tile: t, query: Load(Param("query"), GP64()), values: Load(Param("values"), GP64())}
	s.headTerm(s.stored(sums, 0, queryHeadBias))
	v := s.stored(sums, 1, queryRestBias)
	s.otherTerms(v)
	for j := range v[0] {
		VMOVUPS(v[0][j], s.value(0, j))
	}
	cut := t.vector()
	VBROADCASTSS(s.field(0, queryCut), cut)
	mask, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	t.mask(mask.Addr, v[0], cut)
	VZEROUPPER()
	RET()
}

// stored loads the head sums (which = 0) or the rest sums (1) from memory and subtracts
// the bias.
func (s *scan) stored(sums Register, which, bias int) [][]VecVirtual {
	b := s.factor(0, bias)
	v := make([]VecVirtual, s.vectors)
	for j := range v {
		v[j] = s.every2(Mem{Base: sums, Disp: 2 * s.bytes() * j}, which)
		VPSUBD(b, v[j], v[j])
	}
	return [][]VecVirtual{v}
}
