//go:build cuda && cgo

package gpu

import "time"

// stopwatch measures how long the phases of the host's work take, by machine.onPhase.
type stopwatch struct {
	spent map[hostPhase]time.Duration
	now   hostPhase
	since time.Time
}

// hostPhases are the phases of a search, in order.
var hostPhases = [...]hostPhase{phaseCheck, phaseCopy, phaseEnqueue, phaseWait, phaseAnswers}

func newStopwatch() *stopwatch { return &stopwatch{spent: map[hostPhase]time.Duration{}} }

// phaseAside is the time that a measurement itself takes.
const phaseAside hostPhase = "aside"

func (w *stopwatch) begin(p hostPhase) {
	now := time.Now()
	if w.now != "" {
		w.spent[w.now] += now.Sub(w.since)
	}
	w.now, w.since = p, now
}

// end ends the last phase.
func (w *stopwatch) end() { w.begin("") }

// aside measures f as a phase of its own.
func (w *stopwatch) aside(f func() error) error {
	p := w.now
	w.begin(phaseAside)
	defer w.begin(p)
	return f()
}
