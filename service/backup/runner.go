package backup

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"thresher/service/api"
	"thresher/service/problem"
)

// Runner makes the backups of a server, one after the other. It is safe for concurrent use.
type Runner struct {
	source Source
	o      Options
	log    *slog.Logger

	mu      sync.Mutex
	closed  bool
	running *making
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed once the running one, or else the last, has ended; nil before the first
	last    *api.Backup   // that has ended
	counts  map[string]int
	newest  time.Time // of those without damage
}

// NewRunner returns a Runner of a source, whose databases stay open until Close. Without a folder in o
// every backup is refused. It removes what a killed backup left in the data folder.
func NewRunner(src Source, o Options, log *slog.Logger) (*Runner, error) {
	r := &Runner{source: src, o: o, log: log, counts: map[string]int{}}
	for _, outcome := range Outcomes() {
		r.counts[outcome] = 0
	}
	if o.Folder != "" {
		all, err := folder{o.Folder}.list()
		if err != nil {
			return nil, err
		}
		for _, b := range all {
			if len(b.Damaged) == 0 && b.CreatedAt.After(r.newest) {
				r.newest = b.CreatedAt
			}
		}
	}
	return r, Sweep(src.Dir)
}

// Outcomes are the ways in which backups end, for metrics: "damaged" is complete, of damaged data.
func Outcomes() []string {
	return []string{string(api.BackupCompleted), "damaged", string(api.BackupFailed), string(api.BackupCancelled)}
}

// allowed refuses backups if there is no folder for them.
func (r *Runner) allowed() error {
	if r.o.Folder == "" {
		return problem.New(problem.Conflict, "this server has no folder for backups: its setting backup.folder names none").In("backup.folder")
	}
	return nil
}

// Start begins a backup, which by asked for, and returns it. If one is being made it is a problem of
// kind Conflict.
func (r *Runner) Start(by string) (api.Backup, error) {
	if err := r.allowed(); err != nil {
		return api.Backup{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return api.Backup{}, problem.New(problem.Draining, "the server is shutting down")
	}
	if r.running != nil {
		return api.Backup{}, problem.New(problem.Conflict, "a backup is being made, since %s; wait for it, or cancel it", r.running.b.CreatedAt.Format(time.RFC3339))
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	m := newMaking(&r.source, &r.o)
	r.running, r.cancel, r.ended = m, cancel, make(chan struct{})
	r.log.Info("a backup begins", "folder", r.o.Folder, "by", by)
	go r.run(ctx, m)
	return m.view(), nil
}

// run makes a backup and records how it ended.
func (r *Runner) run(ctx context.Context, m *making) {
	err := m.make(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	b := m.view()
	b.Phase = ""
	outcome := string(api.BackupCompleted)
	var late *retainError
	switch {
	case err == nil, errors.As(err, &late):
		if late != nil {
			b.Error = late.Error()
		}
		if len(b.Damaged) > 0 {
			outcome = "damaged"
		} else {
			r.newest = b.CreatedAt
		}
		r.log.Info("a backup is complete", "path", filepath.Join(r.o.Folder, b.Name), "files", b.Files, "bytes", b.Bytes, "linked", b.BytesLinked, "removed", b.Removed)
		for _, what := range b.Damaged {
			r.log.Error("a backup holds damaged data, as the data folder does", "backup", b.Name, "damaged", what)
		}
	default:
		b.Status, b.Error = api.BackupFailed, err.Error()
		if ctx.Err() != nil {
			b.Status, b.Error = api.BackupCancelled, context.Cause(ctx).Error()
		}
		outcome = string(b.Status)
		now := time.Now().UTC()
		b.EndedAt = &now
		r.log.Error("a backup was not made", "status", b.Status, "reason", err)
	}
	if len(b.LeftOut) > 0 {
		r.log.Warn("the data folder has files that are not the server's, and the backup has not", "names", b.LeftOut)
	}
	r.counts[outcome]++
	r.last, r.running = &b, nil
	r.cancel(nil)
	close(r.ended)
}

// errCancelled is why a backup ends that a client cancels.
var errCancelled = errors.New("it was cancelled")

// Cancel ends the backup being made, of which nothing is left, and returns it when it has ended. If
// none is being made it is a problem of kind Conflict.
func (r *Runner) Cancel(ctx context.Context, by string) (api.Backup, error) {
	if err := r.allowed(); err != nil {
		return api.Backup{}, err
	}
	r.mu.Lock()
	if r.running == nil {
		r.mu.Unlock()
		return api.Backup{}, problem.New(problem.Conflict, "no backup is being made")
	}
	cancel := r.cancel
	r.mu.Unlock()
	cancel(errCancelled)
	r.log.Info("a backup is cancelled", "by", by)
	return r.Wait(ctx)
}

// Wait returns the backup being made, or the one made last, once it has ended. It fails if ctx ends
// before, or none was begun.
func (r *Runner) Wait(ctx context.Context) (api.Backup, error) {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended == nil {
		return api.Backup{}, problem.New(problem.Conflict, "no backup is being made")
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
	select {
	case <-ended:
	default:
		return api.Backup{}, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.last, nil
}

// State says what is being made, what was made last, and what there is.
func (r *Runner) State() (api.Backups, error) {
	if err := r.allowed(); err != nil {
		return api.Backups{}, err
	}
	b := api.Backups{Object: "backups", Keep: r.o.Keep, Complete: []api.Backup{}}
	var err error
	if b.Folder, err = filepath.Abs(r.o.Folder); err != nil {
		return b, err
	}
	if b.Data, err = filepath.Abs(r.source.Dir); err != nil {
		return b, err
	}
	r.mu.Lock()
	if r.running != nil {
		now := r.running.view()
		b.Running = &now
	}
	b.Last = r.last
	r.mu.Unlock()
	all, err := folder{r.o.Folder}.list()
	if all != nil {
		b.Complete = all
	}
	return b, err
}

// Counts returns how many backups ended in which way since the start, and when the newest without
// damage was made, the zero time if there is none; for metrics.
func (r *Runner) Counts() (ended map[string]int, newest time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[string]int{}
	for k, n := range r.counts {
		counts[k] = n
	}
	return counts, r.newest
}

// Close cancels the backup being made, waits for its end, and refuses others.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	cancel, ended := r.cancel, r.ended
	running := r.running != nil
	r.mu.Unlock()
	if running {
		cancel(errors.New("the server is shutting down"))
		<-ended
	}
}
