package cli

import "sync"

// Stages shows one bar at a time, for the latest stage. It is safe for concurrent use.
type Stages struct {
	app *App

	mu    sync.Mutex
	stage string
	bar   *ProgressBar
}

// NewStages shows nothing yet; the caller ends it with End.
func (a *App) NewStages() *Stages { return &Stages{app: a} }

// Set sets the progress of a stage; see ProgressBar.Set.
func (s *Stages) Set(stage string, done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil || s.stage != stage {
		s.clear()
		s.stage, s.bar = stage, s.app.NewProgress(stage)
	}
	s.bar.Set(done, total)
}

// End removes the bar.
func (s *Stages) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

func (s *Stages) clear() {
	if s.bar != nil {
		s.bar.Done()
		s.bar = nil
	}
}
