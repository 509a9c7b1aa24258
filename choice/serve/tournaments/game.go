package tournaments

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"thresher/choice/duel"
	"thresher/service/problem"
	"thresher/store"
)

// game is a tournament in memory with the other state that its calls depend on. It is a
// function of its configuration and its events.
type game struct {
	tournament *duel.Tournament
	now        time.Time // the time used by the tournament
	answers    answers
	given      given
	numbers    numbers
	cost       int64 // of drawing one duel
	work       int64 // in draws since the snapshot; the cost of a replay
	told       told  // what the last call did
}

// Work is counted in sampled preferences, about 30 ns each.
const (
	// maxCoins and maxWork bound a call for duels that finds only duels of an arm against
	// itself. Replays stop where the calls did, so a change of either requires a new
	// recordFormat.
	maxCoins = 1024
	maxWork  = 1 << 22
	// maxReplay is the work after which a log is replaced by a snapshot.
	maxReplay = 1 << 24
)

// event is a call that changed a game: one for duels, a report, or an undo.
type event struct {
	// Count, At (Unix nanoseconds), Key and Judge belong to a call for duels.
	Count int    `json:"n,omitempty"`
	At    int64  `json:"t,omitempty"`
	Key   string `json:"k,omitempty"`
	Judge string `json:"w,omitempty"`
	// Results are IDs of duels, negative if a lost.
	Results []int64 `json:"r,omitempty"`
	// Judged takes the place of Results if one has a tie or a judge, and Skipped are skips in
	// the same report. Releases that do not know them replay such an event as an empty
	// report, whose checksum differs, and leave the tournament as it is.
	Judged  []duel.Result `json:"j,omitempty"`
	Skipped []skip        `json:"s,omitempty"`
	// Undo marks an undo, which may have a Key. Releases that do not know it replay it as an empty
	// report too.
	Undo bool `json:"u,omitempty"`
	// Sum is a checksum of the answer.
	Sum uint32 `json:"c"`
}

func newGame(c duel.Config) (*game, error) {
	g := &game{}
	t, err := duel.New(c, g.clock)
	if err != nil {
		return nil, err
	}
	return g, g.setTournament(t)
}

// setTournament sets the tournament of g, and keeps its judgments from now on.
func (g *game) setTournament(t *duel.Tournament) error {
	g.tournament, g.cost = t, 1
	c := t.Config()
	k := int64(len(c.Arms))
	switch c.Algorithm {
	case duel.DoubleThompson:
		g.cost = k * k
	case duel.Rank, duel.Copeland: // each result may lead to a plan, but most do not
		g.cost = k
	}
	if g.cost > maxUndoCost {
		return nil
	}
	return t.KeepUndo(keptUndo)
}

func (g *game) clock() time.Time { return g.now }

// draw issues up to count duels. Duels of an arm against itself are decided by the coin;
// coins counts them. After maxCoins or maxWork a call may return no duels although the
// tournament continues. The error is duel.ErrEnded if nothing was drawn because the
// tournament has ended.
func (g *game) draw(judge string, count int, at time.Time) (duels []duel.Duel, coins int, err error) {
	g.now = at
	for before := g.work; len(duels) < count && coins < maxCoins && g.work-before < maxWork; {
		drawn := g.tournament.Drawn()
		more, err := g.tournament.NextFor(judge, count-len(duels))
		g.work += int64(g.tournament.Drawn()-drawn) * g.cost
		if errors.Is(err, duel.ErrEnded) && coins > 0 {
			break // of a coin that eliminated an arm
		}
		if err != nil {
			return nil, coins, err
		}
		var fair []duel.Result
		for _, d := range more {
			if d.A == d.B {
				fair = append(fair, g.tournament.Coin(d))
				continue
			}
			duels = append(duels, d)
		}
		if len(fair) == 0 {
			break
		}
		coins += len(fair)
		if _, err := g.apply(fair); err != nil {
			return nil, coins, err
		}
		duels = slices.DeleteFunc(duels, g.withdrawn)
	}
	g.tellDuels(judge, at, duels, coins)
	return duels, coins, nil
}

// remember keeps the answer to a call with a key. An answer without duels is not kept, so
// that it can be repeated under the same key, unless the tournament has ended.
func (g *game) remember(key string, count int, duels []duel.Duel) {
	if len(duels) > 0 || key != "" && g.tournament.State().Done {
		g.given.add(key, count, duels)
	}
}

// withdrawn reports whether a result of d would be refused.
func (g *game) withdrawn(d duel.Duel) bool {
	_, err := g.tournament.Check(duel.Result{Duel: d.ID})
	return err != nil
}

// apply counts results that Check accepts.
func (g *game) apply(results []duel.Result) ([]duel.Receipt, error) {
	g.tellResults(results)
	receipts, err := g.tournament.Report(results...)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		g.answers.remember(r.Duel, outcomeOf(r))
	}
	return receipts, nil
}

// check returns how the result of a duel that clients know as r.Duel would be received, and sets r.Duel
// to its id in the tournament.
func (g *game) check(r *duel.Result) (duel.Status, error) {
	shown := r.Duel
	id, ok := g.numbers.duel(shown)
	if !ok {
		return "", fmt.Errorf("duel %d: %w by an undo", shown, duel.ErrWithdrawn)
	}
	r.Duel = id
	status, err := g.tournament.Check(*r)
	if err != nil && id != shown {
		err = &shownError{fmt.Sprintf("duel %d: %s", shown, strings.TrimPrefix(err.Error(), fmt.Sprintf("duel %d: ", id))), err}
	}
	return status, err
}

// shownError is an error about a duel in the words that clients know.
type shownError struct {
	text  string
	cause error
}

func (e *shownError) Error() string { return e.text }

func (e *shownError) Unwrap() error { return e.cause }

// validate determines the treatment of results by the ids that clients see: the statuses of those that change nothing,
// and the results to take, whose status is "" and whose ids are those of the tournament. Unless lenient, a result that contradicts
// another, or whose duel was withdrawn, is an error; a result of a duel that was never issued
// always is. Errors name the index; nothing is changed.
func (g *game) validate(results []duel.Result, lenient bool) (statuses []duel.Status, take []duel.Result, err error) {
	statuses = make([]duel.Status, len(results))
	here := make(map[uint64]outcome, len(results))
	for i, r := range results {
		shown := r.Duel
		status, err := g.check(&r)
		switch {
		case errors.Is(err, duel.ErrWithdrawn) && lenient:
			statuses[i] = duel.Void
			continue
		case errors.Is(err, duel.ErrWithdrawn):
			return nil, nil, problem.New(DuelWithdrawn, "%v", err).At("duel_id", i).Because(err)
		case err != nil:
			return nil, nil, problem.New(UnknownDuel, "%v", err).At("duel_id", i).Because(err)
		}
		known := g.answers.get(r.Duel)
		if first, ok := here[r.Duel]; ok {
			known, status = first, duel.Repeated
		}
		if known != forgotten && known != outcomeOf(r) {
			if !lenient {
				return nil, nil, problem.New(problem.Conflict, "duel %d: the result %v is recorded and stays", shown, known).At("duel_id", i)
			}
			status = duel.Conflicting
		}
		if status != duel.Accepted {
			statuses[i] = status
			continue
		}
		here[r.Duel] = outcomeOf(r)
		take = append(take, r)
	}
	return statuses, take, nil
}

// replay executes an event, and fails if the result differs.
func (g *game) replay(e *event) error {
	var sum uint32
	switch {
	case e.Undo:
		undone, err := g.undo(e.Key)
		if err != nil {
			return err
		}
		sum = sumOfUndo(undone)
	case e.Count > 0:
		duels, coins, err := g.draw(e.Judge, e.Count, time.Unix(0, e.At))
		if err != nil {
			return err
		}
		g.remember(e.Key, e.Count, duels)
		sum = sumOfDuels(duels, coins)
	default:
		receipts, err := g.apply(e.results())
		if err == nil {
			err = g.skip(e.Skipped)
		}
		if err != nil {
			return err
		}
		sum = sumOfReport(receipts, e.Skipped)
	}
	if sum != e.Sum {
		return fmt.Errorf("checksum %08x of the answer, recorded is %08x", sum, e.Sum)
	}
	return nil
}

func sumOfDuels(duels []duel.Duel, coins int) uint32 {
	b := binary.AppendUvarint(nil, uint64(coins))
	for _, d := range duels {
		b = binary.AppendUvarint(b, d.ID)
		b = binary.AppendUvarint(b, uint64(d.A))
		b = binary.AppendUvarint(b, uint64(d.B))
	}
	return crc32.ChecksumIEEE(b)
}

func sumOfReceipts(receipts []duel.Receipt) uint32 {
	var b []byte
	for _, r := range receipts {
		b = binary.AppendUvarint(b, r.Duel)
		b = append(b, r.Status...)
	}
	return crc32.ChecksumIEEE(b)
}

// snapshotRest is the part of a snapshot other than the state of the tournament.
type snapshotRest struct {
	Event uint64 `json:"event"` // the last one included
	Last  uint64 `json:"last,omitempty"`
	Bits  []byte `json:"bits,omitempty"`
	Given given  `json:"given,omitempty"`
	numbers
}

// snapshot encodes the game after an event.
func (g *game) snapshot(after uint64) (state, rest []byte, err error) {
	if state, err = g.tournament.MarshalBinary(); err != nil {
		return nil, nil, err
	}
	rest, err = store.Seal(snapshotRest{after, g.answers.last, g.answers.bits, g.given, g.numbers})
	return state, rest, err
}

// restored decodes a snapshot; it returns the game and its last event.
func restored(state, rest []byte) (*game, uint64, error) {
	g := &game{}
	var b snapshotRest
	if err := store.Unseal(rest, &b); err != nil {
		return nil, 0, err
	}
	g.answers, g.given, g.numbers = answers{b.Last, b.Bits}, b.Given, b.numbers
	t, err := duel.Restore(state, g.clock)
	if err != nil {
		return nil, 0, err
	}
	return g, b.Event, g.setTournament(t)
}
