package main

import (
	"fmt"
	mathbits "math/bits"

	"thresher/simd/_generate/neon"
)

const (
	// sums is the number of registers of sums, four each. A small core's two pipes need
	// eight to hide the latency of multiplications, a large core's four need twelve.
	sums = 16
	// panelBytes is the bytes of four codes of a panel's 64 atoms; so many bytes also hold a
	// float an atom.
	panelBytes = 256
)

// The layout of simd.ScanQuery: byte offsets of its fields, and its size. The first four
// are loaded together, a lane each.
const (
	queryCut      = 16
	queryHeadBias = 20
	queryRestBias = 24
	querySize     = 32
)

const (
	headLane = iota
	restLane
	radiusLane
	offsetLane
)

// source says where a tile's atoms come from. Codes in a panel are biased; removing the
// bias takes an instruction for 16 codes: as many as products if there is one query, an
// eighth of them if there are eight. With many queries, the first eight keep the signed
// codes, tile after tile, for the others.
type source int

const (
	biased  source = iota
	keeping        // biased, and the signed codes are kept
	kept
)

// tile is a scan whose sums stay in registers: those of queries queries and of 64 atoms
// for one query, 8 atoms for eight queries. Registers of sixteen codes of each query meet
// registers of four codes of four atoms.
type tile struct {
	name    string
	queries int
	atoms   source
}

// vectors is the number of registers for a query's sums.
func (t tile) vectors() int { return sums / t.queries }

// bytes is the part of panelBytes that a tile takes.
func (t tile) bytes() int { return 16 * t.vectors() }

// General registers. cursors point at the next codes of up to eight queries.
const (
	atoms   = "R0"
	ahead   = "R1"
	left    = "R2"
	cursors = 3
	codes   = "R11"
	stride  = "R12"
	query   = "R13"
	groups  = "R14"
	at      = "R15" // the tile's place in panelBytes
	masks   = "R19"
	values  = "R20" // of all atoms
	value   = "R21" // of this tile
	keep    = "R22"
	address = "R23" // scratch address
	bits    = "R24"
)

// Vector registers. Sums come first, query after query.
const (
	codeV  neon.V = sums // each query's codes, then its factors
	termV  neon.V = 24   // the atoms' terms to multiply by
	spareV neon.V = 27
	biasV  neon.V = 31
)

// scan is the code of a tile being written.
type scan struct {
	*neon.File
	tile
}

func (s *scan) sum(i, j int) neon.V { return neon.V(i*s.vectors() + j) }

func (s *scan) value(i, j int) string { return fmt.Sprintf("%d(%s)", panelBytes*i+16*j, value) }

// emit writes the kernel. The sums of head codes are finished first; their term waits
// where the value will be.
func (s *scan) emit() {
	of := fmt.Sprintf("groups of %d", s.queries)
	if s.queries == 1 {
		of = "groups"
	}
	panel, doc := "panel *uint8, ahead int", "lines ahead bytes later are\nprefetched."
	switch s.atoms {
	case keeping:
		panel = "panel *uint8, keep *int64, ahead int"
		doc = "lines ahead bytes later are\nprefetched, and the panel's signed codes are kept for scanKeptNEON."
	case kept:
		panel, doc = "keep *int64", "their atoms are those that\nscanKeepingNEON kept."
	}
	s.Func(fmt.Sprintf("func %s(%s, head, width int, codes *int8, stride int, queries *float32, groups int, "+
		"heads, rests, radii, offsets *float32, masks *uint64, values *float32)", s.name, panel),
		fmt.Sprintf("%s is Scan for %s queries; %s\ngroups >= 1, offsets may be nil.", s.name, of, doc))
	if s.atoms != kept {
		s.Args("ahead " + ahead)
	}
	s.Args("codes "+codes, "stride "+stride, "queries "+query, "groups "+groups, "masks "+masks, "values "+values)
	group, next := s.Label("group"), s.Label("tile")
	s.At(group)
	s.Go("MOVD $0, %s", at)
	if s.atoms != biased {
		s.Args("keep " + keep)
	}
	s.At(next)
	s.begin()
	s.products("head")
	s.headTerm()
	s.products("width")
	v := s.otherTerms()
	s.store(v)
	s.mask(v)
	for i := range s.queries {
		size := s.vectors() / 2 // bytes
		s.Go("%s %s, %d(%s)", map[int]string{1: "MOVB", 2: "MOVH", 8: "MOVD"}[size], bits, 8*i, masks)
		if i < s.queries-1 {
			s.Go("LSR $%d, %s", 8*size, bits)
		}
	}
	s.Go("ADD $%d, %s", s.vectors()/2, masks)
	s.Go("ADD $%d, %s", s.bytes(), at)
	s.Go("CMP $%d, %s", panelBytes, at)
	s.Go("BNE %s", next)
	s.Go("ADD $%d, %s", 8*(s.queries-1), masks) // the tiles advanced by one query
	s.Go("ADD %s<<%d, %s", stride, mathbits.TrailingZeros(uint(s.queries)), codes)
	s.Go("ADD $%d, %s", s.queries*querySize, query)
	s.Go("ADD $%d, %s", s.queries*panelBytes, values)
	s.Go("SUBS $1, %s", groups)
	s.Go("BNE %s", group)
	s.Return()
}

// begin resets all codes to their beginning.
func (s *scan) begin() {
	if s.atoms != kept {
		s.Args("panel " + atoms)
		s.Go("ADD %s, %s", at, atoms)
	}
	s.Go("ADD %s, %s, %s", at, values, value)
	s.Go("MOVD %s, R%d", codes, cursors)
	for i := 1; i < s.queries; i++ {
		s.Go("ADD %s, R%d, R%d", stride, cursors+i-1, cursors+i)
	}
}

// products adds the products of the next codes, as many as param says, and advances.
func (s *scan) products(param string) {
	for v := range sums {
		s.Go("VMOVI $0, V%d.B16", v)
	}
	if s.atoms != kept {
		s.Go("VMOVI $128, V%d.B16", biasV)
	}
	sixteen, rest, four, done := s.Label("sixteen"), s.Label("rest"), s.Label("four"), s.Label("done")
	s.Args(param + " " + left)
	s.Go("SUBS $16, %s", left)
	s.Go("BLT %s", rest)
	s.At(sixteen)
	for i := range s.queries {
		s.Go("FMOVQ.P 16(R%d), F%d", cursors+i, codeV+neon.V(i))
	}
	s.steps(4)
	s.Go("SUBS $16, %s", left)
	s.Go("BGE %s", sixteen)
	s.At(rest)
	s.Go("ADDS $16, %s", left)
	s.Go("BEQ %s", done)
	s.At(four)
	for i := range s.queries {
		s.Go("FMOVS.P 4(R%d), F%d", cursors+i, codeV+neon.V(i))
	}
	s.steps(1)
	s.Go("SUBS $4, %s", left)
	s.Go("BNE %s", four)
	s.At(done)
}

// steps multiplies four codes n times, using n lanes of the queries' registers.
func (s *scan) steps(n int) {
	from, apart := atoms, panelBytes
	if s.atoms == kept {
		from, apart = keep, s.bytes()
	} else {
		s.Go("ADD %s, %s, %s", ahead, atoms, address)
	}
	pairs := int(biasV-codeV-neon.V(s.queries)) / 2 // register pairs for atoms
	for k := range n {
		if s.atoms != kept {
			for line := 0; line < s.bytes(); line += 64 {
				s.Go("PRFM %d(%s), PLDL2KEEP", apart*k+line, address)
			}
		}
		for j := 0; j < s.vectors(); j += 2 {
			a := codeV + neon.V(s.queries+2*((k*s.vectors()+j)/2%pairs))
			b := a + 1
			s.Go("FLDPQ %d(%s), (F%d, F%d)", apart*k+16*j, from, a, b)
			if s.atoms != kept {
				s.Bits("eor", a, a, biasV)
				s.Bits("eor", b, b, biasV)
			}
			if s.atoms == keeping {
				s.Go("FSTPQ (F%d, F%d), %d(%s)", a, b, s.bytes()*k+16*j, keep)
			}
			for i := range s.queries {
				s.DotLane("sdot", s.sum(i, j), a, codeV+neon.V(i), k)
				s.DotLane("sdot", s.sum(i, j+1), b, codeV+neon.V(i), k)
			}
		}
	}
	if s.atoms != kept {
		s.Go("ADD $%d, %s", panelBytes*n, atoms)
	}
	if s.atoms != biased {
		s.Go("ADD $%d, %s", s.bytes()*n, keep)
	}
}
