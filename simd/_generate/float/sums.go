package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// unroll is how many vectors one round of a summing loop takes, each into its own
// accumulator, to hide the latency of additions.
const unroll = 4

// lanes is the number of lanes of a canonical sum (simd/sums.go).
const lanes = 32

// stream is a pointer that advances by size bytes an entry.
type stream struct {
	p    GPVirtual
	size int
}

func param(name string, size int) stream {
	return stream{Load(Param(name).Base(), GP64()).(GPVirtual), size}
}

// at is the operand disp entries ahead.
func (x stream) at(disp int) Mem { return Mem{Base: x.p, Disp: disp * x.size} }

// loop emits loops over n entries. step handles the entries of one vector, disp entries
// ahead, with the k-th accumulators; rounds of many steps come first, then single
// steps. n ends as the number of entries left; the streams advance. each, if given, is
// called once in a round of many.
func loop(n GPVirtual, lanes, many int, step func(k, disp int), each func(), move ...stream) {
	turns := func(steps int, label, next string) {
		Label(label)
		CMPQ(n, I32(steps*lanes))
		JLT(LabelRef(next))
		if each != nil && steps > 1 {
			each()
		}
		for k := range steps {
			step(k, k*lanes)
		}
		for _, x := range move {
			ADDQ(I32(steps*lanes*x.size), x.p)
		}
		SUBQ(I32(steps*lanes), n)
		JMP(LabelRef(label))
	}
	if many > 1 {
		turns(many, "many", "one")
	}
	turns(1, "one", "tail")
	Label("tail")
}

// sums is a loop over vectors of float64 and the remainder, for which step gets the
// mask m of the entries to take.
func (s set) sums(n GPVirtual, step func(k, disp int, m *mask), each func(), move ...stream) {
	loop(n, s.bytes/8, unroll, func(k, disp int) { step(k, disp, nil) }, each, move...)
	TESTQ(n, n)
	JZ(LabelRef("end"))
	step(0, 0, s.first(n))
	Label("end")
}

// canonical returns the canonical sum of n entries. term adds the vector of entries
// disp ahead to acc, or only the entries of mask m if there is one. each and move are
// as in loop.
func (s set) canonical(n GPVirtual, term func(acc VecVirtual, disp int, m *mask), each func(), move ...stream) Register {
	acc := s.zero(lanes / (s.bytes / 8))
	s.turns("", n, len(acc), func(k, disp int, m *mask) { term(acc[k], disp, m) }, each, func() {
		for _, x := range move {
			ADDQ(I32(lanes*x.size), x.p)
		}
	})
	return s.sum64(acc)
}

// turns is a loop over the n entries of canonical sums, whose lanes are those of so many vectors.
// step takes the entries of the k-th vector, disp entries ahead, or those of mask m if there is one;
// each precedes the steps of a turn of all vectors, and move follows them.
func (s set) turns(suffix string, n GPVirtual, vectors int, step func(k, disp int, m *mask), each, move func()) {
	width := s.bytes / 8
	label := func(name string) string { return name + suffix }
	rest := func(k int) string { return label(fmt.Sprintf("rest%d", k)) }
	Label(label("turn"))
	SUBQ(I8(lanes), n)
	JLT(LabelRef(label("tail")))
	if each != nil {
		each()
	}
	for k := range vectors {
		step(k, k*width, nil)
	}
	move()
	JMP(LabelRef(label("turn")))
	Label(label("tail"))
	ADDQ(I8(lanes), n)
	for k := range vectors {
		CMPQ(n, I8(width))
		JLT(LabelRef(rest(k)))
		step(k, k*width, nil)
		SUBQ(I8(width), n)
	}
	for k := range vectors {
		Label(rest(k))
		TESTQ(n, n)
		JZ(LabelRef(label("end")))
		step(k, k*width, s.first(n))
		if k < vectors-1 {
			JMP(LabelRef(label("end")))
		}
	}
	Label(label("end"))
}

// term emits what the terms of a sum have in common, and returns what emits a term.
type term func(s set) addTerm

// addTerm is what a canonical sum of a row and a query adds to acc: q is a vector of the query, and a,
// which it overwrites, one of the row.
type addTerm func(acc VecVirtual, q Op, a VecVirtual)

// product adds a q to acc.
func product(set) addTerm {
	return func(acc VecVirtual, q Op, a VecVirtual) { VFMADD231PD(q, a, acc) }
}

// roundedProduct rounds a q before it adds it to acc.
func roundedProduct(set) addTerm {
	return func(acc VecVirtual, q Op, a VecVirtual) {
		VMULPD(q, a, a)
		VADDPD(a, acc, acc)
	}
}

// squaredDifference adds (a-q)^2 to acc and rounds the square first. The difference is 1 a - q, which
// rounds as a - q does: AMD's units that add also convert the row to float64 and add to acc, those that
// multiply have the square alone.
func squaredDifference(s set) addTerm {
	if oneData == nil {
		m := GLOBL("one", RODATA|NOPTR)
		DATA(0, U64(math.Float64bits(1)))
		oneData = &m
	}
	one := s.wide()
	VBROADCASTSD(*oneData, one)
	return func(acc VecVirtual, q Op, a VecVirtual) {
		VFMSUB213PD(q, one, a)
		VMULPD(a, a, a)
		VADDPD(a, acc, acc)
	}
}

var oneData *Mem // a 1 in float64

// of makes the steps of a canonical sum of row a and query q.
func (add addTerm) of(s set, a, q stream) func(acc VecVirtual, disp int, m *mask) {
	return func(acc VecVirtual, disp int, m *mask) {
		entries := s.load64(m, q.at(disp))
		if a.size == 4 {
			add(acc, entries, s.doubles(m, a.at(disp)))
			return
		}
		row := s.load64(m, a.at(disp))
		v, loaded := row.(VecVirtual)
		if !loaded {
			v = s.wide()
			VMOVUPD(row, v)
		}
		add(acc, entries, v)
	}
}

// dot emits Dot or SquaredDistance.
func dot(s set, name, of string, t term) {
	s.text(name, "func(a []float32, q []float64) float64", "is "+of+" of slices of equal lengths.")
	a, q := param("a", 4), param("q", 8)
	n := Load(Param("a").Len(), GP64()).(GPVirtual)
	done(s.canonical(n, t(s).of(s, a, q), nil, a, q))
}

// sumSquares emits SumSquares.
func sumSquares(s set) {
	s.text("sumSquares", "func(x []float32) float64", "is SumSquares.")
	x := param("x", 4)
	n := Load(Param("x").Len(), GP64()).(GPVirtual)
	done(s.canonical(n, func(acc VecVirtual, disp int, m *mask) {
		v := s.doubles(m, x.at(disp))
		VFMADD231PD(v, v, acc)
	}, nil, x))
}

// dotSquares emits DotSquares.
func dotSquares(s set) {
	s.text("dotSquares", "func(a []float32, q []float32) (sum float64, squares float64)",
		"is DotSquares of slices of one length.")
	a, q := param("a", 4), param("q", 4)
	n := Load(Param("a").Len(), GP64()).(GPVirtual)
	sum, squares := s.zero(unroll), s.zero(unroll)
	s.sums(n, func(k, disp int, m *mask) {
		v := s.doubles(m, a.at(disp))
		VFMADD231PD(s.doubles(m, q.at(disp)), v, sum[k])
		VFMADD231PD(v, v, squares[k])
	}, nil, a, q)
	done(s.sum64(sum), s.sum64(squares))
}

// codeMoments emits CodeMoments. All products are exact; the sum of squares is an
// integer and exact too.
func codeMoments(s set) {
	s.text("codeMoments", "func(code []uint8, o []float32) (co float64, cc float64)",
		"is CodeMoments of slices of one length, a multiple of the lanes of a vector of float64.")
	code, o := param("code", 1), param("o", 4)
	n := Load(Param("code").Len(), GP64()).(GPVirtual)
	bias := s.half()
	b := XMM()
	t := GP32()
	MOVL(U32(128), t)
	VMOVD(t, b)
	VPBROADCASTD(b, bias)
	co, cc := s.zero(unroll), s.zero(unroll)
	loop(n, s.bytes/8, unroll, func(k, disp int) {
		i, c := s.half(), s.wide()
		VPMOVZXBD(code.at(disp), i)
		VPSUBD(bias, i, i)
		VCVTDQ2PD(i, c)
		VFMADD231PD(s.doubles(nil, o.at(disp)), c, co[k])
		VFMADD231PD(c, c, cc[k])
	}, nil, code, o)
	done(s.sum64(co), s.sum64(cc))
}

// maxAbs emits MaxAbs. Without its sign a float orders like its bits as an unsigned
// integer, and every NaN is above infinity.
func maxAbs(s set) {
	s.text("maxAbs", "func(x []float32) float32", "is MaxAbs of a multiple of the lanes of a vector.")
	x := param("x", 4)
	n := Load(Param("x").Len(), GP64()).(GPVirtual)
	ones := s.wide()
	if s.bytes == 64 {
		VPTERNLOGD(U8(255), ones, ones, ones)
	} else {
		VPCMPEQD(ones, ones, ones)
	}
	VPSRLD(U8(1), ones, ones)
	acc := s.zero(unroll)
	loop(n, s.bytes/4, unroll, func(k, disp int) {
		v := s.wide()
		if s.bytes == 64 {
			VPANDD(x.at(disp), ones, v)
		} else {
			VPAND(x.at(disp), ones, v)
		}
		VPMAXUD(v, acc[k], acc[k])
	}, nil, x)
	VPMAXUD(acc[1], acc[0], acc[0])
	VPMAXUD(acc[3], acc[2], acc[2])
	VPMAXUD(acc[2], acc[0], acc[0])
	if s.bytes == 64 {
		y := YMM()
		VEXTRACTI64X4(U8(1), acc[0], y)
		VPMAXUD(y, acc[0].AsY(), acc[0].AsY())
	}
	m, t := acc[0].AsX(), XMM()
	VEXTRACTI128(U8(1), acc[0].AsY(), t)
	VPMAXUD(t, m, m)
	VPSHUFD(U8(0x4e), m, t)
	VPMAXUD(t, m, m)
	VPSHUFD(U8(0xb1), m, t)
	VPMAXUD(t, m, m)
	done(m)
}
