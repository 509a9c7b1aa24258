//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"time"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/device"
)

// This file is what looks at mixed codes need besides those at panels.

const (
	// mixedTile is the number of atoms whose codes lie together in the slab of mixed codes, mixedPart that of codes.
	mixedTile, mixedPart = 16, 32
	// mixedSpare is the number of atoms behind the last strip that scans may read: a warp's.
	mixedSpare = 64
)

// mixedCodes are the mixed codes of a collection for looks at a stage, and what queries are coded by.
type mixedCodes struct {
	slab   *device.Buffer[uint8]   // [atoms/mixedTile][width/mixedPart + 1][32][16], kernels/scan_mixed.cu
	steps  *device.Buffer[float32] // [atoms]
	matrix *device.Buffer[float32] // [width][width]
	mixing mixing
}

// width returns the number of codes of an atom, without those of its terms.
func (m *mixedCodes) width() int { return int(m.mixing.width) }

// mixedOf returns the mixed codes for look t, which are computed at the first such look and stay on the device. They are nil if the
// collection can have none, or if there is too little memory for them now; then the look is taken at panels.
func (r *resident) mixedOf(ctx context.Context, q *queue, t *looks.Compiled) (*mixedCodes, error) {
	if m, ok := r.mixed[t.Stage]; ok {
		return m, nil
	}
	width := t.MixedWidth(r.c)
	need := int64(r.atoms+mixedSpare) * int64(width+backend.MixedTerms+4)
	if u := q.t.Device().Usage(); width > 0 && u.Used-q.machine.pool.DeviceBytes()+need+r.stores.spare > u.Budget {
		return nil, nil
	}
	begun := time.Now()
	codes, err := t.Mix(ctx, r.c, r.whole, r.first)
	if err != nil {
		return nil, err
	}
	mark := len(r.stores.held)
	m, err := r.uploadMixed(ctx, q.t, t, codes)
	if err != nil {
		return nil, errors.Join(err, r.stores.freeFrom(q.t, mark))
	}
	r.mixed[t.Stage] = m
	if m != nil {
		r.m.log.Info("mixed codes made", "atoms", r.c.N, "codes", width+backend.MixedTerms, "seconds", time.Since(begun).Seconds())
	}
	return m, nil
}

// uploadMixed uploads mixed codes; nil if they are.
func (r *resident) uploadMixed(ctx context.Context, t *device.Thread, l *looks.Compiled, codes *looks.Mixed) (m *mixedCodes, err error) {
	if codes == nil {
		return nil, nil
	}
	m = &mixedCodes{mixing: mixing{limit: codes.Limit, norms: codes.Norms, slack: codes.Slack, codeSlack: l.CodeSlack, rest: codes.Rest,
		r: int32(r.c.R), to: int32(l.To), width: int32(codes.Width)}}
	if m.matrix, err = copyToDevice(ctx, t, &r.stores, "matrix of mixed codes", codes.Matrix); err != nil {
		return nil, err
	}
	if m.steps, err = copyToDevice(ctx, t, &r.stores, "steps of mixed codes", codes.Step); err != nil {
		return nil, err
	}
	all, stride := r.atoms+mixedSpare, codes.Width+backend.MixedTerms
	if m.slab, err = allocOnDevice[uint8](t, &r.stores, "mixed codes", all*stride); err != nil {
		return nil, err
	}
	const chunk = 32 * looks.StripAtoms
	part := make([]uint8, min(chunk, all)*stride)
	for lo := 0; lo < all; lo += chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hi := min(lo+chunk, all)
		fillMixed(part[:(hi-lo)*stride], codes, lo)
		if err := m.slab.Upload(t, lo*stride, part[:(hi-lo)*stride]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// fillMixed sets slab to the codes of the atoms from lo on, the first of a tile, in the order in which the lanes of a warp multiply them.
// Atoms that do not exist have sums that are negative.
func fillMixed(slab []uint8, codes *looks.Mixed, lo int) {
	clear(slab)
	stride := codes.Width + backend.MixedTerms
	for i := range len(slab) / stride {
		tile := slab[i/mixedTile*mixedTile*stride:]
		row := i % mixedTile
		if lo+i >= len(codes.Step) {
			tile[mixedPlace(row, stride-1)] = 256 - looks.ChargeUnit
			continue
		}
		for k, code := range codes.Codes[(lo+i)*stride : (lo+i+1)*stride] {
			tile[mixedPlace(row, k)] = uint8(code)
		}
	}
}

// mixedPlace is where code k of an atom of a tile is: lane 4g + t has in its 16 bytes the words t of atoms g and g + 8, and the words
// t + 4 of both, of the eight words of a part.
func mixedPlace(atom, k int) int {
	part, word, byte := k/mixedPart, k%mixedPart/4, k%4
	lane, piece := atom%8*4+word%4, atom/8+word/4*2
	return part*32*16 + lane*16 + piece*4 + byte
}

// mixQueries computes z of the queries, if the look is at mixed codes.
func (x *run) mixQueries(q *queue, qs *queryChunk, l *look) {
	if l.mixed == nil {
		return
	}
	q.mixQueries(device.Shape{Grid: device.Dim{X: blocks(qs.m(), 8)}, Block: device.Dim{X: l.mixed.width()}}, mixQueriesArgs{
		head: partOf(qs, x.b.at.head, x.r.c.R), rest: partOf(qs, x.b.at.rest, x.r.c.D), matrix: device.Ptr(l.mixed.matrix),
		z: partOf(qs, x.b.at.z, backend.MixedMost), m: qs.m(), D: x.r.c.D, mixing: l.mixed.mixing,
	})
}

// encodeMixed codes the queries for their present thresholds, if the look is at mixed codes.
func (x *run) encodeMixed(q *queue, qs *queryChunk, l *look) {
	if l.mixed == nil {
		return
	}
	q.mixedCodes(warpEach(qs.m()), mixedCodesArgs{
		z: partOf(qs, x.b.at.z, backend.MixedMost), codes: partOf(qs, x.b.at.mixed, backend.MixedMost+backend.MixedTerms), queries: qs.states(), m: qs.m(), mixing: l.mixed.mixing,
	})
}

// scanMixedCodes enqueues the scan of atoms lo to hi-1 for the queries that w selects, which have mixed codes.
func (x *run) scanMixedCodes(q *queue, qs *queryChunk, l *look, w selector, lo, hi int) {
	m := l.mixed
	tile, shared := mixedShape(q, qs.m(), m.width())
	shape := mixedGrid(q, qs.m(), lo, hi, tile, shared)
	slab, steps := device.View[[4]uint32](m.slab, 0), device.Ptr(m.steps)
	codes := partOf(qs, x.b.at.mixed, backend.MixedMost+backend.MixedTerms)
	if m.width() > mostNarrow {
		q.scanMixedWide(shape, scanMixedWideArgs{slab: slab, steps: steps, lo: uint32(lo), hi: uint32(hi), codes: codes,
			queries: qs.states(), m: qs.m(), tile: tile, mask: w.mask, value: w.value, lists: qs.lists.table()})
		return
	}
	q.scanMixed(shape, scanMixedArgs{slab: slab, steps: steps, W: m.width(), lo: uint32(lo), hi: uint32(hi), codes: codes,
		queries: qs.states(), m: qs.m(), tile: tile, mask: w.mask, value: w.value, lists: qs.lists.table()})
}

// mostNarrow is the greatest width of scan_mixed.
const mostNarrow = 128

// mixedShape returns how many of m queries a block of the scan at mixed codes processes, and its bytes of shared memory, by the formula
// of scan_mixed.cu: as many as let two blocks run on a multiprocessor, up to scanTile.
func mixedShape(q *queue, m, width int) (tile, shared int) {
	const fixed = 3136
	query, info := width+52, q.t.Device().Info()
	tile = min(scanTile, (m+7)&^7)
	for tile > 8 && tile*query+fixed > min(info.SharedPerBlock, info.SharedPerSM/2-1024) {
		tile = (tile/2 + 7) &^ 7
	}
	tile = (blocks(m, blocks(m, tile)) + 7) &^ 7 // tiles of nearly equal size
	return tile, tile*query + fixed
}

// mixedGrid is the shape of a scan of atoms lo to hi-1 at mixed codes: two blocks for each multiprocessor.
func mixedGrid(q *queue, m, lo, hi, tile, shared int) device.Shape {
	y := blocks(m, tile)
	x := min(blocks(hi-lo, looks.StripAtoms), max(1, 2*q.t.Device().Info().Multiprocessors/y))
	return device.Shape{Grid: device.Dim{X: x, Y: y}, Block: device.Dim{X: 256}, Shared: shared}
}

// mayMix reports whether queries over c may have mixed codes, for which a batch has room.
func mayMix(c *collection.Collection) bool { return c.Coded() && c.Offset == nil }
