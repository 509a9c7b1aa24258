//go:build cuda && cgo

package gpu

import (
	"errors"
	"unsafe"

	"thresher/backend"
)

// arena is device memory for the lists of some queries. It is used on the
// device's thread alone.
type arena struct {
	p    *pool
	mem  *Buffer[uint8]
	m    int // lists
	room int // entries of a list, a multiple of 4
	at   struct{ table, atom, bound, estimate, extra int }
}

// entryBytes is what an entry of a list takes.
const entryBytes = 12

// newArena allocates m lists and extra bytes beside them.
func newArena(t *Thread, p *pool, purpose string, m, room, extra int) (*arena, error) {
	a := &arena{p: p, m: m, room: (room + 3) &^ 3}
	var mem cutter
	a.at.table = mem.take(1, int(unsafe.Sizeof(lists{})))
	a.at.atom, a.at.bound, a.at.estimate = mem.take(m*a.room, 4), mem.take(m*a.room, 4), mem.take(m*a.room, 4)
	a.at.extra = mem.take(extra, 1)
	var err error
	if a.mem, err = p.take(t, purpose, int(mem)); err != nil {
		return nil, err
	}
	base := uint64(a.mem.ptr)
	table := lists{atom: base + uint64(a.at.atom), bound: base + uint64(a.at.bound), estimate: base + uint64(a.at.estimate), room: uint32(a.room)}
	if err := a.mem.Upload(t, a.at.table, bytesOf(&table)); err != nil {
		return nil, errors.Join(err, a.free(t))
	}
	return a, nil
}

// largestArena is newArena for as many of m queries as there is memory for, at
// least one.
func largestArena(t *Thread, p *pool, m, room int) (*arena, error) {
	for {
		a, err := newArena(t, p, "lists of survivors", m, room, 0)
		if m == 1 || !errors.Is(err, backend.ErrMemory) {
			return a, err
		}
		m = (m + 1) / 2
	}
}

// table is what kernels take.
func (a *arena) table() Arg { return PtrAt(a.mem, a.at.table) }

// free gives the memory back; nothing enqueued may use it.
func (a *arena) free(t *Thread) error {
	if a == nil || a.mem == nil {
		return nil
	}
	err := a.p.give(t, a.mem)
	a.mem = nil
	return err
}

func bytesOf[S any](s *S) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(s)), unsafe.Sizeof(*s))
}

func bytesOfSlice[T any](s []T) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(s))), int64(len(s))*size[T]())
}
