// Command rows writes the kernels that sum gathered rows of codes:
//
//	go run ./rows -out ../rows_amd64.s -stubs ../rows_stubs_amd64.go -pkg simd
//
// Rows are summed four at a time, so that one load of the query's codes serves four, and
// the last one to three singly. Later rows are prefetched twice: from far to the level-2
// cache, which can have more misses outstanding, and from near to the level-1 cache.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	group = 4  // rows summed at a time
	line  = 64 // bytes of a cache line
)

func main() {
	ConstraintExpr("amd64,!noasm,!purego")
	for _, avx512 := range []bool{true, false} {
		emit("rowSums", "Rows", avx512, "hi", "lo")
		emit("rowSums8", "Rows8", avx512, "q")
	}
	tiles()
	Generate()
}

// kernel is the kernel being written. For each row it sums the head and the rest with
// each half of the query's codes.
type kernel struct {
	avx512   bool
	query    []Register  // halves of the query's codes
	at       GPVirtual   // place in the row
	ends     [2]Mem      // of head and of rest in a row
	rows     []GPVirtual // being summed
	near     []GPVirtual // as many to prefetch to level 1
	far      []Mem       // as many to prefetch to level 2
	ids, out Register    // the next group
	last     Mem         // end of ids
	fulls    [2][]Mem    // where the last whole steps of head and of rest begin
	zero     VecVirtual
	tails    [2]Register // AVX-512: the remainders of head and of rest in a line
	uppers   [2]Register // AVX-512: the upper half of each 128 bits, and of all
	ones     Mem         // AVX2: four doublewords of ones, then four of zeros
	labels   int
}

// emit writes the kernel of a method for one instruction set.
func emit(name, method string, avx512 bool, halves ...string) {
	k := &kernel{avx512: avx512}
	set, prepare, sum := "AVX2", k.prepareAVX2, k.sumAVX2
	if avx512 {
		set, prepare, sum = "AVX512", k.prepareAVX512, k.sumAVX512
	}
	query := ""
	for _, h := range halves {
		query += h + " *int8, "
	}
	TEXT(name+set, NOSPLIT, "func(out *int32, codes *uint8, stride int, ids *uint32, n int, "+query+"head, end, near, far int)")
	Doc(fmt.Sprintf("%s%s is %s of n rows, whose rest ends at end. The rows near places ahead", name, set, method),
		"are prefetched to level 1, those far ahead to level 2 unless far is 0.")
	Pragma("noescape")
	k.load(halves)
	prepare(name)

	far := argument("far")
	CMPQ(far, U8(0))
	JEQ(LabelRef("group"))
	k.fetchFirst(far)
	Label("far")
	at := k.ahead(far)
	JHI(LabelRef("group"))
	k.rowsFar(at)
	k.rowsNear()
	sum()
	JMP(LabelRef("far"))

	Label("group")
	k.within(k.ids)
	JHI(LabelRef("single"))
	k.far = nil
	k.rowsNear()
	sum()
	JMP(LabelRef("group"))

	Label("single")
	CMPQ(k.ids, k.last)
	JCC(LabelRef("done"))
	k.rows, k.near = k.address(k.ids, 1), nil
	sum()
	JMP(LabelRef("single"))

	Label("done")
	VZEROUPPER()
	RET()
}

// load loads the arguments that do not stay in memory.
func (k *kernel) load(halves []string) {
	k.ends = [2]Mem{argument("head"), argument("end")}
	k.ids, k.out, k.at = Load(Param("ids"), GP64()), Load(Param("out"), GP64()), GP64()
	for _, h := range halves {
		k.query = append(k.query, Load(Param(h), GP64()))
	}
	end := GP64()
	MOVQ(argument("n"), end)
	LEAQ(Mem{Base: k.ids, Index: end, Scale: 4}, end)
	k.last = AllocLocal(8)
	MOVQ(end, k.last)
}

// argument returns the address of a one-word argument.
func argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// address loads the addresses of n rows, from a place in ids.
func (k *kernel) address(ids Register, n int) []GPVirtual {
	var rows []GPVirtual
	for i := range n {
		r := GP64()
		MOVLQZX(Mem{Base: ids, Disp: 4 * i}, r)
		IMULQ(argument("stride"), r)
		ADDQ(argument("codes"), r)
		rows = append(rows, r)
	}
	return rows
}

// within compares the end of the group at a place in ids with the end of ids.
func (k *kernel) within(at Register) {
	end := GP64()
	LEAQ(Mem{Base: at, Disp: 4 * group}, end)
	CMPQ(end, k.last)
}

// ahead returns the place in ids of the group some places ahead, with the flags that
// within sets.
func (k *kernel) ahead(places Mem) GPVirtual {
	at := GP64()
	MOVQ(places, at)
	LEAQ(Mem{Base: k.ids, Index: at, Scale: 4}, at)
	k.within(at)
	return at
}

// rowsNear addresses the group to sum and the group to prefetch to level 1, which is the
// same one if ids end before that.
func (k *kernel) rowsNear() {
	k.rows = k.address(k.ids, group)
	at := k.ahead(argument("near"))
	CMOVQHI(k.ids, at)
	k.near = k.address(at, group)
}

// rowsFar addresses the group to prefetch to level 2.
func (k *kernel) rowsFar(at Register) {
	slots := AllocLocal(8 * group)
	for i, r := range k.address(at, group) {
		k.far = append(k.far, slots.Offset(8*i))
		MOVQ(r, k.far[i])
	}
}

// fetchFirst prefetches the first far rows to level 2, and the first row in place of those
// past the last.
func (k *kernel) fetchFirst(far Mem) {
	next, stop := GP64(), GP64()
	MOVQ(far, stop)
	LEAQ(Mem{Base: k.ids, Index: stop, Scale: 4}, stop)
	CMPQ(stop, k.last)
	CMOVQHI(k.last, stop)
	MOVQ(k.ids, next)
	Label("first")
	CMPQ(next, stop)
	JCC(LabelRef("far"))
	var rows []GPVirtual
	for i := range group {
		t := GP64()
		LEAQ(Mem{Base: next, Disp: 4 * i}, t)
		CMPQ(t, stop)
		CMOVQCC(k.ids, t)
		rows = append(rows, k.address(t, 1)...)
	}
	XORQ(k.at, k.at)
	Label("line")
	for _, r := range rows {
		PREFETCHT1(Mem{Base: r, Index: k.at, Scale: 1})
	}
	ADDQ(U8(line), k.at)
	CMPQ(k.at, k.ends[1])
	JLT(LabelRef("line"))
	ADDQ(U8(4*group), next)
	JMP(LabelRef("first"))
}

// fetch prefetches the line of the later rows in which the current step ends. If the head
// does not fill its last line, the step before prefetched the line in which this begins.
func (k *kernel) fetch() {
	place := func(row Register) Mem { return Mem{Base: row, Index: k.at, Scale: 1, Disp: line - 4} }
	for _, slot := range k.far {
		r := GP64()
		MOVQ(slot, r)
		PREFETCHT1(place(r))
	}
	for _, r := range k.near {
		PREFETCHT0(place(r))
	}
}

// label returns an unused name.
func (k *kernel) label(name string) string {
	k.labels++
	return fmt.Sprint(name, k.labels)
}

// steps emits a loop of body over steps of step codes of the row from at on, while at is
// at most full.
func (k *kernel) steps(step int, full Mem, body func()) {
	loop, past := k.label("loop"), k.label("past")
	CMPQ(k.at, full)
	JGT(LabelRef(past))
	Label(loop)
	body()
	ADDQ(U8(step), k.at)
	CMPQ(k.at, full)
	JLE(LabelRef(loop))
	Label(past)
}

// done goes on to the rows after these, whose sums are stored.
func (k *kernel) done(sums int) {
	ADDQ(U8(4*sums), k.out)
	ADDQ(U8(4*len(k.rows)), k.ids)
}

func (k *kernel) vector() VecVirtual {
	if k.avx512 {
		return ZMM()
	}
	return YMM()
}

// zeros returns n zeroed vectors. Copying one is free, and avo does not know that a
// VPXORD of a register with itself does not depend on its old value.
func (k *kernel) zeros(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = k.vector()
		if k.avx512 {
			VMOVDQA64(k.zero, v[i])
		} else {
			VMOVDQA(k.zero, v[i])
		}
	}
	return v
}
