package tournaments

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/duel"
	"thresher/service/api"
	"thresher/service/problem"
	"thresher/store"
)

// Store keeps tournaments and plays them. It is safe for concurrent use.
type Store struct {
	db      *bbolt.DB
	o       Options
	journal journal

	transcripts transcripts

	mu     sync.Mutex
	closed bool
	memory memory
	done   map[bool]int // number of tournaments, by whether they have ended
}

// Open opens the tournaments of bolt, which must outlive the Store.
func Open(bolt *bbolt.DB, o *Options) (*Store, error) {
	s := &Store{db: bolt, memory: memory{live: map[string]*live{}}, done: map[bool]int{}, transcripts: transcripts{deleted: map[string]bool{}}}
	if o != nil {
		s.o = *o
	}
	s.o.fill()
	s.journal.db, s.journal.step = bolt, s.o.step
	err := bolt.Update(func(tx *bbolt.Tx) error {
		if err := reindex(tx); err != nil {
			return err
		}
		if err := s.sweepTranscripts(func(id string) bool { return bucket(tx, idsBucket).Get([]byte(id)) != nil }); err != nil {
			return err
		}
		return bucket(tx, recordsBucket).ForEach(func(n, text []byte) error {
			r, err := decodeRecord(text)
			if err != nil { // of one tournament; the others can be played
				s.o.Log.Error("a tournament cannot be played; its record is unchanged", "number", store.Number(n), "error", err)
				return nil
			}
			s.done[r.Done]++
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("tournaments: %w", err)
	}
	return s, nil
}

func errClosed() error {
	return problem.New(problem.Draining, "the server is shutting down")
}

// idPrefix begins the ids of tournaments.
const idPrefix = "tournament_"

// Create creates a tournament of spec. With a key that is not "" it is idempotent: the same
// key and spec return the first tournament, another spec is refused (problem.KeyReused).
func (s *Store) Create(ctx context.Context, spec Spec, key string) (Tournament, error) {
	fingerprint, err := fingerprintOf(&spec)
	if err != nil {
		return Tournament{}, err
	}
	config, err := checkSpec(&spec, s.o.Arms)
	if err != nil {
		return Tournament{}, err
	}
	if need := footprint(len(spec.Arms)); need > s.o.Memory {
		return Tournament{}, problem.New(problem.OverLimit, "the length of arms is %d, which takes %d bytes of memory; all tournaments together may take %d", len(spec.Arms), need, s.o.Memory).In("arms").Within(s.o.Memory)
	}
	if err := ctx.Err(); err != nil {
		return Tournament{}, err
	}
	var made record
	fresh := false
	w := &write{then: func() {
		if fresh {
			s.count(false, 1)
		}
	}}
	w.do = func(tx *bbolt.Tx) error {
		fresh = false
		id, found, err := store.FindKey(bucket(tx, keysBucket), key, fingerprint, s.o.Now())
		if err != nil {
			w.refused = err
			return nil
		}
		if found {
			first, err := findRecord(tx, string(id))
			if err == nil {
				made = *first
				return nil
			}
			if problem.Of(err).Kind != UnknownTournament { // if it was deleted, another is created
				return err
			}
		}
		fresh = true
		n := 0 // including those made in this transaction, which Counts does not include
		if err := bucket(tx, idsBucket).ForEach(func(_, _ []byte) error { n++; return nil }); err != nil {
			return err
		}
		if n >= s.o.Most {
			w.refused = problem.New(problem.OverLimit, "there are %d tournaments, the greatest number permitted; delete one", n).Within(s.o.Most)
			return nil
		}
		made = record{Format: recordFormat, ID: idPrefix + strings.ToLower(rand.Text()), At: s.o.Now().Unix(), Config: config}
		return errors.Join(made.add(tx), store.PutKey(bucket(tx, keysBucket), key, fingerprint, []byte(made.ID), s.o.Now()))
	}
	s.journal.submit(w)
	if err := w.wait(ctx); err != nil {
		return Tournament{}, err
	}
	if !fresh {
		return s.Get(ctx, made.ID)
	}
	begun, err := newGame(config)
	if err != nil {
		return Tournament{}, err
	}
	t := made.view()
	state := viewState(config.Arms, begun.tournament.State(), true)
	t.State = &state
	return t, nil
}

// count adds n to the number of tournaments that have ended, or have not.
func (s *Store) count(done bool, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[done] += n
}

// Counts returns the number of tournaments of each status: running, done.
func (s *Store) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{"running": s.done[false], "done": s.done[true]}
}

// Get returns a tournament; UnknownTournament if there is none.
func (s *Store) Get(ctx context.Context, id string) (t Tournament, err error) {
	err = s.play(ctx, id, func(l *live) error {
		t = l.record.view()
		state := s.state(l, true)
		t.State = &state
		return nil
	})
	return t, err
}

// state returns the state of l, which the caller has locked.
func (s *Store) state(l *live, standings bool) State {
	l.game.now = s.o.Now()
	arms := l.record.Config.Arms
	v := viewState(arms, l.game.tournament.State(), standings)
	v.Undoable = l.game.undoable()
	if standings {
		v.Judges = viewJudges(arms, l.game.tournament.Judges())
		v.TiedPairs = viewTies(arms, l.game.tournament)
	}
	return v
}

// List returns the tournaments created before the tournament with id after ("" starts with
// the newest), newest first, without their states: at most limit (0 = problem.DefaultPage;
// 1..problem.MaxPage), and fewer if they exceed pageBytes, but at least one.
func (s *Store) List(after string, limit int) (Page, error) {
	limit, err := problem.PageSize(limit)
	if err != nil {
		return Page{}, err
	}
	var list []Tournament
	more := false
	err = s.db.View(func(tx *bbolt.Tx) error {
		older, found := sequence(tx).Before(after)
		if !found {
			return problem.New(UnknownTournament, "after: there is no tournament %q", after).In("after")
		}
		bytes := 0
		for _, text := range older {
			if bytes += len(text); len(list) == limit || len(list) > 0 && bytes > pageBytes {
				more = true
				return nil
			}
			r, err := decodeRecord(text)
			if err != nil {
				continue // Open has logged it, and Check names it
			}
			list = append(list, r.view())
		}
		return nil
	})
	if err != nil {
		return Page{}, err
	}
	return api.NewPage(list, more, func(t *Tournament) string { return t.ID }), nil
}

// Delete deletes a tournament. Later reports find none.
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.delete(ctx, id, func(*record) error { return nil })
}

// delete is Delete, unless refuse returns an error for the record.
func (s *Store) delete(ctx context.Context, id string, refuse func(*record) error) error {
	var done, damaged bool
	w := &write{then: func() {
		if !damaged { // Open did not count it
			s.count(done, -1)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if l := s.memory.live[id]; l != nil {
			l.fail(unknown(id))
			s.forget(l)
		}
		if err := s.removeTranscript(id); err != nil {
			s.o.Log.Warn("the transcript of a tournament that was deleted is left", "tournament", id, "reason", err)
		}
	}}
	w.do = func(tx *bbolt.Tx) error {
		r, err := findRecord(tx, id)
		if err == nil {
			if err := s.markTranscript(id); err != nil {
				return err
			}
		}
		if damaged = err != nil && problem.Of(err).Kind == Unplayable; damaged {
			n := bucket(tx, idsBucket).Get([]byte(id))
			return (&record{ID: id, Number: store.Number(n)}).remove(tx)
		}
		if err == nil {
			err = refuse(r)
		}
		if err != nil {
			w.refused = err
			return nil
		}
		done = r.Done
		return r.remove(tx)
	}
	s.journal.submit(w)
	err := w.wait(ctx)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, s.unmarkTranscript(id))
	}
	return err
}

// NextFor issues up to count duels to a judge, "" if unknown: first those whose leases have expired, then new ones. The
// same call with the same key, if that is not "", gets the same answer as long as it is
// remembered; without a key the duels of a lost answer are issued again when their leases
// expire.
func (s *Store) NextFor(ctx context.Context, id, judge string, count int, key string) (Duels, error) {
	if count < 1 {
		return Duels{}, problem.New(problem.InvalidValue, "count is %d, not 1 to %d", count, s.o.Duels).In("count").Within([]int{1, s.o.Duels})
	}
	if count > s.o.Duels {
		return Duels{}, problem.New(problem.OverLimit, "count is %d, not 1 to %d", count, s.o.Duels).In("count").Within([]int{1, s.o.Duels})
	}
	if err := ctx.Err(); err != nil {
		return Duels{}, err
	}
	var issued Duels
	coins := 0
	err := s.play(ctx, id, func(l *live) (err error) {
		if err := ctx.Err(); err != nil { // it has waited for others
			return err
		}
		issued, coins, err = s.issue(l, judge, count, key)
		return err
	})
	if err != nil {
		return Duels{}, err
	}
	s.o.Watch.DuelsIssued(len(issued.Duels))
	if coins > 0 {
		s.o.Watch.Reported("coin", coins)
	}
	return issued, nil
}

// issue implements NextFor for l, which the caller has locked.
func (s *Store) issue(l *live, judge string, count int, key string) (h Duels, coins int, err error) {
	arms := l.record.Config.Arms
	before, err := l.game.given.find(key, count)
	if err != nil {
		return h, 0, err
	}
	if before != nil {
		return Duels{Duels: viewDuels(arms, &l.game.numbers, before.Duels), Done: l.record.Done}, 0, nil
	}
	at := s.o.Now()
	duels, coins, err := l.game.draw(judge, count, time.Unix(0, at.UnixNano()))
	if errors.Is(err, duel.ErrEnded) {
		return h, 0, problem.New(TournamentEnded, "the tournament has ended: %s; %q won", l.game.tournament.State().End, arms[l.record.Winner])
	}
	if err == nil && len(duels)+coins > 0 {
		l.game.remember(key, count, duels)
		l.answers.Store(l.game.given.bytes())
		err = s.recordEvent(l, event{Count: count, At: at.UnixNano(), Key: key, Judge: judge, Sum: sumOfDuels(duels, coins)})
	}
	if err != nil {
		l.fail(err)
	}
	return Duels{Duels: viewDuels(arms, &l.game.numbers, duels), Done: l.record.Done}, coins, err
}

// Accept takes the results and skips of a report, in any order and repeatedly: the first result of a
// duel counts. All are accepted or, with an error, none: UnknownDuel for a duel that
// was never issued; unless lenient, DuelWithdrawn for one that ended with the
// elimination of an arm, and problem.Conflict for a result that differs from the first. If
// lenient, the receipts' statuses say so. Winners are remembered for the latest 65,536 duels.
func (s *Store) Accept(ctx context.Context, id string, results []Verdict, lenient bool) (Reported, error) {
	if len(results) == 0 {
		return Reported{}, problem.New(problem.InvalidValue, "there are 0 results, not 1 to %d", s.o.Duels).In("results").Within([]int{1, s.o.Duels})
	}
	if n := len(results); n > s.o.Duels {
		return Reported{}, problem.New(problem.OverLimit, "there are %d results, not 1 to %d", n, s.o.Duels).In("results").Within([]int{1, s.o.Duels})
	}
	if err := ctx.Err(); err != nil {
		return Reported{}, err
	}
	var r Reported
	err := s.play(ctx, id, func(l *live) (err error) {
		if err := ctx.Err(); err != nil { // it has waited for others
			return err
		}
		r, err = s.report(l, results, lenient)
		return err
	})
	if err != nil {
		return Reported{}, err
	}
	counts := map[string]int{}
	for _, x := range r.Receipts {
		counts[x.Status]++
	}
	for status, n := range counts {
		s.o.Watch.Reported(status, n)
	}
	return r, nil
}

// report implements Accept for l, which the caller has locked.
func (s *Store) report(l *live, report []Verdict, lenient bool) (r Reported, err error) {
	results, _ := split(report)
	statuses, take, err := l.game.validate(results, lenient)
	if err != nil {
		return r, atVerdict(err, report)
	}
	skips, err := l.game.checkSkips(report, lenient)
	if err != nil {
		return r, err
	}
	if len(take)+len(skips) > 0 {
		receipts, err := l.game.apply(take)
		if err == nil {
			err = l.game.skip(skips)
		}
		if err == nil {
			err = s.recordEvent(l, reportEvent(take, skips, receipts))
		}
		if err != nil {
			l.fail(err)
			return r, err
		}
		for i := range statuses {
			if statuses[i] == "" {
				statuses[i], receipts = receipts[0].Status, receipts[1:]
			}
		}
	}
	for _, v := range report {
		status := skipped
		if !v.Skip {
			status, statuses = string(statuses[0]), statuses[1:]
		}
		r.Receipts = append(r.Receipts, Receipt{DuelID: v.Duel, Status: status})
	}
	r.TournamentState = s.state(l, false)
	return r, nil
}
