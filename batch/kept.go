package batch

import (
	"slices"

	"thresher/backend"
)

// termsBytes bounds the memory of the terms of an atom that first looks and later looks of one search lay out beside each other:
// 32 bytes at each stage, and less than 16 for signs and strips.
func (e *Engine) termsBytes() int64 { return int64(e.c.N) * int64(16+32*len(e.c.Stages)) }

// Kept returns the bytes of what searches have made of the collection and the backends keep: panels of signs, and terms in the
// order in which looks read them; and filters that came again.
func (e *Engine) Kept() int64 {
	kept := e.filters.size(e.gatheredBytes())
	if k, ok := e.resident.(backend.Keeper); ok {
		kept += k.Kept()
	}
	return kept
}

// Making bounds the bytes of what the first search makes of the collection for the engine to keep; 0 once it has what single
// queries read.
func (e *Engine) Making() int64 {
	if e.costs.Lookup == 0 || !e.c.Coded() || e.signsMade() {
		return 0
	}
	return e.c.MaxSignPanelsSize() + e.termsBytes()
}

// making returns the bytes of what the looks of w make of the collection and the backend keeps.
func (w *work) making() int64 {
	k, ok := w.e.resident.(backend.Keeper)
	if !ok || w.strategy.reference != nil {
		return 0
	}
	return k.Making(slices.Clone(w.strategy.Looks))
}
