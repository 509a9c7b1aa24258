package batch

import (
	"sync"
	"time"

	"thresher/backend"
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

// signsMade reports whether panels of signs of some width are made.
func (e *Engine) signsMade() bool {
	e.signs.mu.Lock()
	defer e.signs.mu.Unlock()
	for _, made := range e.signs.granted {
		if made {
			return true
		}
	}
	return false
}
