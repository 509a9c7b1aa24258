package batch

import (
	"sync"
	"time"

	"thresher/backend"
	"thresher/simd"
)

// refusalAge is for how long panels of signs for which no memory was spare are not asked for again.
const refusalAge = time.Second

// signMemory is what is known of the panels of signs that an engine's first looks read. The backend makes them when a look first
// reads them, and keeps them.
type signMemory struct {
	mu      sync.Mutex
	granted map[int]bool // widths for which there was memory: whether their panels are made
	refused time.Time    // when there was none for some
}

// signWidth is how many signs of an atom the first look of a strategy reads; 0 if it reads none.
func (s *strategy) signWidth() int {
	if s.reference == nil && len(s.Looks) > 0 && s.Looks[0].Rep == backend.SignPanels {
		return s.Looks[0].To
	}
	return 0
}

// signsFit reports whether the panels of signs that w's first look reads are made, or there is memory for them beside what
// its query takes if looks drop nothing.
func (w *work) signsFit() bool {
	width, e := w.strategy.signWidth(), w.e
	if width == 0 || e.opt.Spare == nil {
		return true
	}
	m := &e.signs
	m.mu.Lock()
	_, ok := m.granted[width]
	refused := time.Since(m.refused) < refusalAge
	m.mu.Unlock()
	if ok || refused {
		return ok
	}
	_, most := w.survivorBytes()
	need := e.c.SignPanelsSize(width) + w.queryBytes() + most
	spare := e.spareBytes(need)
	m.mu.Lock()
	defer m.mu.Unlock()
	if spare > 0 && spare < need {
		m.refused = time.Now()
		return false
	}
	m.note(width, false)
	return true
}

// note notes that there is memory for panels of a width, or that they are made. m.mu is held.
func (m *signMemory) note(width int, made bool) {
	if m.granted == nil {
		m.granted = map[int]bool{}
	}
	m.granted[width] = made || m.granted[width]
}

// noteSigns notes that the panels of signs that a strategy's first look reads are made.
func (e *Engine) noteSigns(s *strategy) {
	if width := s.signWidth(); width > 0 {
		e.signs.mu.Lock()
		defer e.signs.mu.Unlock()
		e.signs.note(width, true)
	}
}

// unmadeSigns returns the bytes of the panels of signs that w's first look makes.
func (w *work) unmadeSigns() int64 {
	width := w.strategy.signWidth()
	w.e.signs.mu.Lock()
	defer w.e.signs.mu.Unlock()
	if width == 0 || w.e.signs.granted[width] {
		return 0
	}
	return w.e.c.SignPanelsSize(width)
}

// Kept returns the bytes of what searches have made of the collection and the engine keeps.
func (e *Engine) Kept() int64 {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	var all int64
	for width, made := range e.signs.granted {
		if made {
			all += e.c.SignPanelsSize(width)
		}
	}
	return all
}

// Making bounds the bytes of what the first search makes of the collection for the engine to keep; 0 once there is some.
func (e *Engine) Making() int64 {
	if e.costs.Lookup == 0 || !e.c.Coded() || e.Kept() > 0 {
		return 0
	}
	return e.c.SignPanelsSize(min(e.c.D, simd.MaxSignPanel))
}
