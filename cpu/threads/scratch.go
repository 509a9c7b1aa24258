package threads

import "thresher/cpu/topk"

// Scratch is the memory of one goroutine. Slices grow as needed and are reused; their
// contents are undefined between uses.
type Scratch struct {
	unchecked int // pairs computed since the last check of the context (Spend)

	Scores []float64
	IDs    []uint32
	Sorter topk.Sorter

	rooms []any // what rooms keep besides, one pointer of a type
}

// Memory returns what the goroutine keeps of type T for a room; the first time it is zero.
func Memory[T any](s *Scratch) *T {
	for _, m := range s.rooms {
		if t, ok := m.(*T); ok {
			return t
		}
	}
	t := new(T)
	s.rooms = append(s.rooms, t)
	return t
}
