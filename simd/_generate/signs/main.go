// Command signs writes the kernels for rows of one bit a coordinate:
//
//	go run ./signs -out ../signs_amd64.s -stubs ../signs_stubs_amd64.go -pkg simd
//
// A coordinate's bit says whether its code of the query counts. Expanding bits to bytes
// would take longer than the sums do. Instead eight bytes of a row are copied to every
// quadword of a vector, and each quadword keeps the bits of one position in place: bit b
// of a byte has weight 2^b, the same throughout a quadword, and a shift removes it from
// the sums, which are multiples of it. The query's codes are reordered to match once for
// all rows.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	group = 4    // rows summed at a time
	line  = 64   // bytes of a cache line
	span  = 4096 // most bits of a row: signSpan of the package
)

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	k := &kernel{}
	k.signSums("AVX512", &avx512{kernel: k})
	k = &kernel{}
	k.signSums("AVX2", &avx2{kernel: k})
	for _, s := range []set{{"AVX512", ZMM, 64}, {"AVX2", YMM, 32}} {
		packSigns(s)
		sumAbs(s)
	}
	Generate()
}

// kernel is the part of Signs that does not depend on the instruction set.
type kernel struct {
	head, end Mem         // where the bits begin in a row, and where they end
	at        GPVirtual   // place in the row
	hi, lo    Register    // the query's codes for the head: hi[at] and lo[at]
	rest      GPVirtual   // its reordered codes for the bits: rest[8 at]
	ids       Register    // the next group
	last      Mem         // the last group of ids
	rows      []GPVirtual // being summed
	near      []GPVirtual // as many to prefetch to level 1
	far       []Mem       // as many to prefetch to level 2
	labels    int
}

// instructions are what one instruction set does.
type instructions interface {
	prepare()           // sets registers that do not depend on the row
	order(from, to Mem) // reorders the codes for the bits from at on
	sum()               // stores the sums of the rows
}

// signSums emits Signs for whole groups.
func (k *kernel) signSums(name string, l instructions) {
	TEXT("signSums"+name, 0, "func(out *int32, codes *uint8, stride int, ids *uint32, n int, hi *int8, lo *int8, head, end, near, far int)")
	Doc("signSums"+name+" is Signs of n >= 4 rows; the last n%4 are only prefetched.",
		fmt.Sprintf("The bits of a row, %d at most, begin at head and end at end. The rows near places", span),
		"ahead are prefetched to level 1, those far ahead to level 2.")
	Pragma("noescape")
	k.load()
	l.prepare()
	k.fetchFirst()
	k.orderAll(l)

	Label("group")
	CMPQ(k.ids, k.last)
	JHI(LabelRef("done"))
	k.addressFar()
	k.near = k.address(k.ahead("near"))
	k.rows = k.address(k.ids)
	l.sum()
	ADDQ(U8(4*group), k.ids)
	ADDQ(U8(12*group), argument("out"))
	JMP(LabelRef("group"))

	Label("done")
	VZEROUPPER()
	RET()
}

// load loads the arguments that do not stay in memory.
func (k *kernel) load() {
	k.head, k.end, k.at = argument("head"), argument("end"), GP64()
	k.ids, k.hi, k.lo = Load(Param("ids"), GP64()), Load(Param("hi"), GP64()), Load(Param("lo"), GP64())
	last := GP64()
	MOVQ(argument("n"), last)
	LEAQ(Mem{Base: k.ids, Index: last, Scale: 4, Disp: -4 * group}, last)
	k.last = AllocLocal(8)
	MOVQ(last, k.last)
}

// argument returns the address of a one-word argument.
func argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// address loads the addresses of a group's rows, from a place in ids.
func (k *kernel) address(ids Register) []GPVirtual {
	var rows []GPVirtual
	for i := range group {
		r := GP64()
		MOVLQZX(Mem{Base: ids, Disp: 4 * i}, r)
		IMULQ(argument("stride"), r)
		ADDQ(argument("codes"), r)
		rows = append(rows, r)
	}
	return rows
}

// ahead returns the place in ids of the group some places ahead, at most the last one.
func (k *kernel) ahead(places string) GPVirtual {
	at := GP64()
	MOVQ(argument(places), at)
	LEAQ(Mem{Base: k.ids, Index: at, Scale: 4}, at)
	CMPQ(at, k.last)
	CMOVQHI(k.last, at)
	return at
}

// addressFar addresses the group to prefetch to level 2.
func (k *kernel) addressFar() {
	slots := AllocLocal(8 * group)
	for i, r := range k.address(k.ahead("far")) {
		k.far = append(k.far, slots.Offset(8*i))
		MOVQ(r, k.far[i])
	}
}

// fetchFirst prefetches the first far rows to level 2.
func (k *kernel) fetchFirst() {
	next, stop := GP64(), GP64()
	MOVQ(k.ids, next)
	MOVQ(argument("far"), stop)
	LEAQ(Mem{Base: k.ids, Index: stop, Scale: 4}, stop)
	Label("first")
	CMPQ(next, stop)
	JCC(LabelRef("order"))
	CMPQ(next, k.last)
	JHI(LabelRef("order"))
	rows := k.address(next)
	XORQ(k.at, k.at)
	Label("line")
	for _, r := range rows {
		PREFETCHT1(Mem{Base: r, Index: k.at, Scale: 1})
	}
	ADDQ(U8(line), k.at)
	CMPQ(k.at, k.end)
	JLT(LabelRef("line"))
	ADDQ(U8(4*group), next)
	JMP(LabelRef("first"))
}

// orderAll reorders the query's codes for all bits.
func (k *kernel) orderAll(l instructions) {
	Label("order")
	from, head := GP64(), GP64()
	MOVQ(k.head, k.at)
	IMUL3Q(I8(7), k.at, head)
	MOVQ(k.hi, from)
	SUBQ(head, from)
	k.rest = GP64()
	LEAQ(AllocLocal(span+line).Offset(line-1), k.rest)
	ANDQ(I8(-line), k.rest)
	MOVQ(k.head, head)
	SHLQ(U8(3), head)
	SUBQ(head, k.rest)
	l.order(Mem{Base: from, Index: k.at, Scale: 8}, k.restPlace())
}

// fetch prefetches the line of later row i that is disp bytes after at.
func (k *kernel) fetch(i int, at Register, disp int) {
	far := GP64()
	MOVQ(k.far[i], far)
	PREFETCHT1(Mem{Base: far, Index: at, Scale: 1, Disp: disp})
	PREFETCHT0(Mem{Base: k.near[i], Index: at, Scale: 1, Disp: disp})
}

// fetchLast prefetches the last line of the later rows.
func (k *kernel) fetchLast() {
	end := GP64()
	MOVQ(k.end, end)
	for i := range group {
		k.fetch(i, end, -1)
	}
}

// place is the current place in a row, or in the codes for its head.
func (k *kernel) place(base Register) Mem { return Mem{Base: base, Index: k.at, Scale: 1} }

// restPlace is the place of the reordered codes for the bits at at.
func (k *kernel) restPlace() Mem { return Mem{Base: k.rest, Index: k.at, Scale: 8} }

// label returns an unused name.
func (k *kernel) label(name string) string {
	k.labels++
	return fmt.Sprint(name, k.labels)
}

// steps emits a loop of body over steps bytes of the row from at on, while at is at most
// full.
func (k *kernel) steps(step int, full Op, body func()) {
	k.while(full, func() {
		body()
		ADDQ(U8(step), k.at)
	})
}

// while emits a loop of body, which advances at, until at is beyond full.
func (k *kernel) while(full Op, body func()) {
	loop, past := k.label("loop"), k.label("past")
	CMPQ(k.at, full)
	JGT(LabelRef(past))
	Label(loop)
	body()
	CMPQ(k.at, full)
	JLE(LabelRef(loop))
	Label(past)
}

// left runs body if at is before end.
func (k *kernel) left(end Mem, body func()) {
	past := k.label("past")
	CMPQ(k.at, end)
	JGE(LabelRef(past))
	body()
	Label(past)
}

// table emits a constant of n entries.
func table(name string, n int, entry func(i int) Constant) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range n {
		c := entry(i)
		DATA(i*c.Bytes(), c)
	}
	return m
}
