package batch

import "time"

const (
	// unaskedBytes is what the survivors of a run may take without Options.Spare being asked, unless that said less before.
	unaskedBytes = 16 << 20
	// spareAge is for how long an answer of Options.Spare stands.
	spareAge = 100 * time.Millisecond
)

// spared is what Options.Spare returned at a time.
type spared struct {
	at    time.Time
	bytes int64
}

// unasked is what the survivors of a run may take without Options.Spare being asked.
func (e *Engine) unasked() int64 {
	if s := e.spared.Load(); s != nil {
		return min(s.bytes, unaskedBytes)
	}
	return unaskedBytes
}

// spareBytes is what Options.Spare returned a short while ago; 0 if nobody knows.
func (e *Engine) spareBytes(need int64) int64 {
	if e.opt.Spare == nil {
		return 0
	}
	s := e.spared.Load()
	if s == nil || time.Since(s.at) > spareAge {
		s = &spared{time.Now(), e.opt.Spare(need)}
		e.spared.Store(s)
	}
	return s.bytes
}
