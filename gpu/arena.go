//go:build cuda && cgo

package gpu

import (
	"errors"
	"unsafe"

	"thresher/gpu/device"
)

// arena is memory for the lists of some queries: on the device or, while other queries are processed,
// page-locked memory of the host. It must be used within Do.
type arena struct {
	p    *device.Pool
	mem  *device.Buffer[uint8]
	host *device.Pinned[uint8] // if mem is nil
	m    int                   // number of lists
	room int                   // entries of a list, a multiple of 4
	at   struct {
		atom                   array[uint32]
		bound, estimate, extra array[float32]
	}
}

// entryBytes is the size of a list's entry.
const entryBytes = 12

// layOut computes the layout of m lists of room entries, followed by extra float32.
func (a *arena) layOut(m, room, extra int) (bytes int) {
	a.m, a.room = m, (room+3)&^3
	var mem arrayLayout
	a.at.atom, a.at.bound, a.at.estimate = place[uint32](&mem, m*a.room), place[float32](&mem, m*a.room), place[float32](&mem, m*a.room)
	a.at.extra = place[float32](&mem, extra)
	return int(mem)
}

// table returns the addresses of the lists, for kernels.
func (a *arena) table() lists {
	base := a.mem.Address()
	if a.mem == nil {
		base = a.host.Address()
	}
	return lists{atom: base + uint64(a.at.atom), bound: base + uint64(a.at.bound), estimate: base + uint64(a.at.estimate), room: uint32(a.room)}
}

// from returns the lists from list j on, for the queries from slot j on. The memory stays that of a.
func (a *arena) from(j int) *arena {
	part := *a
	at := &part.at
	at.atom, at.bound, at.estimate = array[uint32](at.atom.at(j*a.room)), array[float32](at.bound.at(j*a.room)), array[float32](at.estimate.at(j*a.room))
	return &part
}

// newArena allocates m lists followed by extra float32 on the device.
func newArena(q *queue, purpose string, m, room, extra int) (a *arena, err error) {
	a = &arena{p: &q.machine.pool}
	if a.mem, err = a.p.TakeDevice(q.t, purpose, a.layOut(m, room, extra)); err != nil {
		return nil, err
	}
	return a, nil
}

// newHostArena allocates m lists in host memory.
func newHostArena(t *device.Thread, p *device.Pool, m, room int) (a *arena, err error) {
	a = &arena{p: p}
	if a.host, err = p.TakePinned(t, "lists of waiting queries", a.layOut(m, room, 0)); err != nil {
		return nil, err
	}
	return a, nil
}

// largestArena is newArena for as many of m queries as there is memory for, at least one.
func largestArena(q *queue, m, room int) (*arena, error) {
	for {
		a, err := newArena(q, "lists of survivors", m, room, 0)
		if m <= 1 || !errors.Is(err, device.ErrMemory) {
			return a, err
		}
		m = (m + 1) / 2
	}
}

// listRoom returns how many entries there is room for in each list. It depends on the look, the collection
// and the device; on the other queries of a batch only if one wants more than maxListed/4 atoms.
func (x *run) listRoom(l *look) int {
	room := x.r.atoms
	if l.Rep.ForFirstLook() && l.MaxSurvivors > 0 {
		// twice the share that the look may keep, and atoms that pass before there is a threshold
		first := max(scanFirst, l.FirstChunk)
		if x.lookStarts(l) {
			first = max(first, x.r.m.startAtoms)
		}
		room = min(room, 2*first+int(2*l.MaxSurvivors*float64(x.r.c.N)))
	}
	room = min(room, max(4*scanFirst, 2*l.FirstChunk, int(x.r.stores.spare/2/(minLists*entryBytes))))
	if l.Rep.ForFirstLook() {
		most := 0
		for p := range x.queries {
			most = max(most, x.queries[p].goal.K)
		}
		room = min(room, max(maxListed, 2*l.FirstChunk, 4*most))
	}
	return room
}

// allocLists allocates the lists at the first look, and divides the queries into chunks of one kind whose lists
// fit the arena. If those of all queries do, each has its own.
func (x *run) allocLists(q *queue, l *look) (err error) {
	if x.lists != nil {
		return q.err
	}
	room := x.listRoom(l)
	if most := q.machine.maxListRoom; most > 0 {
		room = min(room, most)
	}
	m := x.input.M
	if most := q.machine.maxLists; most > 0 {
		m = min(m, most)
	}
	if x.lists, err = largestArena(q, m, room); err != nil {
		return err
	}
	for _, kind := range [...]queryChunk{{lo: 0, hi: x.starting}, {lo: x.starting, hi: x.deviceKept}, {lo: x.deviceKept, hi: x.input.M, collects: true}} {
		for lo := kind.lo; lo < kind.hi; lo += x.lists.m {
			x.chunks = append(x.chunks, x.newChunk(lo, min(lo+x.lists.m, kind.hi), kind.collects))
		}
	}
	x.swaps = x.lists.m < x.input.M
	if !x.swaps {
		for k := range x.chunks {
			x.chunks[k].lists = x.lists.from(x.chunks[k].lo)
		}
	}
	return q.err
}

// freeMemory releases the memory; no enqueued work may use it.
func (a *arena) freeMemory(t *device.Thread) error {
	if a == nil {
		return nil
	}
	err := errors.Join(a.p.ReturnDevice(t, a.mem), a.p.ReturnPinned(t, a.host))
	a.mem, a.host = nil, nil
	return err
}

// bytesOfSlice views elements as bytes.
func bytesOfSlice[T any](s []T) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(s))), int64(len(s))*device.Size[T]())
}
