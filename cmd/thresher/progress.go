package main

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// longRun is how long a stage must last before its progress is drawn.
const longRun = time.Second

// progress draws one stage on a terminal once it turns out long. It is safe
// for concurrent use.
type progress struct {
	w     io.Writer // nil draws nothing
	label string
	begun time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

// newProgress begins a stage; the caller ends it with done.
func (a *app) newProgress(label string) *progress {
	p := &progress{label: label, begun: time.Now()}
	if a.isTerminal {
		p.w = a.err
	}
	return p
}

// set sets the progress of the stage; a negative total is unknown, and the label then has the count.
func (p *progress) set(done, total int64) {
	if p.w == nil || time.Since(p.begun) < longRun {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		options := []progressbar.Option{
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription(p.label),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(total >= 0),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100 * time.Millisecond),
			progressbar.OptionClearOnFinish(),
		}
		if total >= 0 {
			options = append(options, progressbar.OptionShowCount())
		}
		p.bar = progressbar.NewOptions64(total, options...)
	}
	// Errors are ignored: a closed terminal must not end the work.
	_ = p.bar.Set64(done)
}

// retitle changes the text beside the bar.
func (p *progress) retitle(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label = text
	if p.bar != nil {
		p.bar.Describe(text)
	}
}

// done removes the bar.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
