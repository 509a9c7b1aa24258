package tournaments

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"thresher/duel"
	"thresher/service/problem"
)

// game is a tournament in memory with what else its calls depend on. It is a function
// of its configuration and its events.
type game struct {
	tournament *duel.Tournament
	now        time.Time // what the tournament takes the time to be
	answers    answers
	given      given
	cost       int64 // of drawing one duel
	work       int64 // in draws since the snapshot: what a replay takes
}

// Work is counted in preferences that are sampled, about 30 ns each.
const (
	// mostCoins and mostWork bound what one call for duels does that finds only those
	// of an arm against itself. Replays stop where the calls did, so a change of either
	// is a change of recordFormat.
	mostCoins = 1024
	mostWork  = 1 << 22
	// mostReplay is the work after which a log gives way to a snapshot.
	mostReplay = 1 << 24
)

// event is a call that changed a game: one for duels or a report.
type event struct {
	// Count, At (Unix nanoseconds) and Key are those of a call for duels.
	Count int    `json:"n,omitempty"`
	At    int64  `json:"t,omitempty"`
	Key   string `json:"k,omitempty"`
	// Results are the IDs of duels, negative where a lost.
	Results []int64 `json:"r,omitempty"`
	// Sum is a checksum of the answer.
	Sum uint32 `json:"c"`
}

func newGame(c duel.Config) (*game, error) {
	g := &game{}
	t, err := duel.New(c, g.clock)
	if err != nil {
		return nil, err
	}
	g.setTournament(t)
	return g, nil
}

// setTournament gives g its tournament.
func (g *game) setTournament(t *duel.Tournament) {
	g.tournament, g.cost = t, 1
	if c := t.Config(); c.Algorithm == duel.DoubleThompson {
		k := int64(len(c.Arms))
		g.cost = k * k
	}
}

func (g *game) clock() time.Time { return g.now }

// draw hands out up to count duels, those of an arm against itself excepted, which it
// has the coin decide; coins counts those. Of mostCoins or mostWork in a call there may
// come no duels, though the tournament goes on. The error is duel.ErrEnded if nothing
// happened because the tournament has ended.
func (g *game) draw(count int, at time.Time) (duels []duel.Duel, coins int, err error) {
	g.now = at
	for before := g.work; len(duels) < count && coins < mostCoins && g.work-before < mostWork; {
		drawn := g.tournament.Drawn()
		more, err := g.tournament.Next(count - len(duels))
		g.work += int64(g.tournament.Drawn()-drawn) * g.cost
		if errors.Is(err, duel.ErrEnded) && coins > 0 {
			break // by a coin
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
	return duels, coins, nil
}

// remember keeps the answer to a call with a key. One without duels says to ask again,
// under the same key if need be, unless the tournament has ended.
func (g *game) remember(key string, count int, duels []duel.Duel) {
	if len(duels) > 0 || key != "" && g.tournament.State().Done {
		g.given.add(key, count, duels)
	}
}

// withdrawn says that a result of d would be refused.
func (g *game) withdrawn(d duel.Duel) bool {
	_, err := g.tournament.Check(duel.Result{Duel: d.ID})
	return err != nil
}

// apply has results counted that Check finds acceptable.
func (g *game) apply(results []duel.Result) ([]duel.Receipt, error) {
	receipts, err := g.tournament.Report(results...)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		g.answers.put(r.Duel, r.AWon)
	}
	return receipts, nil
}

// validate finds what is to become of results: the statuses of those that change nothing,
// and those to take, whose status is "". Unless lenient, a result that contradicts
// another, or whose duel was withdrawn, is an error; that of a duel that was never
// handed out always is. Errors name the index; nothing is changed.
func (g *game) validate(results []duel.Result, lenient bool) (statuses []duel.Status, take []duel.Result, err error) {
	statuses = make([]duel.Status, len(results))
	here := make(map[uint64]bool, len(results))
	for i, r := range results {
		status, err := g.tournament.Check(r)
		switch {
		case errors.Is(err, duel.ErrWithdrawn) && lenient:
			statuses[i] = duel.Void
			continue
		case errors.Is(err, duel.ErrWithdrawn):
			return nil, nil, problem.New(problem.DuelWithdrawn, "%v", err).At("duel_id", i).Because(err)
		case err != nil:
			return nil, nil, problem.New(problem.UnknownDuel, "%v", err).At("duel_id", i).Because(err)
		}
		won, known := g.answers.get(r.Duel)
		if first, ok := here[r.Duel]; ok {
			won, known, status = first, true, duel.Repeated
		}
		if known && won != r.AWon {
			if !lenient {
				return nil, nil, problem.New(problem.Conflict, "duel %d: the result is that a_won is %t, which stays", r.Duel, won).At("duel_id", i)
			}
			status = duel.Conflicting
		}
		if status != duel.Accepted {
			statuses[i] = status
			continue
		}
		here[r.Duel] = r.AWon
		take = append(take, r)
	}
	return statuses, take, nil
}

// replay does what an event did, and fails if it goes another way.
func (g *game) replay(e *event) error {
	var sum uint32
	if e.Count > 0 {
		duels, coins, err := g.draw(e.Count, time.Unix(0, e.At))
		if err != nil {
			return err
		}
		g.remember(e.Key, e.Count, duels)
		sum = sumOfDuels(duels, coins)
	} else {
		results := make([]duel.Result, len(e.Results))
		for i, id := range e.Results {
			results[i] = duel.Result{Duel: uint64(max(id, -id)), AWon: id > 0}
		}
		receipts, err := g.apply(results)
		if err != nil {
			return err
		}
		sum = sumOfReceipts(receipts)
	}
	if sum != e.Sum {
		return fmt.Errorf("checksum %08x of the answer, recorded is %08x", sum, e.Sum)
	}
	return nil
}

// signed are results as events keep them.
func signed(results []duel.Result) []int64 {
	ids := make([]int64, len(results))
	for i, r := range results {
		ids[i] = int64(r.Duel)
		if !r.AWon {
			ids[i] = -ids[i]
		}
	}
	return ids
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

// snapshotRest is what a snapshot has besides the state of the tournament.
type snapshotRest struct {
	Event uint64 `json:"event"` // the last one in it
	Last  uint64 `json:"last,omitempty"`
	Bits  []byte `json:"bits,omitempty"`
	Given given  `json:"given,omitempty"`
}

// snapshot is the game after an event.
func (g *game) snapshot(after uint64) (state, rest []byte, err error) {
	if state, err = g.tournament.MarshalBinary(); err != nil {
		return nil, nil, err
	}
	rest, err = sealed(snapshotRest{after, g.answers.last, g.answers.bits, g.given})
	return state, rest, err
}

// restored is the game of a snapshot, and its last event.
func restored(state, rest []byte) (*game, uint64, error) {
	g := &game{}
	var b snapshotRest
	if err := unseal(rest, &b); err != nil {
		return nil, 0, err
	}
	g.answers, g.given = answers{b.Last, b.Bits}, b.Given
	t, err := duel.Restore(state, g.clock)
	if err != nil {
		return nil, 0, err
	}
	g.setTournament(t)
	return g, b.Event, nil
}
