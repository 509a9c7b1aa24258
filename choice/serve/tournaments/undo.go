package tournaments

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"thresher/choice/duel"
	"thresher/service/problem"
)

const (
	// keptUndo is the number of reports that can be undone at least.
	keptUndo = 100
	// maxUndoCost is the greatest cost of a draw with which judgments are kept: undoing one draws again
	// those before, and so does loading the tournament.
	maxUndoCost = 512
	// undoWork is what an undo counts for a replay, in draws.
	undoWork = 1 << 12
)

// undo takes back the last report in which a judgment counted, and what followed from it, and returns
// the ids that clients saw of its duels. The error is duel.ErrNothingToUndo if none is left.
func (g *game) undo(key string) ([]uint64, error) {
	shown := g.undoable()
	drawn := g.tournament.Drawn()
	results, err := g.tournament.Undo()
	if err != nil {
		return nil, err
	}
	g.work += undoWork * g.cost
	undone := make([]uint64, len(results))
	for i, r := range results {
		undone[i] = r.Duel
	}
	g.answers.undo(undone, g.tournament.Drawn())
	g.given.undo(g.tournament.Drawn())
	g.numbers.undo(undone, g.tournament.Drawn(), drawn)
	g.told = told{Undone: shown}
	if key != "" {
		g.given.append(answer{Key: key, Undone: shown})
	}
	return shown, nil
}

// undoable returns the ids that clients see of the duels that undo would take back.
func (g *game) undoable() []uint64 {
	ids := []uint64{}
	for _, r := range g.tournament.Undoable() {
		ids = append(ids, g.numbers.shown(r.Duel))
	}
	return ids
}

func sumOfUndo(undone []uint64) uint32 {
	b := []byte("undo")
	for _, id := range undone {
		b = binary.AppendUvarint(b, id)
	}
	return crc32.ChecksumIEEE(b)
}

// Undo takes back the last report in which a judgment counted, also if it eliminated an arm or named
// the winner. With a last that is not 0 it must be one with that duel, so that of two judges one does
// not take back the other's judgment (problem.Conflict). The same call with the same key, if that is
// not "", changes nothing as long as it is remembered. The duels are issued again under new ids, and
// all duels issued since are withdrawn: no result that is reported under an old id counts.
func (s *Store) Undo(ctx context.Context, id string, last uint64, key string) (Undone, error) {
	if err := ctx.Err(); err != nil {
		return Undone{}, err
	}
	var u Undone
	fresh := false
	err := s.play(ctx, id, func(l *live) (err error) {
		if err := ctx.Err(); err != nil { // it has waited for others
			return err
		}
		u.UndoneDuels, fresh, err = s.undoLast(l, last, key)
		if err == nil {
			u.TournamentState = s.state(l, false)
		}
		return err
	})
	if err != nil {
		return Undone{}, err
	}
	if fresh {
		s.o.Watch.Reported("undone", len(u.UndoneDuels))
	}
	return u, nil
}

// undoLast implements Undo for l, which the caller has locked. fresh is false for an earlier answer.
func (s *Store) undoLast(l *live, last uint64, key string) (undone []uint64, fresh bool, err error) {
	before, err := l.game.given.find(key, 0)
	if err != nil {
		return nil, false, err
	}
	if before != nil {
		return before.Undone, false, nil
	}
	switch ids := l.game.undoable(); {
	case l.game.cost > maxUndoCost:
		return nil, false, problem.New(problem.Conflict, "a tournament of %d arms by %s keeps no judgments to undo", len(l.record.Config.Arms), l.record.Config.Algorithm)
	case len(ids) == 0:
		return nil, false, problem.New(problem.Conflict, "%v", duel.ErrNothingToUndo).Because(duel.ErrNothingToUndo)
	case last != 0 && !slices.Contains(ids, last):
		return nil, false, problem.New(problem.Conflict, "the last report is not one of duel %d, but of %v", last, ids).In("duel_id")
	}
	undone, err = l.game.undo(key)
	if err == nil {
		l.answers.Store(l.game.given.bytes())
		err = s.recordEvent(l, event{Undo: true, Key: key, Sum: sumOfUndo(undone)})
	}
	if err != nil {
		l.fail(err)
	}
	return undone, true, err
}
