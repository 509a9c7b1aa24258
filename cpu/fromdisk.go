package cpu

import (
	"cmp"
	"context"
	"slices"

	"thresher/backend"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

// wanted is a row, by number, that is read from the disk for a query, one of those that finish together.
type wanted struct {
	row   uint32
	query int
}

// blockRows is how many rows that are wanted make a block, of which two are being read while others are scored.
const blockRows = 2048

// finishFromDisk finishes queries js of a collection whose rows come from the disk: each scores the same arms as by finish, but what all
// of them score next is read together, in the order of the file, a row once for all queries and before it is scored.
func (x *run) finishFromDisk(ctx context.Context, js []int, deliver func(at int, a backend.Answer)) error {
	whole := context.WithoutCancel(ctx) // the best arms are scored even if ctx has ended
	if err := x.r.Each(whole, len(js), func(base *threads.Scratch, at int) error {
		x.states[js[at]].orderArms(ctx, scratchOf(base))
		return nil
	}); err != nil {
		return err
	}
	for all := x.wantNext(ctx, js, nil); len(all) > 0; all = x.wantNext(ctx, js, all[:0]) {
		if err := x.scoreWanted(whole, js, all); err != nil {
			return err
		}
	}
	return x.r.Each(whole, len(js), func(base *threads.Scratch, at int) error {
		x.states[js[at]].endArms()
		deliver(at, x.answer(scratchOf(base), js[at]))
		return nil
	})
}

// wantNext appends to all what queries js score next.
func (x *run) wantNext(ctx context.Context, js []int, all []wanted) []wanted {
	for at, j := range js {
		s := &x.states[j]
		for _, a := range s.nextArms(ctx) {
			all = append(all, wanted{s.C.Order[a.ID], at})
		}
	}
	return all
}

// scoreWanted scores rows for queries of js. It sorts them.
func (x *run) scoreWanted(ctx context.Context, js []int, all []wanted) error {
	slices.SortFunc(all, func(a, b wanted) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.query, b.query)) })
	rows := make([]uint32, len(all))
	for i := range all {
		rows[i] = all[i].row
	}
	scores := make([]float64, len(all))
	blocks := slices.Collect(slices.Chunk(rows, blockRows))
	for _, block := range blocks[:min(2, len(blocks))] {
		x.r.C.ReadRowsAhead(block)
	}
	err := x.r.Each(ctx, len(blocks), func(_ *threads.Scratch, b int) error {
		if b+2 < len(blocks) {
			x.r.C.ReadRowsAhead(blocks[b+2])
		}
		for i := b * blockRows; i < min((b+1)*blockRows, len(all)); i++ {
			x.states[js[all[i].query]].SearchScores(scores[i:i+1], rows[i:i+1])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, w := range all {
		x.states[js[w.query]].TakeScored(topk.Scored{Score: scores[i], Row: w.row})
	}
	return nil
}
