//go:build cuda && cgo

package gpu

import (
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// threadAQuery is the shape of a kernel with one thread for each query.
func (qs *queryChunk) threadAQuery() device.Shape {
	return device.Shape{Grid: device.Dim{X: blocks(qs.m(), 256)}, Block: device.Dim{X: 256}}
}

// blockAQuery is the shape of a kernel with one block for each query.
func (qs *queryChunk) blockAQuery() device.Shape {
	return device.Shape{Grid: device.Dim{X: qs.m()}, Block: device.Dim{X: 256}}
}

// warpEach is the shape of a kernel with one warp for each of n queries.
func warpEach(n int) device.Shape {
	return device.Shape{Grid: device.Dim{X: blocks(n, 8)}, Block: device.Dim{X: 256}}
}

// blocksAQuery is the shape of a kernel with several blocks, of so many threads, for each query: four for
// each multiprocessor in all, and at most two for each multiprocessor for one query.
func (qs *queryChunk) blocksAQuery(q *queue, threads int) device.Shape {
	n := q.t.Device().Info().Multiprocessors
	y := max(1, min(2*n, 4*n/qs.m()))
	return device.Shape{Grid: device.Dim{X: qs.m(), Y: y}, Block: device.Dim{X: threads}}
}

// sharesWanted is the number of shares for each multiprocessor into which lists are divided, besides one
// for each list: a few times the number of warps that it runs at once.
const sharesWanted = 64

// wantedShares returns the number of shares of lists, besides one for each list, on q's device.
func wantedShares(q *queue) int { return sharesWanted * q.t.Device().Info().Multiprocessors }

// oneBlock is the shape of the kernels that divide lists into shares.
func oneBlock() device.Shape {
	return device.Shape{Grid: device.Dim{X: 1}, Block: device.Dim{X: 1024}}
}

// warpAShare is the shape of a kernel with a warp for each share of the lists of the chunk's queries, in
// blocks of 128 threads. Shares are counted on the device, and the warps that none is left for have
// nothing to do.
func (qs *queryChunk) warpAShare(q *queue) device.Shape {
	return device.Shape{Grid: device.Dim{X: blocks(wantedShares(q)+qs.m(), 4)}, Block: device.Dim{X: 128}}
}

// threadsFor is the shape of blocks that process the n pieces of a query: whole warps, at most 256
// threads. It depends only on the collection, and so does the order of additions.
func threadsFor(n int) device.Dim { return device.Dim{X: 32 * max(1, min(8, blocks(n, 32)))} }

// scanShape returns how many of m queries a block of the scan processes, and its bytes of shared
// memory, by the formulas of scan.cu and scan_rows.cu.
func scanShape(q *queue, c *collection.Collection, m, width int) (tile, shared int) {
	if width > c.PanelWidth { // blocks process 32 queries or 128
		if tile = min(128, (m+7)&^7); tile <= 32 {
			return tile, 320*32 + 42560
		}
		return tile, 320*128 + 42560
	}
	wide := 32*((c.R+31)/32+(width+31)/32) + 16
	fixed, all, info := 256*wide+12288, min(scanTile, (m+7)&^7), q.t.Device().Info()
	fitting := func(most int) int {
		n := all
		for n > 8 && n*(wide+80)+fixed > most {
			n = (n/2 + 7) &^ 7
		}
		return n
	}
	// Two blocks on a multiprocessor, which reserves a KB for each, hide more latency than one; each
	// should have 64 queries, though.
	if tile = fitting(info.SharedPerSM/2 - 1024); tile < min(64, all) {
		tile = fitting(info.SharedPerBlock)
	}
	tile = (blocks(m, blocks(m, tile)) + 7) &^ 7 // tiles of nearly equal size
	return tile, tile*(wide+80) + fixed
}

// scanRowsShape is scanShape for scan_rows.cu.
func scanRowsShape(m int) (tile, shared int) {
	tile, wide := min(128, (m+7)&^7), 32
	if tile > 32 {
		wide = 128
	}
	return tile, 320*wide + 42560
}

// scanGrid is the shape of a scan of atoms lo to hi-1 for m queries in tiles: two blocks for each
// multiprocessor, as many as are resident.
func scanGrid(q *queue, m, lo, hi, tile, shared int) device.Shape {
	y := blocks(m, tile)
	x := min(blocks(hi-lo, 256), max(1, 2*q.t.Device().Info().Multiprocessors/y))
	return device.Shape{Grid: device.Dim{X: x, Y: y}, Block: device.Dim{X: 256}, Shared: shared}
}

// denseShape is the shape of the products of rows lo to hi-1 with m queries.
func denseShape(m, lo, hi int) device.Shape {
	return device.Shape{Grid: device.Dim{X: blocks(hi-lo, denseTile), Y: blocks(m, denseTile)}, Block: device.Dim{X: 256}, Shared: denseShared}
}

// launchAtoms returns the number of atoms of one launch, in whole strips.
func (qs *queryChunk) launchAtoms() int {
	return max(1, qs.b.r.m.maxPairs/qs.m()/looks.StripAtoms) * looks.StripAtoms
}

// blocks returns the number of blocks of size that n things need.
func blocks(n, size int) int { return (n + size - 1) / size }
