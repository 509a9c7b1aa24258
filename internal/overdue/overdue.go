// Package overdue names in the log the work that goes on after its context has ended.
package overdue

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Patience is how long work may go on after its context has ended before it is named.
const Patience = 2 * time.Second

// Watch logs a warning if done is not called within Patience of the end of ctx, and another when it
// is called after all. what and args say which work it is. done must be called, once.
func Watch(ctx context.Context, log *slog.Logger, what string, args ...any) (done func()) {
	w := &watch{log: log, what: what, args: args}
	stop := context.AfterFunc(ctx, func() { w.begin(ctx) })
	return func() {
		stop()
		w.end()
	}
}

type watch struct {
	log  *slog.Logger
	what string
	args []any // of every line

	mu    sync.Mutex
	over  bool
	ended time.Time   // when the context ended
	timer *time.Timer // until the work is named
	named bool
}

func (w *watch) begin(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.ended = time.Now()
	w.timer = time.AfterFunc(Patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.over {
			w.named = true
			w.log.With(w.args...).Warn(w.what+" goes on after its end", "ended_by", context.Cause(ctx), "since", Patience)
		}
	})
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.named {
		w.log.With(w.args...).Warn(w.what+" has ended late", "late", time.Since(w.ended))
	}
}
