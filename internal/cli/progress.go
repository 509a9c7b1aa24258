package cli

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// longRun is how long a stage must last before its progress is drawn.
const longRun = time.Second

// ProgressBar draws one stage on a terminal once it turns out long. It is safe
// for concurrent use.
type ProgressBar struct {
	w     io.Writer // nil draws nothing
	label string
	begun time.Time

	mu  sync.Mutex
	bar *progressbar.ProgressBar
}

// NewProgress begins a stage; the caller ends it with Done.
func (a *App) NewProgress(label string) *ProgressBar {
	p := &ProgressBar{label: label, begun: time.Now()}
	if a.Terminal {
		p.w = a.Err
	}
	return p
}

// Set sets the progress of the stage; a negative total is unknown, and the label then has the count.
func (p *ProgressBar) Set(done, total int64) {
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

// Retitle changes the text beside the bar.
func (p *ProgressBar) Retitle(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label = text
	if p.bar != nil {
		p.bar.Describe(text)
	}
}

// Done removes the bar.
func (p *ProgressBar) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
