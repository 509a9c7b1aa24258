package offline

import (
	"context"
	"errors"
	"time"

	"thresher/dataset"
	"thresher/service/problem"
)

// Create creates a batch as spec says. With a key other than "" it is idempotent: a second call
// with the same key and spec returns the first batch, and with another spec it fails
// (problem.KeyReused). maker is the name of the token that makes the batch and
// its outputs, or "".
func (m *Manager) Create(ctx context.Context, spec Spec, key, maker string) (Batch, error) {
	request := fingerprint(&spec)
	p, err := checkSpec(&spec, m.o.Window)
	if err != nil {
		return Batch{}, err
	}
	m.creating.Lock()
	defer m.creating.Unlock()
	if err := ctx.Err(); err != nil {
		return Batch{}, err
	}
	id := idOf(key)
	if key != "" {
		first, err := m.ledger.get(id)
		switch {
		case err == nil && first.Fingerprint != request:
			return Batch{}, problem.New(problem.KeyReused, "batch %s was made with this Idempotency-Key from another request", id)
		case err == nil:
			return m.Get(id)
		case problem.Of(err).Kind != problem.UnknownBatch:
			return Batch{}, err
		}
	}
	if err := m.checkRoom(); err != nil {
		return Batch{}, err
	}
	rec, err := m.makeRecord(ctx, id, spec, p)
	if err == nil {
		rec.Fingerprint, rec.Maker = request, maker
		err = m.ledger.add(rec)
	}
	if err != nil {
		return Batch{}, errors.Join(err, m.releaseInputs(id))
	}
	return m.admit(rec), nil
}

// checkRoom returns an error if the manager is closing, or if as many batches are unfinished as
// may run (Options.Concurrency) and wait (Options.Waiting).
func (m *Manager) checkRoom() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return problem.New(problem.Draining, "%v", errClosing)
	case len(m.live) >= m.o.Waiting+m.o.Concurrency:
		full := problem.New(problem.QueueFull, "%d batches are not finished, the greatest number permitted", len(m.live)).Within(m.o.Waiting)
		full.RetryAfter = 10 * time.Second
		return full
	}
	return nil
}

// makeRecord returns the record of a new batch. It protects the input file and the version of the
// collection from deletion until the batch releases them, also if it fails (releaseInputs).
func (m *Manager) makeRecord(ctx context.Context, id string, spec Spec, p plan) (*record, error) {
	input, err := m.store.Get(spec.InputFileID)
	if err != nil {
		return nil, err
	}
	rec := &record{
		InputName: input.Name, Chunk: m.o.Chunk, Slice: m.o.Slice, AnswersVersion: dataset.AnswersVersion,
		Batch: Batch{
			ID: id, Object: "batch", Endpoint: spec.Endpoint, InputFileID: spec.InputFileID,
			CompletionWindow: spec.CompletionWindow, Status: Validating, Metadata: spec.Metadata,
			Search: spec.Search, OutputFormat: spec.OutputFormat, Goals: spec.Goals, Column: spec.Column, Header: spec.Header,
		},
	}
	rec.Format = rec.format()
	if err := m.nameLists(rec); err != nil {
		return nil, err
	}
	now := m.o.Now()
	rec.Batch.CreatedAt = now.Unix()
	expires := now.Add(p.window).Unix()
	rec.Batch.ExpiresAt = &expires
	if err := rec.chooseKind(); err != nil {
		return nil, err
	}
	if err := m.hold(rec); err != nil {
		return nil, err
	}
	version, err := m.library.pin(ctx, p.collection, id)
	if err != nil {
		return nil, err
	}
	rec.Batch.Collections = []Pinned{{Name: p.collection, Version: version}}
	return rec, m.checkSearch(ctx, rec)
}

// nameLists records the names of the files of lists.
func (m *Manager) nameLists(rec *record) error {
	for _, l := range rec.lists() {
		f, err := m.store.Get(l.id)
		if err != nil {
			p := *problem.Of(err)
			return p.In(l.field)
		}
		*l.name = f.Name
	}
	return nil
}

// hold protects the files of a batch from deletion.
func (m *Manager) hold(rec *record) error {
	err := m.store.Hold(rec.Batch.InputFileID, rec.Batch.ID)
	for _, l := range rec.lists() {
		if err == nil {
			err = m.store.Hold(l.id, rec.Batch.ID)
		}
	}
	return err
}

// admit queues a batch whose record is in the ledger, and starts it if a slot is free. It returns the batch as it
// was made, so what the maker reads does not depend on how far a started one has come.
func (m *Manager) admit(rec *record) Batch {
	made, j := rec.view(), m.newJob(rec)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live[rec.Batch.ID] = j
	m.queue = append(m.queue, j)
	m.dispatch()
	made.Progress.Position = m.position(j)
	return made
}
