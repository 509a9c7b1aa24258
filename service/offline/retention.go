package offline

import (
	"context"
	"strings"
	"time"

	"thresher/service/files"
	"thresher/service/problem"
)

// outputPurpose is the purpose of the files that batches make.
const outputPurpose = "batch_output"

// Expire deletes the batches that ended before a time, and calls tell with each. Their files stay.
func (m *Manager) Expire(ctx context.Context, before time.Time, tell func(Batch)) error {
	var old []Batch
	err := m.ledger.each(func(rec *record) error {
		if at, ended := endOf(&rec.Batch); ended && at.Before(before) {
			old = append(old, rec.Batch)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range old {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := m.Delete(b.ID)
		if err != nil && problem.Of(err).Kind == problem.UnknownBatch { // a client was faster
			continue
		}
		if err != nil {
			return err
		}
		tell(b)
	}
	return nil
}

// endOf returns when a batch ended, if it has.
func endOf(b *Batch) (at time.Time, ended bool) {
	if !b.Status.Final() {
		return time.Time{}, false
	}
	for _, x := range []*int64{b.CompletedAt, b.FailedAt, b.ExpiredAt, b.CancelledAt} {
		if x != nil {
			return time.Unix(*x, 0), true
		}
	}
	return time.Unix(b.CreatedAt, 0), true
}

// Delivering reports whether a file is an output of a batch that is not final: it is stored before the
// batch says that it has it.
func (m *Manager) Delivering(f files.File) bool {
	if f.Purpose != outputPurpose {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.live {
		if strings.HasPrefix(f.Name, id+"_") {
			return true
		}
	}
	return false
}
