package folder

import (
	"strconv"

	"thresher/columns"
	"thresher/dataset"
	"thresher/segments"
)

// Snapshot is what a folder held at one instant. Whoever gets one releases it. Its methods know vectors by the
// numbers of their ids, as segments.Snapshot does: IDs and Numbers translate.
type Snapshot struct {
	*segments.Snapshot
	table   *segments.Table
	version uint64
}

// Snapshot returns what the folder holds now: all that was acknowledged; nothing after Close. The caller releases it. It does not wait
// for a change that is on its way, however large.
func (f *Folder) Snapshot() *Snapshot {
	now := f.set.Snapshot()
	return &Snapshot{now, f.table, f.opened + now.Writes()}
}

// Version is the number of writes to the folder until then.
func (s *Snapshot) Version() uint64 { return s.version }

// IDs returns the ids of numbers, as answers of Search have them.
func (s *Snapshot) IDs(numbers []int64) *dataset.IDs { return s.table.IDs(numbers) }

// Numbers returns the numbers of ids, -1 for those that were never written.
func (s *Snapshot) Numbers(ids *dataset.IDs) []int64 { return s.table.Find(ids) }

// Textual reports whether ids are texts.
func (s *Snapshot) Textual() bool { return s.table.Textual() }

// Whole reports whether ids are whole numbers from 0 to 2^64-1 throughout, also as texts.
func (s *Snapshot) Whole() bool { return s.table.Whole(s.Has) }

// Select returns the vectors for which an expression over their columns is true, compiled once to a bitmap a segment. Errors
// are *columns.ExprError.
func (s *Snapshot) Select(e *columns.Expr) (*segments.Selection, error) {
	return s.Snapshot.Select(e, func(id int64, text string) int64 {
		if text == "" {
			text = strconv.FormatInt(id, 10)
		}
		var one dataset.IDsBuilder
		one.BecomeTexts()
		one.AddText(text)
		return s.table.Find(one.IDs())[0]
	})
}
