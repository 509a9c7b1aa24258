package tournaments

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/duel"
	"thresher/service/problem"
	"thresher/store"
)

// Continued says what Continue took over.
type Continued struct {
	Tournament Tournament // the new one, with its state
	// Taken is the last call that was taken over; all before it were, too. Recorded is the last call that
	// the damaged tournament has.
	Taken, Recorded uint64
	// Why says why later calls were not taken over; nil if all were.
	Why error
}

// Continue creates a tournament that goes on from a damaged one, as it was after the last call before
// which nothing is missing. A call whose record is damaged is taken from the transcript, if that has it;
// each call that is taken over went, when it was played again, as it is recorded. The damaged tournament
// is unchanged, and duels that it issued count in it alone: their results are refused as before. One that
// can be played is refused (problem.Conflict), and one of which nothing can be taken over
// (Unplayable).
func (s *Store) Continue(ctx context.Context, id string) (Continued, error) {
	source, err := s.damagedOne(ctx, id)
	if err != nil {
		return Continued{}, err
	}
	defer source.close()
	p, err := source.play(ctx)
	if err != nil {
		return Continued{}, err
	}
	did := Continued{Taken: p.calls, Recorded: source.last, Why: p.why}
	if p.calls == 0 {
		return did, unplayable(source.record, "nothing of it can be taken over", p.why)
	}
	made := record{Format: recordFormat, ID: idPrefix + strings.ToLower(rand.Text()), At: s.o.Now().Unix(), Config: source.record.Config}
	l := live{record: made, stored: stored{game: p.game, events: p.calls}}
	l.concluded(s.o.Now())
	made = l.record
	if err := source.transcribe(s.transcriptOf(made.ID), p); err != nil {
		return did, errors.Join(err, s.removeTranscript(made.ID))
	}
	if err := s.addContinued(ctx, &made, p); err != nil {
		return did, errors.Join(err, s.removeTranscript(made.ID))
	}
	did.Tournament = made.view()
	state := s.state(&l, true)
	did.Tournament.State = &state
	return did, nil
}

// addContinued records a new tournament with a snapshot of what was played.
func (s *Store) addContinued(ctx context.Context, made *record, p *played) error {
	state, rest, err := p.game.snapshot(p.calls)
	if err != nil {
		return err
	}
	w := &write{then: func() { s.count(made.Done, 1) }}
	w.do = func(tx *bbolt.Tx) error {
		return errors.Join(made.add(tx), made.replaceLog(tx, 0, p.calls, state, rest))
	}
	s.journal.submit(w)
	return w.wait(ctx)
}

// damaged is a tournament that cannot be played, with what there is of it.
type damaged struct {
	record *record
	texts  *texts
	file   *os.File // the transcript; nil if there is none
	blocks []callBlock
	last   uint64 // the last call
}

// damagedOne reads what there is of a tournament, which must be damaged.
func (s *Store) damagedOne(ctx context.Context, id string) (d *damaged, err error) {
	d = &damaged{texts: &texts{}}
	read := false
	err = s.db.View(func(tx *bbolt.Tx) error {
		if d.record, err = findRecord(tx, id); err != nil {
			return err
		}
		if t, err := d.record.texts(tx); err == nil {
			d.texts, read = t, true
		} else if problem.Of(err).Kind != Unplayable {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if read {
		if _, err := d.texts.replay(ctx, d.record, nil); err == nil {
			return nil, problem.New(problem.Conflict, "tournament %s can be played: nothing of it is damaged", id).In("id")
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.o.Dir != "" {
		d.file, err = os.Open(s.transcriptPath(id))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if d.file != nil {
		info, err := d.file.Stat()
		if err != nil {
			return nil, errors.Join(err, d.file.Close())
		}
		d.blocks = callBlocks(d.file, info.Size())
	}
	if _, d.last = d.texts.last(); d.last == 0 { // the records do not say it
		for _, b := range d.blocks {
			d.last = max(d.last, b.first+b.count-1)
		}
	}
	return d, nil
}

func (d *damaged) close() {
	if d.file != nil {
		d.file.Close()
	}
}

// played is a game played again.
type played struct {
	game  *game
	calls uint64 // the last call
	// untold are the calls that were played by their records and that the transcript has not got.
	untold []told
	why    error // why it ends there; nil if nothing follows
	broken bool  // the game is not as it was after the last call
}

// play plays the calls up to the first that nothing has, or that does not go as it went.
func (d *damaged) play(ctx context.Context) (*played, error) {
	p, err := d.playTo(ctx, d.last)
	if err != nil || !p.broken {
		return p, err
	}
	again, err := d.playTo(ctx, p.calls) // a call that failed may have changed the game
	if err == nil {
		again.why = p.why
	}
	return again, err
}

// playTo plays the calls up to a last one.
func (d *damaged) playTo(ctx context.Context, last uint64) (p *played, err error) {
	p = &played{}
	if d.texts.state != nil && d.texts.rest != nil {
		p.game, p.calls, p.why = restored(d.texts.state, d.texts.rest)
	}
	if p.game == nil || p.why != nil {
		p.calls = 0
		if p.game, err = newGame(d.record.Config); err != nil {
			return nil, err
		}
	}
	for _, b := range d.blocks {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if b.first+b.count-1 <= p.calls {
			continue
		}
		calls, err := b.calls(d.file)
		if err != nil {
			continue // the records may have these calls
		}
		for i := range calls {
			c := &calls[i]
			if c.Call <= p.calls || c.Call > last {
				continue
			}
			for p.calls+1 < c.Call { // the transcript lacks these
				if !d.step(p, nil) {
					return p, nil
				}
			}
			if !d.step(p, c) {
				return p, nil
			}
		}
	}
	for p.calls < last && d.step(p, nil) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if p.calls == last {
		p.why = nil
	}
	return p, nil
}

// step plays the next call by its record or, if that is damaged, by what the transcript tells of it, nil
// if it tells nothing. It reports whether that went as it went before.
func (d *damaged) step(p *played, c *told) bool {
	n := p.calls + 1
	e, err := d.event(n)
	switch {
	case err == nil:
		err = p.game.replay(e)
		p.broken = err != nil
	case c != nil:
		err = p.game.retell(c)
		p.broken = err != nil
	}
	if err != nil {
		p.why = fmt.Errorf("call %d: %w", n, err)
		return false
	}
	p.calls = n
	if c == nil {
		p.game.told.Call = n
		p.untold = append(p.untold, p.game.told)
	}
	return true
}

// event returns the record of a call.
func (d *damaged) event(n uint64) (*event, error) {
	i, found := slices.BinarySearch(d.texts.numbers, n)
	if !found {
		return nil, errors.New("its record is missing")
	}
	e := &event{}
	if err := store.Unseal(d.texts.events[i], e); err != nil {
		return nil, fmt.Errorf("its record is damaged: %w", err)
	}
	return e, nil
}

// retell executes a call that a transcript tells, and fails if it goes differently. Its key, if it had
// one, is forgotten.
func (g *game) retell(c *told) error {
	var err error
	switch {
	case len(c.Undone) > 0:
		_, err = g.undo("")
	case c.At != 0:
		_, _, err = g.draw(c.Judge, max(len(c.Issued), 1), time.Unix(0, c.At))
	default:
		err = g.retellReport(c)
	}
	if err != nil {
		return err
	}
	g.told.Call = c.Call
	was, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if is, err := json.Marshal(g.told); err != nil || !bytes.Equal(was, is) {
		return errors.Join(err, errors.New("it goes differently than the transcript tells"))
	}
	return nil
}

// retellReport executes a report.
func (g *game) retellReport(c *told) error {
	var results []duel.Result
	for _, v := range c.Judged {
		r := duel.Result{Duel: v.Duel, AWon: v.AWon, Tie: v.Tie, Judge: v.Judge}
		if _, err := g.check(&r); err != nil {
			return err
		}
		results = append(results, r)
	}
	if _, err := g.apply(results); err != nil {
		return err
	}
	var skips []skip
	for _, v := range c.Skipped {
		id, ok := g.numbers.duel(v.Duel)
		if !ok {
			return fmt.Errorf("duel %d: %w", v.Duel, duel.ErrWithdrawn)
		}
		skips = append(skips, skip{id, v.Judge})
	}
	return g.skip(skips)
}

// transcribe writes the transcript of the calls that were taken over: those that the damaged tournament's
// transcript has, also from before the first that was played, and those that were played by their records.
func (d *damaged) transcribe(to *transcript, p *played) error {
	if to == nil {
		return nil
	}
	untold := p.untold
	for _, b := range d.blocks {
		calls, err := b.calls(d.file)
		if err != nil {
			continue // damaged; an export names the calls that are lost
		}
		for _, c := range calls {
			for len(untold) > 0 && untold[0].Call < c.Call {
				if err := to.add(untold[0].Call, untold[0]); err != nil {
					return err
				}
				untold = untold[1:]
			}
			if c.Call > p.calls {
				break
			}
			if err := to.add(c.Call, c); err != nil {
				return err
			}
		}
	}
	for _, c := range untold {
		if err := to.add(c.Call, c); err != nil {
			return err
		}
	}
	return to.flush()
}
