package oip

import (
	"strconv"
	"sync"
	"time"
)

// ModelStatistics is a model's entry of the statistics extension.
type ModelStatistics struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// LastInference is the time of the last request, in milliseconds since 1970; 0 if there
	// was none.
	LastInference  int64          `json:"last_inference"`
	InferenceCount int64          `json:"inference_count"` // queries answered
	ExecutionCount int64          `json:"execution_count"` // runs that answered them, together or alone
	Inference      InferenceStats `json:"inference_stats"`
	Batches        []struct{}     `json:"batch_stats"` // always empty: times by size of runs are not kept
}

// InferenceStats covers requests since the server started.
type InferenceStats struct {
	Success       DurationStat `json:"success"`
	Fail          DurationStat `json:"fail"`
	Queue         DurationStat `json:"queue"`         // waiting for a slot
	ComputeInput  DurationStat `json:"compute_input"` // reading and decoding
	ComputeInfer  DurationStat `json:"compute_infer"`
	ComputeOutput DurationStat `json:"compute_output"`
	CacheHit      DurationStat `json:"cache_hit"` // always 0: there is no cache
	CacheMiss     DurationStat `json:"cache_miss"`
}

// DurationStat is the number of events and their total duration.
type DurationStat struct {
	Count int64 `json:"count"`
	NS    int64 `json:"ns"`
}

// Statistics counts requests to models, each for its newest requested version. The zero value
// is ready; it is safe for concurrent use.
type Statistics struct {
	mu     sync.Mutex
	models map[string]*counts
}

type counts struct {
	version int64
	stats   ModelStatistics
}

// countsOf returns the counts of a version, nil if a newer one was requested. The caller
// holds mu.
func (s *Statistics) countsOf(name string, version int64) *counts {
	c := s.models[name]
	switch {
	case c == nil || c.version < version:
		if s.models == nil {
			s.models = map[string]*counts{}
		}
		c = &counts{version: version}
		s.models[name] = c
	case c.version > version:
		return nil
	}
	return c
}

// Of returns the statistics of a version.
func (s *Statistics) Of(name string, version int64) ModelStatistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m ModelStatistics
	if c := s.models[name]; c != nil && c.version == version {
		m = c.stats
	}
	m.Name, m.Version, m.Batches = name, strconv.FormatInt(version, 10), []struct{}{}
	return m
}

// Ran counts a run for a model.
func (s *Statistics) Ran(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.models[name]; c != nil {
		c.stats.ExecutionCount++
	}
}

// Forget removes a model.
func (s *Statistics) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.models, name)
}

// ModelCall is one request to a model, from Begin to End. It belongs to one goroutine.
type ModelCall struct {
	of                  *Statistics
	name                string
	version             int64
	began, last         time.Time
	queue, input, infer time.Duration
	found               bool
	queries             int
}

// Begin begins a request.
func (s *Statistics) Begin(name string, version int64) *ModelCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.countsOf(name, version)
	return &ModelCall{of: s, name: name, version: version, began: time.Now()}
}

// since returns the time since the last step.
func (c *ModelCall) since() time.Duration {
	now := time.Now()
	took := now.Sub(c.last)
	c.last = now
	return took
}

// Turn records that the request has a slot, and how long it waited.
func (c *ModelCall) Turn(waited time.Duration) { c.queue, c.last = waited, time.Now() }

// Decoded records that its queries were read.
func (c *ModelCall) Decoded(queries int) { c.queries, c.input = queries, c.since() }

// Found records that the queries were answered, and counts the request before the answer is
// sent, so that a client with its answer finds it counted.
func (c *ModelCall) Found() {
	c.infer = c.since()
	c.found = true
	c.count(1)
}

// count adds the request to the successful ones, or removes it with -1.
func (c *ModelCall) count(n int64) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	to := c.of.countsOf(c.name, c.version)
	if to == nil {
		return
	}
	m := &to.stats
	m.LastInference = c.last.UnixMilli()
	m.InferenceCount += n * int64(c.queries)
	for _, part := range []struct {
		to   *DurationStat
		took time.Duration
	}{
		{&m.Inference.Success, c.last.Sub(c.began)}, {&m.Inference.Queue, c.queue},
		{&m.Inference.ComputeInput, c.input}, {&m.Inference.ComputeInfer, c.infer}, {&m.Inference.ComputeOutput, 0},
	} {
		part.to.Count += n
		part.to.NS += n * int64(part.took)
	}
}

// End ends the request; err is its error, or nil.
func (c *ModelCall) End(err error) {
	if err != nil && c.found {
		c.count(-1) // the answer could not be sent
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	to := c.of.countsOf(c.name, c.version)
	if to == nil {
		return
	}
	end := time.Now()
	m := &to.stats.Inference
	if err != nil {
		to.stats.LastInference = end.UnixMilli()
		m.Fail.Count++
		m.Fail.NS += int64(end.Sub(c.began))
		return
	}
	m.ComputeOutput.NS += int64(end.Sub(c.last))
	m.Success.NS += int64(end.Sub(c.last))
}
