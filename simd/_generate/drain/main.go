// Command drain writes the amd64 kernel of package simd that lists a scan's selected
// lanes for all queries at once.
//
//	go run ./drain -out ../drain_amd64.s -stubs ../drain_stubs_amd64.go -pkg simd
//
// Most queries select nothing of a panel, or an entry or two, and a branch on how many
// would be mispredicted. So the queries that select something are listed first, without
// a branch; then each stores four entries whether it has as many or not.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"thresher/simd/_generate/asm"
)

const (
	block = 256 // most queries of a call: their numbers are bytes
	lanes = 64  // most entries of a mask
	few   = 16  // entries up to which four at a time is faster than eight lanes at a time
)

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	drain(asm.Places())
	Generate()
}

func drain(places Mem) {
	TEXT("drainAVX2", NOSPLIT, "func(ids *uint32, bounds *float32, stride int, counts *int32, room int32, "+
		"masks *uint64, values *float32, base uint32, add *float32, n int) bool")
	Pragma("noescape")
	Doc("drainAVX2 is Drain for 1 to 256 queries. It does nothing and returns false when a",
		"count is negative or beyond room.")
	d := &drainage{
		counts: pointer("counts"), masks: pointer("masks"),
		active: AllocLocal(block), at: GP64(), query: GP64(),
	}
	d.list()
	d.ids, d.bounds, d.stride = pointer("ids"), pointer("bounds"), pointer("stride")
	d.values, d.adds = pointer("values"), pointer("add")
	SUBQ(d.ids, d.bounds)
	SHLQ(U8(2), d.stride)
	d.lane, d.eight, d.add = YMM(), YMM(), YMM()
	VBROADCASTSS(argument("base"), d.lane)
	eight := GP32()
	MOVL(U32(8), eight)
	VMOVD(eight, d.eight.AsX())
	VPBROADCASTD(d.eight.AsX(), d.eight)

	// The last active query takes its lanes by eights, however few they are: taking fours may
	// read an entry of the next query's values, and it has none.
	most := AllocLocal(8)
	MOVQ(U32(0), most)
	d.mask, d.left, d.tail = GP64(), GP64(), GP64()
	Label("query")
	d.nextQuery()
	CMPQ(d.left, most)
	JHI(LabelRef("many"))
	Label("four")
	d.four()
	SUBQ(U8(4), d.left)
	JHI(LabelRef("four"))
	Label("another")
	DECQ(d.at)
	JNE(LabelRef("query"))
	VZEROUPPER()
	Label("none")
	d.returns(1)
	Label("many")
	MOVQ(U32(few), most)
	d.eights(places)
	JMP(LabelRef("another"))
	Label("full")
	d.returns(0)
}

// drainage is a drain's position in its lists.
type drainage struct {
	active                             Mem        // numbers of the queries that select something
	at                                 GPVirtual  // how many of them are left
	counts, masks, ids, stride, values GPVirtual  // stride in bytes
	bounds                             GPVirtual  // relative to ids
	adds                               GPVirtual  // of every query
	lane, eight                        VecVirtual // base, and the step to the next group
	query                              GPVirtual  // the current query: its number, then its values
	mask, left, tail                   GPVirtual  // its remaining mask and count, and its place in the lists
	add                                VecVirtual
}

// list lists the active queries, the last one first, and jumps away if a list lacks room.
func (d *drainage) list() {
	n, room, full := pointer("n"), Load(Param("room"), GP32()), GP32()
	XORL(d.query.As32(), d.query.As32())
	XORL(d.at.As32(), d.at.As32())
	XORL(full, full)
	Label("list")
	MOVB(d.query.As8(), d.active.Idx(d.at, 1))
	CMPQ(Mem{Base: d.masks, Index: d.query, Scale: 8}, U8(1)) // borrows if the mask is 0
	SBBQ(I8(-1), d.at)
	CMPL(room, Mem{Base: d.counts, Index: d.query, Scale: 4}) // borrows if the count is greater
	ADCL(U8(0), full)
	INCQ(d.query)
	CMPQ(d.query, n)
	JNE(LabelRef("list"))
	TESTL(full, full)
	JNE(LabelRef("full"))
	TESTQ(d.at, d.at)
	JE(LabelRef("none"))
}

// nextQuery moves to the next active query and counts its entries.
func (d *drainage) nextQuery() {
	count := GP64()
	MOVBLZX(d.active.Idx(d.at, 1).Offset(-1), d.query.As32())
	MOVQ(Mem{Base: d.masks, Index: d.query, Scale: 8}, d.mask)
	MOVL(Mem{Base: d.counts, Index: d.query, Scale: 4}, count.As32())
	VBROADCASTSS(Mem{Base: d.adds, Index: d.query, Scale: 4}, d.add)
	MOVQ(d.query, d.tail)
	IMULQ(d.stride, d.tail)
	ADDQ(d.ids, d.tail)
	LEAQ(Mem{Base: d.tail, Index: count, Scale: 4}, d.tail)
	POPCNTQ(d.mask, d.left)
	ADDL(d.left.As32(), count.As32())
	MOVL(count.As32(), Mem{Base: d.counts, Index: d.query, Scale: 4})
	SHLQ(U8(8), d.query) // 64 values, 4 bytes each
	ADDQ(d.values, d.query)
}

// four stores the entries of the mask's lowest four bits. If there are fewer, the rest are
// of lane 64, the first of the next query's.
func (d *drainage) four() {
	id, bound := XMM(), XMM()
	var low GPVirtual
	for j := range 4 {
		i := GP64()
		TZCNTQ(d.mask, i)
		BLSRQ(d.mask, d.mask)
		value := Mem{Base: d.query, Index: i, Scale: 4}
		if j == 0 {
			VMOVSS(value, bound)
		} else {
			VINSERTPS(U8(16*j), value, bound, bound)
		}
		if j%2 == 0 {
			low = i
			continue
		}
		SHLQ(U8(32), i)
		ORQ(i, low)
		if j == 1 {
			VMOVQ(low, id)
		} else {
			VPINSRQ(U8(1), low, id, id)
		}
	}
	VPADDD(d.lane.AsX(), id, id)
	VADDPS(d.add.AsX(), bound, bound)
	d.store(id, bound)
	ADDQ(U8(16), d.tail)
}

// eights stores eight entries for each byte of the mask, each group where the previous
// one's entries end.
func (d *drainage) eights(places Mem) {
	lane, table := YMM(), d.left
	VMOVDQA(d.lane, lane)
	LEAQ(places, table)
	for j := range lanes / 8 {
		group, order, id, bound := GP64(), YMM(), YMM(), YMM()
		MOVBLZX(d.mask.As8(), group.As32())
		VPMOVZXBD(Mem{Base: table, Index: group, Scale: 8}, order)
		VPADDD(lane, order, id)
		VPERMPS(Mem{Base: d.query, Disp: 32 * j}, order, bound)
		VADDPS(d.add, bound, bound)
		d.store(id, bound)
		if j == lanes/8-1 {
			break
		}
		POPCNTL(group.As32(), group.As32())
		LEAQ(Mem{Base: d.tail, Index: group, Scale: 4}, d.tail)
		SHRQ(U8(8), d.mask)
		VPADDD(d.eight, lane, lane)
	}
}

func (d *drainage) store(id, bound Op) {
	VMOVDQU(id, Mem{Base: d.tail})
	VMOVUPS(bound, Mem{Base: d.tail, Index: d.bounds, Scale: 1})
}

func (d *drainage) returns(v uint64) {
	yes, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	MOVB(U8(v), yes.Addr)
	RET()
}

// pointer loads a parameter of 64 bits.
func pointer(param string) GPVirtual { return Load(Param(param), GP64()).(GPVirtual) }

// argument returns the address of a parameter.
func argument(param string) Mem {
	p, err := Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}
