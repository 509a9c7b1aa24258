//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// Loading a collection leaves one sparePart-th of the device's budget free for runs, or what the least
// search needs if that is more.
const sparePart = 8

// searchBytes returns the bytes that the least search needs: the terms of three looks and of the dense
// path, and minLists queries with their lists.
func searchBytes(c *collection.Collection, atoms int) int64 {
	terms := int64(atoms) * (device.Size[looks.Side]() + 16)
	if c.Coded() {
		terms += int64(atoms) * 16 * int64(min(3, len(c.Stages)))
	}
	query := device.Size[query]() + int64(12*c.Dim+8*c.D+4*c.R+3*(c.R+c.D)) + 28*minCandidates
	if mayMix(c) {
		query += 4*backend.MixedMost + backend.MixedMost + backend.MixedTerms
	}
	if c.N >= startLeast {
		query += int64(4 * (productWidth(c) + 1))
	}
	return terms + minLists*(query+entryBytes*int64(min(atoms, 4*scanFirst)))
}

// resident is a collection on one device. Its device memory must be used within Do.
type resident struct {
	m       *machine
	c       *collection.Collection
	whole   *collection.Collection // c, or what it is a part of: its atoms are those of whole from first on
	first   int
	atoms   int // c.N rounded up to whole strips
	closed  atomic.Bool
	life    context.Context // ends with Close
	endLife context.CancelFunc
	mixing  sync.WaitGroup // the goroutines that compute mixed codes
	// mixedRefused is set if mixed codes were refused for lack of memory.
	mixedRefused bool
	stores       stores
	queries      sync.Pool // of *hostQueries, of runs that have ended
	looks        *looks.Set
	arrays       map[*float32]*device.Buffer[float32] // atoms' terms, by the address of the collection's slice
	terms        map[termsKey]terms
	mixed        map[int]*mixedStage // by stage; none before a look at it asks for mixed codes

	order        *device.Buffer[uint32]  // row of an atom
	rowSquare    *device.Buffer[float64] // |v|^2 by row; cosine only
	centre       *device.Buffer[float64] // [Dim]; Euclidean distance only, if the collection has one
	norm, offset *device.Buffer[float32] // of atoms; offset for Euclidean distance only
	rows         *store[float32]         // [N][Dim] by row
	dense        *denseTerms             // nil until the first dense scan
	start        *startRows              // nil if searches have no start

	// Coded collections only:
	stride   int                                      // bytes of an atom in the slab: head and panel, rounded up to parts
	slab     *device.Buffer[int8]                     // [atoms/StripAtoms][stride/slabPart][StripAtoms][slabPart]
	codes    *store[uint8]                            // [N][R+D]
	own      map[backend.Representation]*store[uint8] // [N][Stride] of stages with rows of their own
	rotation *rotation
}

// loadResident copies c to the device of m.
func loadResident(ctx context.Context, m *machine, c *collection.Collection) (*resident, error) {
	r := &resident{m: m, c: c, whole: c, atoms: (c.N + looks.StripAtoms - 1) / looks.StripAtoms * looks.StripAtoms,
		looks: looks.NewSet(c), own: map[backend.Representation]*store[uint8]{}, arrays: map[*float32]*device.Buffer[float32]{}, terms: map[termsKey]terms{}, mixed: map[int]*mixedStage{}}
	r.life, r.endLife = context.WithCancel(context.Background())
	err := m.onThread(ctx, func(t *device.Thread) error {
		if err := m.pool.FreeAll(t); err != nil { // memory kept for runs must not push the collection to host memory
			return err
		}
		r.stores = stores{pool: &m.pool, spare: max(t.Device().Usage().Budget/sparePart, searchBytes(c, r.atoms)), host: m.maxHost}
		err := r.copyCollection(ctx, t)
		if err != nil {
			err = errors.Join(err, r.stores.freeAll(t))
		}
		return err
	})
	if err != nil {
		r.endLife()
		return nil, err
	}
	if log := m.log.With("atoms", c.N, "dimension", c.Dim, "rows", r.rows.location()); c.Coded() {
		for rep, rows := range r.own {
			log = log.With(rep.String(), rows.location())
		}
		log.Info("collection loaded", "codes", r.codes.location())
	} else {
		log.Info("collection loaded")
	}
	return r, nil
}

// copyCollection allocates and copies: first what every search needs, then the arrays that may go to
// host memory, in the order of what a look would lose by reading them over the bus.
func (r *resident) copyCollection(ctx context.Context, t *device.Thread) (err error) {
	c := r.c
	if r.order, err = copyToDevice(ctx, t, &r.stores, "order of rows", c.Order); err != nil {
		return err
	}
	for _, terms := range [][]float32{c.Norm, c.Offset, c.HeadScale, c.HeadNorm, c.HeadErr} {
		if _, err := r.uploadAtomTerms(ctx, t, terms); err != nil {
			return err
		}
	}
	r.norm = r.arrays[&c.Norm[0]]
	if c.Offset != nil {
		r.offset = r.arrays[&c.Offset[0]]
	}
	if c.RowSquares != nil {
		if r.rowSquare, err = copyToDevice(ctx, t, &r.stores, "squared norms of rows", c.RowSquares); err != nil {
			return err
		}
	}
	if c.Centre != nil {
		if r.centre, err = copyToDevice(ctx, t, &r.stores, "centre", c.Centre); err != nil {
			return err
		}
	}
	if c.Coded() {
		if err = r.copyStart(ctx, t); err != nil {
			return err
		}
		if err = r.copyCodes(ctx, t); err != nil {
			return err
		}
	}
	if r.rows, err = allocNear[float32](t, &r.stores, "float32 rows", c.N*c.Dim); err != nil {
		return err
	}
	if u, need := t.Device().Usage(), searchBytes(c, r.atoms); u.Budget-u.Used < need {
		return fmt.Errorf("gpu: %w: %s of a budget of %s are in use, and searches take %s", backend.ErrMemory, device.FormatBytes(u.Used), device.FormatBytes(u.Budget), device.FormatBytes(need))
	}
	return r.copyRows(ctx, t)
}

// copyRows copies the rows in float32, which holds all values of the types in which collections keep them.
func (r *resident) copyRows(ctx context.Context, t *device.Thread) error {
	c := r.c
	if c.Rows != nil {
		return r.rows.copyFrom(ctx, t, 0, c.Rows)
	}
	const most = 1 << 22 // coordinates that are converted at a time
	part := make([]float32, min(most, c.N*c.Dim))
	for at := 0; at < c.N*c.Dim; at += len(part) {
		part = part[:min(len(part), c.N*c.Dim-at)]
		c.Read(part, at)
		if err := r.rows.copyFrom(ctx, t, at, part); err != nil {
			return err
		}
	}
	return nil
}

// copyCodes copies the rotation, the slab, the rows of stages that have their own, and the rows of codes.
func (r *resident) copyCodes(ctx context.Context, t *device.Thread) (err error) {
	c := r.c
	if r.rotation, err = uploadRotation(t, &r.stores, c); err != nil {
		return err
	}
	if err = r.copySlab(ctx, t); err != nil {
		return err
	}
	for k := range c.Stages {
		if rows := c.Stages[k].Rows; rows != nil {
			rep := backend.LaterLook(&c.Stages[k])
			if r.own[rep], err = allocNear[uint8](t, &r.stores, rep.String(), len(rows)); err != nil {
				return err
			}
			if err = r.own[rep].copyFrom(ctx, t, 0, rows); err != nil {
				return err
			}
		}
	}
	if r.codes, err = allocNear[uint8](t, &r.stores, "rows of codes", len(c.Codes)); err != nil {
		return err
	}
	if err = r.codes.copyFrom(ctx, t, 0, c.Codes); err != nil {
		return err
	}
	return nil
}

// slabPart is the number of codes that lie together in the slab: a memory sector.
const slabPart = 32

// copySlab makes the slab that the scan reads: of each strip the codes of its atoms, part after part, each with those of all
// atoms, so that a look reads whole lines whatever its width.
func (r *resident) copySlab(ctx context.Context, t *device.Thread) (err error) {
	c := r.c
	r.stride = (c.R + c.PanelWidth + slabPart - 1) / slabPart * slabPart
	if r.slab, err = allocOnDevice[int8](t, &r.stores, "slab", r.atoms*r.stride); err != nil {
		return err
	}
	const chunk = 32 * looks.StripAtoms
	part := make([]int8, min(chunk, r.atoms)*r.stride)
	for lo := 0; lo < r.atoms; lo += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+chunk, r.atoms)
		for at := lo; at < hi; at += looks.StripAtoms {
			fillStrip(part[(at-lo)*r.stride:(at-lo+looks.StripAtoms)*r.stride], c, at)
		}
		if err := r.slab.Upload(t, lo*r.stride, part[:(hi-lo)*r.stride]); err != nil {
			return err
		}
	}
	return nil
}

// fillStrip sets strip to the signed codes of the strip that begins at atom lo: of the head and of as many rest coordinates as
// panels hold. What no atom has is zero.
func fillStrip(strip []int8, c *collection.Collection, lo int) {
	clear(strip)
	for i := lo; i < min(lo+looks.StripAtoms, c.N); i++ {
		codes := c.Code(i)[:c.R+c.PanelWidth]
		for from := 0; from < len(codes); from += slabPart {
			to := strip[from*looks.StripAtoms+(i-lo)*slabPart:]
			for j, code := range codes[from:min(from+slabPart, len(codes))] {
				to[j] = int8(code ^ 0x80)
			}
		}
	}
}

// Begin starts a batch.
func (r *resident) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	if r.closed.Load() {
		return nil, backend.ErrClosed
	}
	if q.Dim != r.c.Dim || len(q.Data) != q.M*q.Dim || len(goals) != q.M {
		return nil, fmt.Errorf("%d goals and %d values for %d queries of dimension %d over a collection of dimension %d",
			len(goals), len(q.Data), q.M, q.Dim, r.c.Dim)
	}
	x, err := beginRun(ctx, r, q, goals)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Close frees the copy on the device.
func (r *resident) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	r.endLife()
	err := r.m.onThread(context.Background(), r.stores.freeAll) // no run begins to compute mixed codes after that
	r.mixing.Wait()
	if errors.Is(err, device.ErrLost) {
		return nil // the memory is gone
	}
	return err
}

// normCap returns looks.Cap for all atoms from lo on, the first atom of a panel.
func (r *resident) normCap(norm float64, lo int) float64 {
	return looks.Cap(r.c, norm, lo/collection.PanelAtoms)
}
