package main

import (
	"fmt"

	"thresher/simd/_generate/neon"
)

// A tile is up to 6 rows of 4 vectors of sums, which stay in registers for all of k:
// every sum is one chain of fused multiply-adds in the order of c, for any tile height.
// 24 sums keep four units of latency four busy. Of the other registers, 6 hold four
// entries of a row each, which multiply-adds take by lane, and 2 stream the panel: four
// steps are 14 loads for 96 multiply-adds.
const (
	vectors = 4 // vectors of a panel's step: 16 columns
	held    = 4 // entries of a row in a register: steps of a round
	entries = neon.V(24)
	columns = neon.V(30) // and 31
)

// heights of tiles: the first is used while it fits, the others for the remainder.
var heights = []int{6, 4, 2, 1}

// General registers, from "at" on for the current tile.
const (
	out, ldo  = "R0", "R1"
	rows, ldr = "R2", "R3" // of the next tile
	n         = "R4"
	ldp, k    = "R5", "R6"
	add       = "R8"
	at        = "R9" // place in the panel
	steps     = "R10"
)

// Numbers of general registers: the place in the tile's first row, and the distance from
// a tile's rows to the next tile's.
const first, ahead = 19, 7

// row returns the register that points into the tile's row r.
func row(r int) string { return fmt.Sprint("R", first+r) }

func sum(r, j int) neon.V { return neon.V(vectors*r + j) }

func multiply(f *neon.File) {
	f.Func("func gemm16NEON(out *float32, ldo int, rows *float32, ldr, n int, panel *float32, ldp, k int, add bool)",
		"gemm16NEON multiplies n rows by 16 columns of a panel.")
	f.Args("out "+out, "ldo "+ldo, "rows "+rows, "ldr "+ldr, "n "+n, "ldp "+ldp, "k "+k, "add "+add)
	bytes(f, ldo, ldr, ldp)
	f.Go("MOVD $%d, R%d", heights[0], ahead)
	f.Go("MUL %s, R%d, R%d", ldr, ahead, ahead)
	for i, height := range heights {
		again, fewer := f.Label("rows"), f.Label("fewer")
		f.At(again)
		f.Go("CMP $%d, %s", height, n)
		f.Go("BLT %s", fewer)
		f.Go("SUB $%d, %s, %s", height, n, n)
		tile(f, height, i == 0)
		if i == 0 {
			f.Go("B %s", again)
		}
		f.At(fewer)
	}
	f.Return()
}

// tile multiplies the next rows. With more set it prefetches as many rows behind them
// into the level-2 cache.
func tile(f *neon.File, height int, more bool) {
	few, many, one, last, store := f.Label("few"), f.Label("many"), f.Label("one"), f.Label("last"), f.Label("store")
	for r := range height {
		f.Go("MOVD %s, %s", rows, row(r))
		f.Go("ADD %s, %s, %s", ldr, rows, rows)
		for j := range vectors {
			v := sum(r, j)
			f.Go("VEOR V%d.B16, V%d.B16, V%d.B16", v, v, v)
		}
	}
	f.Args("panel " + at)
	f.Go("MOVD %s, %s", k, steps)

	f.Go("SUBS $%d, %s, %s", held, steps, steps)
	f.Go("BLT %s", few)
	f.At(many)
	for r := range height {
		f.Go("FMOVQ.P %d(%s), F%d", 4*held, row(r), entries+neon.V(r))
	}
	for i := range held {
		// Loads are spread, so that multiply-adds are ready while one is pending.
		step(f, height, i)
		for r := i; more && r < height; r += held {
			f.Prefetch(2, uint32(first+r), ahead)
		}
	}
	f.Go("SUBS $%d, %s, %s", held, steps, steps)
	f.Go("BGE %s", many)
	f.At(few)
	f.Go("ADDS $%d, %s, %s", held, steps, steps)
	f.Go("BEQ %s", last)
	f.At(one)
	for r := range height {
		f.Go("FMOVS.P 4(%s), F%d", row(r), entries+neon.V(r))
	}
	step(f, height, 0)
	f.Go("SUBS $1, %s, %s", steps, steps)
	f.Go("BNE %s", one)

	f.At(last)
	f.Go("CBZ %s, %s", add, store)
	f.Go("MOVD %s, %s", out, at)
	for r := range height {
		for j := 0; j < vectors; j += 2 {
			f.Go("FLDPQ %d(%s), (F%d, F%d)", 16*j, at, columns, columns+1)
			for i := range 2 {
				v := sum(r, j+i)
				f.Same("fadd", neon.S4, v, v, columns+neon.V(i))
			}
		}
		f.Go("ADD %s, %s, %s", ldo, at, at)
	}
	f.At(store)
	for r := range height {
		for j := 0; j < vectors; j += 2 {
			f.Go("FSTPQ (F%d, F%d), %d(%s)", sum(r, j), sum(r, j+1), 16*j, out)
		}
		f.Go("ADD %s, %s, %s", ldo, out, out)
	}
}

// step multiplies the rows' entries in a lane by the panel's next step and adds the
// products to the sums.
func step(f *neon.File, height, lane int) {
	for j := 0; j < vectors; j += 2 {
		f.Go("FLDPQ %d(%s), (F%d, F%d)", 16*j, at, columns, columns+1)
		for r := range height {
			for i := range 2 {
				f.Lane("fmla", neon.S4, sum(r, j+i), columns+neon.V(i), entries+neon.V(r), lane)
			}
		}
	}
	f.Go("ADD %s, %s, %s", ldp, at, at)
}
