//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"runtime"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
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

// stride returns the number of codes of an atom.
func (m *mixedCodes) stride() int { return m.width() + backend.MixedTerms }

// mixedStage is what becomes of the mixed codes for looks at a stage. It is used within Do, and codes only after done.
type mixedStage struct {
	done     chan struct{} // closed when the host has computed the codes, or has stopped because the resident is closed
	codes    *looks.Mixed  // nil if the collection can have none, and once they are on the device or refused
	onDevice *mixedCodes   // nil if they are not
}

// mixedOf returns the mixed codes for look t. The first such look has the host compute them, on half of the cores and beside further searches;
// until they are on the device, and if there is no room for them, they are nil, and looks are taken at panels.
func (r *resident) mixedOf(ctx context.Context, q *queue, t *looks.Compiled) (*mixedCodes, error) {
	s := r.mixed[t.Stage]
	switch {
	case s == nil && (r.closed.Load() || t.MixedWidth(r.c) == 0 || !r.hasRoomForMixed(q, t)):
		return nil, nil
	case s == nil:
		s = &mixedStage{done: make(chan struct{})}
		r.mixed[t.Stage] = s
		r.mixing.Go(func() {
			defer close(s.done)
			// The only error is that of life, which ends with the resident.
			s.codes, _ = t.Mix(r.life, r.c, r.whole, r.first, max(1, runtime.GOMAXPROCS(0)/2))
		})
	case s.onDevice != nil:
		return s.onDevice, nil
	}
	if wait := r.m.awaitMixed; wait != nil {
		if err := wait(ctx, s.done); err != nil {
			return nil, err
		}
	}
	select {
	case <-s.done:
	default:
		return nil, nil
	}
	if s.codes == nil || !r.hasRoomForMixed(q, t) {
		return nil, nil
	}
	mark := len(r.stores.held)
	m, err := r.uploadMixed(q.t, t, s.codes)
	if err != nil {
		err = errors.Join(err, r.stores.freeFrom(q.t, mark))
		if errors.Is(err, device.ErrMemory) {
			s.codes = nil
			r.m.log.Warn("no memory for mixed codes; looks are taken at panels", "codes", m.stride(), "error", err)
			return nil, nil
		}
		return nil, err
	}
	s.codes, s.onDevice = nil, m
	r.m.log.Info("mixed codes on the device", "atoms", r.c.N, "codes", m.stride())
	return m, nil
}

// hasRoomForMixed reports whether the mixed codes for look t leave enough memory for searches, and logs once if they do not.
func (r *resident) hasRoomForMixed(q *queue, t *looks.Compiled) bool {
	u, need := q.t.Device().Usage(), int64(r.atoms+mixedSpare)*int64(t.MixedWidth(r.c)+backend.MixedTerms+4)
	has := u.Used-q.machine.pool.DeviceBytes()+need+r.stores.spare <= u.Budget
	if !has && !r.mixedRefused {
		r.mixedRefused = true
		r.m.log.Warn("no room for mixed codes; looks are taken at panels", "codes", device.FormatBytes(need), "used", device.FormatBytes(u.Used),
			"budget", device.FormatBytes(u.Budget), "kept for searches", device.FormatBytes(r.stores.spare))
	}
	return has
}

// uploadMixed uploads mixed codes.
func (r *resident) uploadMixed(t *device.Thread, l *looks.Compiled, codes *looks.Mixed) (m *mixedCodes, err error) {
	m = &mixedCodes{mixing: mixing{limit: codes.Limit, norms: codes.Norms, slack: codes.Slack, codeSlack: l.CodeSlack, rest: codes.Rest,
		r: int32(r.c.R), to: int32(l.To), width: int32(codes.Width)}}
	ctx := context.Background() // a part of the codes is of no use to a search whose context ends
	if m.matrix, err = copyToDevice(ctx, t, &r.stores, "matrix of mixed codes", codes.Matrix); err != nil {
		return m, err
	}
	if m.steps, err = copyToDevice(ctx, t, &r.stores, "steps of mixed codes", codes.Step); err != nil {
		return m, err
	}
	all, stride := r.atoms+mixedSpare, m.stride()
	if m.slab, err = allocOnDevice[uint8](t, &r.stores, "mixed codes", all*stride); err != nil {
		return m, err
	}
	const chunk = 32 * looks.StripAtoms
	part := make([]uint8, min(chunk, all)*stride)
	for lo := 0; lo < all; lo += chunk {
		hi := min(lo+chunk, all)
		fillMixed(part[:(hi-lo)*stride], codes, lo)
		if err := m.slab.Upload(t, lo*stride, part[:(hi-lo)*stride]); err != nil {
			return m, err
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
	if m.width() > maxNarrow {
		q.scanMixedWide(shape, scanMixedWideArgs{slab: slab, steps: steps, lo: uint32(lo), hi: uint32(hi), codes: codes,
			queries: qs.states(), m: qs.m(), tile: tile, mask: w.mask, value: w.value, lists: qs.lists.table()})
		return
	}
	q.scanMixed(shape, scanMixedArgs{slab: slab, steps: steps, W: m.width(), lo: uint32(lo), hi: uint32(hi), codes: codes,
		queries: qs.states(), m: qs.m(), tile: tile, mask: w.mask, value: w.value, lists: qs.lists.table()})
}

// maxNarrow is the greatest width of scan_mixed.
const maxNarrow = 128

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
