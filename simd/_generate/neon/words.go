package neon

import (
	"fmt"
	"log"
)

// V is the number of a vector register.
type V uint32

// Arrangement is how a vector register is divided into lanes.
type Arrangement uint32

// The arrangements. The lowest bit is set for whole registers; the bits above it are the
// binary logarithm of a lane's bytes.
const (
	B8 Arrangement = iota
	B16
	H4
	H8
	S2
	S4
	D1
	D2
)

func (a Arrangement) q() uint32    { return uint32(a) & 1 }
func (a Arrangement) size() uint32 { return uint32(a) >> 1 }

// String returns the arrangement in ARM's syntax.
func (a Arrangement) String() string {
	return [...]string{"8b", "16b", "4h", "8h", "2s", "4s", "1d", "2d"}[a]
}

// wide returns the arrangement of a whole register with lanes twice as wide.
func (a Arrangement) wide() Arrangement { return a&^1 + 3 }

// of holds an instruction's bits: U, the bits above the lane size that float
// instructions set, and the opcode. float is set if lanes are floats of 4 or 8 bytes.
type of struct {
	u, high, opcode uint32
	float           bool
}

func (o of) bits(a Arrangement) uint32 {
	size := a.size()
	if o.float {
		if size < 2 {
			log.Fatalf("%v: floats have 4 or 8 bytes", a)
		}
		size = o.high<<1 | size&1
	}
	return a.q()<<30 | o.u<<29 | size<<22
}

// Instructions of three registers with lanes of equal width.
var same = map[string]of{
	"add": {0, 0, 0b10000, false}, "sub": {1, 0, 0b10000, false}, "addp": {0, 0, 0b10111, false},
	"mul": {0, 0, 0b10011, false}, "mla": {0, 0, 0b10010, false}, "mls": {1, 0, 0b10010, false},
	"smax": {0, 0, 0b01100, false}, "smin": {0, 0, 0b01101, false},
	"umax": {1, 0, 0b01100, false}, "umin": {1, 0, 0b01101, false},
	"cmeq": {1, 0, 0b10001, false}, "cmgt": {0, 0, 0b00110, false}, "cmge": {0, 0, 0b00111, false},
	"cmhi": {1, 0, 0b00110, false}, "cmhs": {1, 0, 0b00111, false}, "cmtst": {0, 0, 0b10001, false},
	"sshl": {0, 0, 0b01000, false}, "ushl": {1, 0, 0b01000, false},
	"fadd": {0, 0, 0b11010, true}, "fsub": {0, 1, 0b11010, true}, "faddp": {1, 0, 0b11010, true},
	"fmul": {1, 0, 0b11011, true}, "fmla": {0, 0, 0b11001, true}, "fmls": {0, 1, 0b11001, true},
	"fmax": {0, 0, 0b11110, true}, "fmin": {0, 1, 0b11110, true},
	"fmaxnm": {0, 0, 0b11000, true}, "fminnm": {0, 1, 0b11000, true},
	"fdiv": {1, 0, 0b11111, true}, "fabd": {1, 1, 0b11010, true},
	"fcmeq": {0, 0, 0b11100, true}, "fcmge": {1, 0, 0b11100, true}, "fcmgt": {1, 1, 0b11100, true},
	"facge": {1, 0, 0b11101, true}, "facgt": {1, 1, 0b11101, true},
}

// Same emits d = n op m, lane by lane. "fmla" and its like add to d; "addp" and "faddp"
// add pairs of n, then pairs of m.
func (f *File) Same(op string, a Arrangement, d, n, m V) {
	o, ok := same[op]
	if !ok {
		log.Fatalf("Same does not know %s", op)
	}
	f.word(0x0e200400|o.bits(a)|uint32(m)<<16|o.opcode<<11|uint32(n)<<5|uint32(d), "%s v%d.%v, v%d.%v, v%d.%v", op, d, a, n, a, m, a)
}

// Bitwise instructions of three registers.
var bitwise = map[string]uint32{
	"and": 0x0e201c00, "bic": 0x0e601c00, "orr": 0x0ea01c00, "orn": 0x0ee01c00,
	"eor": 0x2e201c00, "bsl": 0x2e601c00, "bit": 0x2ea01c00, "bif": 0x2ee01c00,
}

// Bits emits a bitwise instruction of three whole registers. "bsl" takes n where d has
// ones and m where it has zeros.
func (f *File) Bits(op string, d, n, m V) {
	w, ok := bitwise[op]
	if !ok {
		log.Fatalf("Bits does not know %s", op)
	}
	f.word(w|1<<30|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s v%d.16b, v%d.16b, v%d.16b", op, d, n, m)
}

// Instructions whose results are twice as wide as their lanes.
var widen = map[string]of{
	"saddl": {0, 0, 0b0000, false}, "uaddl": {1, 0, 0b0000, false}, "ssubl": {0, 0, 0b0010, false}, "usubl": {1, 0, 0b0010, false},
	"smull": {0, 0, 0b1100, false}, "umull": {1, 0, 0b1100, false},
	"smlal": {0, 0, 0b1000, false}, "umlal": {1, 0, 0b1000, false},
	"smlsl": {0, 0, 0b1010, false}, "umlsl": {1, 0, 0b1010, false},
	"sabdl": {0, 0, 0b0111, false}, "uabdl": {1, 0, 0b0111, false},
}

// Widen emits an instruction on lanes a of n and m with results twice as wide; a whole
// register stands for its upper half (smull2 and its like).
func (f *File) Widen(op string, a Arrangement, d, n, m V) {
	o, ok := widen[op]
	if !ok {
		log.Fatalf("Widen does not know %s", op)
	}
	f.word(0x0e200000|o.bits(a)|uint32(m)<<16|o.opcode<<12|uint32(n)<<5|uint32(d), "%s%s v%d.%v, v%d.%v, v%d.%v", op, second(a), d, a.wide(), n, a, m, a)
}

// Instructions that add lanes to others twice as wide.
var wider = map[string]of{"saddw": {0, 0, 0b0001, false}, "uaddw": {1, 0, 0b0001, false}, "ssubw": {0, 0, 0b0011, false}, "usubw": {1, 0, 0b0011, false}}

// Wider emits n op m, where the lanes of n and d are twice as wide as the lanes a of m.
func (f *File) Wider(op string, a Arrangement, d, n, m V) {
	o, ok := wider[op]
	if !ok {
		log.Fatalf("Wider does not know %s", op)
	}
	f.word(0x0e200000|o.bits(a)|uint32(m)<<16|o.opcode<<12|uint32(n)<<5|uint32(d), "%s%s v%d.%v, v%d.%v, v%d.%v", op, second(a), d, a.wide(), n, a.wide(), m, a)
}

func second(a Arrangement) string {
	if a.q() == 1 {
		return "2"
	}
	return ""
}

// Instructions of one source register. Which lanes are wider differs.
var misc = map[string]of{
	"abs": {0, 0, 0b01011, false}, "neg": {1, 0, 0b01011, false}, "cnt": {0, 0, 0b00101, false}, "not": {1, 0, 0b00101, false},
	"rev64": {0, 0, 0b00000, false}, "clz": {1, 0, 0b00100, false},
	"fabs": {0, 1, 0b01111, true}, "fneg": {1, 1, 0b01111, true}, "fsqrt": {1, 1, 0b11111, true},
	"scvtf": {0, 0, 0b11101, true}, "ucvtf": {1, 0, 0b11101, true},
	"fcvtns": {0, 0, 0b11010, true}, "fcvtnu": {1, 0, 0b11010, true}, "fcvtzs": {0, 1, 0b11011, true}, "fcvtzu": {1, 1, 0b11011, true},
	"fcvtms": {0, 0, 0b11011, true}, "frintn": {0, 0, 0b11000, true},
	"cmgt": {0, 0, 0b01000, false}, "cmge": {1, 0, 0b01000, false}, "cmeq": {0, 0, 0b01001, false}, "cmlt": {0, 0, 0b01010, false},
	"fcmgt": {0, 1, 0b01100, true}, "fcmge": {1, 1, 0b01100, true}, "fcmeq": {0, 1, 0b01101, true}, "fcmlt": {0, 1, 0b01110, true},
}

// Misc emits an instruction of one source register, lane by lane. Comparisons are with zero.
func (f *File) Misc(op string, a Arrangement, d, n V) {
	o, ok := misc[op]
	if !ok {
		log.Fatalf("Misc does not know %s", op)
	}
	with := ""
	switch op {
	case "cmgt", "cmge", "cmeq", "cmlt":
		with = ", #0"
	case "fcmgt", "fcmge", "fcmeq", "fcmlt":
		with = ", #0.0"
	}
	f.word(0x0e200800|o.bits(a)|o.opcode<<12|uint32(n)<<5|uint32(d), "%s v%d.%v, v%d.%v%s", op, d, a, n, a, with)
}

// Instructions that add neighbours, with results twice as wide.
var pairwise = map[string]of{
	"saddlp": {0, 0, 0b00010, false}, "uaddlp": {1, 0, 0b00010, false}, "sadalp": {0, 0, 0b00110, false}, "uadalp": {1, 0, 0b00110, false},
}

// Pairwise adds neighbouring lanes a of n; "sadalp" and "uadalp" add them to d.
func (f *File) Pairwise(op string, a Arrangement, d, n V) {
	o, ok := pairwise[op]
	if !ok {
		log.Fatalf("Pairwise does not know %s", op)
	}
	f.word(0x0e200800|o.bits(a)|o.opcode<<12|uint32(n)<<5|uint32(d), "%s v%d.%v, v%d.%v", op, d, a.wide()-1+Arrangement(a.q()), n, a)
}

// Instructions whose results are half as wide.
var narrow = map[string]of{"xtn": {0, 0, 0b10010, false}, "sqxtn": {0, 0, 0b10100, false}, "sqxtun": {1, 0, 0b10010, false}, "uqxtn": {1, 0, 0b10100, false}}

// Narrow converts lanes twice as wide to lanes a of d; a whole register stands for its
// upper half, and keeps its lower half (xtn2).
func (f *File) Narrow(op string, a Arrangement, d, n V) {
	o, ok := narrow[op]
	if !ok {
		log.Fatalf("Narrow does not know %s", op)
	}
	f.word(0x0e200800|o.bits(a)|o.opcode<<12|uint32(n)<<5|uint32(d), "%s%s v%d.%v, v%d.%v", op, second(a), d, a, n, a.wide())
}

// Double converts float32 lanes of n to float64: the lower two for S2, the upper two for
// S4 (fcvtl, fcvtl2).
func (f *File) Double(a Arrangement, d, n V) {
	f.word(0x0e617800|a.q()<<30|uint32(n)<<5|uint32(d), "fcvtl%s v%d.2d, v%d.%v", second(a), d, n, a)
}

// Single converts two float64 of n to float32 in the lower (S2) or upper (S4) lanes of d.
func (f *File) Single(a Arrangement, d, n V) {
	f.word(0x0e616800|a.q()<<30|uint32(n)<<5|uint32(d), "fcvtn%s v%d.%v, v%d.2d", second(a), d, a, n)
}

// Instructions over all lanes.
var across = map[string]of{
	"addv": {0, 0, 0b11011, false}, "saddlv": {0, 0, 0b00011, false}, "uaddlv": {1, 0, 0b00011, false},
	"smaxv": {0, 0, 0b01010, false}, "umaxv": {1, 0, 0b01010, false}, "sminv": {0, 0, 0b11010, false}, "uminv": {1, 0, 0b11010, false},
}

// Across reduces all lanes of n to the lowest lane of d. "fmaxv" takes S4 only.
func (f *File) Across(op string, a Arrangement, d, n V) {
	if op == "fmaxv" && a == S4 {
		f.word(0x6e30f800|uint32(n)<<5|uint32(d), "fmaxv s%d, v%d.4s", d, n)
		return
	}
	o, ok := across[op]
	if !ok {
		log.Fatalf("Across does not know %s", op)
	}
	to := a.size()
	if op == "saddlv" || op == "uaddlv" {
		to++
	}
	f.word(0x0e300800|o.bits(a)|o.opcode<<12|uint32(n)<<5|uint32(d), "%s %c%d, v%d.%v", op, "bhsd"[to], d, n, a)
}

// Dot adds to each of the four int32 of d the products of four bytes of n and m, all
// signed ("sdot") or all unsigned ("udot"). It needs FEAT_DotProd.
func (f *File) Dot(op string, d, n, m V) {
	f.word(0x4e809400|unsigned(op)<<29|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s v%d.4s, v%d.16b, v%d.16b", op, d, n, m)
}

// DotLane is Dot with the same four bytes of m, those of its lane i of four, for all of n.
func (f *File) DotLane(op string, d, n, m V, i int) {
	f.word(0x4f80e000|unsigned(op)<<29|uint32(i&1)<<21|uint32(i>>1)<<11|uint32(m)<<16|uint32(n)<<5|uint32(d),
		"%s v%d.4s, v%d.16b, v%d.4b[%d]", op, d, n, m, i)
}

func unsigned(op string) uint32 {
	switch op {
	case "sdot":
		return 0
	case "udot":
		return 1
	}
	log.Fatalf("Dot does not know %s", op)
	return 0
}

// Lane emits "fmul", "fmla" or "fmls" with one lane of m for all lanes of n.
func (f *File) Lane(op string, a Arrangement, d, n, m V, i int) {
	opcode, ok := map[string]uint32{"fmul": 0b1001, "fmla": 0b0001, "fmls": 0b0101}[op]
	if !ok || a.size() < 2 {
		log.Fatalf("Lane does not know %s of %v", op, a)
	}
	h, l := uint32(i>>1), uint32(i&1)
	if a.size() == 3 {
		h, l = uint32(i), 0
	}
	f.word(0x0f800000|a.q()<<30|(a.size()&1)<<22|l<<21|h<<11|uint32(m)<<16|opcode<<12|uint32(n)<<5|uint32(d),
		"%s v%d.%v, v%d.%v, v%d.%c[%d]", op, d, a, n, a, m, "sd"[a.size()&1], i)
}

// Shift shifts lanes by a number of bits: "shl", "sshr", "ushr", "sli", "sri", or to lanes
// twice as wide "sshll" and "ushll", where a whole register stands for its upper half.
func (f *File) Shift(op string, a Arrangement, d, n V, by int) {
	bits := 8 << a.size()
	var u, opcode, imm uint32
	to, name := a, op
	switch op {
	case "shl":
		u, opcode, imm = 0, 0b01010, uint32(bits+by)
	case "sli":
		u, opcode, imm = 1, 0b01010, uint32(bits+by)
	case "sshr":
		u, opcode, imm = 0, 0b00000, uint32(2*bits-by)
	case "ushr":
		u, opcode, imm = 1, 0b00000, uint32(2*bits-by)
	case "sri":
		u, opcode, imm = 1, 0b01000, uint32(2*bits-by)
	case "sshll":
		u, opcode, imm, to, name = 0, 0b10100, uint32(bits+by), a.wide(), op+second(a)
	case "ushll":
		u, opcode, imm, to, name = 1, 0b10100, uint32(bits+by), a.wide(), op+second(a)
	default:
		log.Fatalf("Shift does not know %s", op)
	}
	f.word(0x0f000400|a.q()<<30|u<<29|imm<<16|opcode<<11|uint32(n)<<5|uint32(d), "%s v%d.%v, v%d.%v, #%d", name, d, to, n, a, by)
}

// Zip interleaves or separates lanes: "zip1", "zip2", "uzp1", "uzp2", "trn1", "trn2".
func (f *File) Zip(op string, a Arrangement, d, n, m V) {
	opcode, ok := map[string]uint32{"uzp1": 1, "trn1": 2, "zip1": 3, "uzp2": 5, "trn2": 6, "zip2": 7}[op]
	if !ok {
		log.Fatalf("Zip does not know %s", op)
	}
	f.word(0x0e000800|a.q()<<30|a.size()<<22|uint32(m)<<16|opcode<<12|uint32(n)<<5|uint32(d), "%s v%d.%v, v%d.%v, v%d.%v", op, d, a, n, a, m, a)
}

// Table looks up the bytes of n in the registers t, t+1, .. (1 to 4); indices beyond
// them give zero.
func (f *File) Table(d, t V, tables int, n V) {
	last := fmt.Sprintf("v%d.16b", t)
	if tables > 1 {
		last = fmt.Sprintf("v%d.16b-v%d.16b", t, t+V(tables)-1)
	}
	f.word(0x4e000000|uint32(n)<<16|uint32(tables-1)<<13|uint32(t)<<5|uint32(d), "tbl v%d.16b, {%s}, v%d.16b", d, last, n)
}

// Dup copies lane i of n to all lanes a of d.
func (f *File) Dup(a Arrangement, d, n V, i int) {
	f.word(0x0e000400|a.q()<<30|(uint32(i)<<1|1)<<a.size()<<16|uint32(n)<<5|uint32(d), "dup v%d.%v, v%d.%c[%d]", d, a, n, "bhsd"[a.size()], i)
}

// Move copies a whole register.
func (f *File) Move(d, n V) { f.Bits("orr", d, n, n) }

// Prefetch prefetches the line at base + offset, both numbers of general registers, into
// the level-1 or level-2 cache. Go's assembler lacks this addressing mode.
func (f *File) Prefetch(cache, base, offset uint32) {
	f.word(0xf8a06800|offset<<16|base<<5|(cache-1)<<1, "prfm pldl%dkeep, [x%d, x%d]", cache, base, offset)
}
