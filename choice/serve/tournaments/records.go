package tournaments

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"thresher/choice/duel"
	"thresher/service/problem"
	"thresher/store"
)

// The bucket "tournaments" holds: records by an increasing number; these numbers by id;
// idempotency keys; and, by number, a bucket for each tournament, with the log of its events
// by their numbers, and the latest snapshot.
const (
	rootBucket    = "tournaments"
	recordsBucket = "records"
	idsBucket     = "ids"
	keysBucket    = "keys"
	gamesBucket   = "games"

	logBucket = "log"
	stateKey  = "state"
	restKey   = "rest"
)

// record is the record of a tournament without its game.
type record struct {
	Format int         `json:"format"` // recordFormat
	Number uint64      `json:"number"` // position in the order of creation
	ID     string      `json:"id"`
	At     int64       `json:"created_at"` // Unix seconds
	Config duel.Config `json:"config"`
	Done   bool        `json:"done,omitempty"`
	Winner int         `json:"winner,omitempty"` // once done
	// EndedAt is when it was done, in Unix seconds; 0 in records of releases that did not say it, until
	// Expire has seen them.
	EndedAt int64 `json:"ended_at,omitempty"`
}

// recordFormat changes if older releases would misunderstand a record, an event or a
// snapshot.
const recordFormat = 1

// Schema is that of the tournaments' records. The record of a tournament, and what there is of its game,
// are that tournament's alone: they stay, and Check reports them.
func Schema() store.Schema {
	return store.Schema{Root: rootBucket, Buckets: []store.Entries{
		{Name: recordsBucket, Check: checkNumber}, {Name: idsBucket, Check: store.CheckID}, {Name: keysBucket, Check: store.CheckKey}, {Name: gamesBucket},
	}}
}

// checkNumber returns what is wrong with the key of a tournament's record.
func checkNumber(key, _ []byte) error {
	if len(key) != 8 {
		return errors.New("it has no number")
	}
	return nil
}

// bucket returns one of the buckets of the schema.
func bucket(tx *bbolt.Tx, name string) *bbolt.Bucket {
	return store.Bucket(tx, rootBucket, name)
}

// reindex creates the buckets, and makes the index of tournaments by id agree with the records.
func reindex(tx *bbolt.Tx) error {
	if err := Schema().Create(tx); err != nil {
		return err
	}
	return sequence(tx).Reindex(func(text []byte) (uint64, string, error) {
		r, err := decodeRecord(text)
		if err != nil {
			return 0, "", err // Check reports it
		}
		return r.Number, r.ID, nil
	})
}

// sequence returns the records of a transaction.
func sequence(tx *bbolt.Tx) store.Sequence {
	return store.Sequence{Records: bucket(tx, recordsBucket), IDs: bucket(tx, idsBucket)}
}

func unknown(id string) *problem.Problem {
	return problem.New(UnknownTournament, "there is no tournament %q", id)
}

// findRecord returns a record; UnknownTournament if there is none.
func findRecord(tx *bbolt.Tx, id string) (*record, error) {
	text := sequence(tx).Get(id)
	if text == nil {
		return nil, unknown(id)
	}
	r, err := decodeRecord(text)
	if err != nil {
		return nil, unplayable(&record{ID: id}, "its record is damaged", err)
	}
	return r, nil
}

func decodeRecord(text []byte) (*record, error) {
	r := &record{}
	if err := store.Unseal(text, r); err != nil {
		return nil, fmt.Errorf("record of a tournament: %w", err)
	}
	return r, store.CheckFormat("tournament "+r.ID, r.Format, recordFormat)
}

// add records a new tournament as the newest, with an empty log.
func (r *record) add(tx *bbolt.Tx) error {
	r.Number = sequence(tx).Next()
	game, err := bucket(tx, gamesBucket).CreateBucket(store.Key(r.Number))
	if err != nil {
		return err
	}
	if _, err := game.CreateBucket([]byte(logBucket)); err != nil {
		return err
	}
	return r.save(tx)
}

// save writes the record.
func (r *record) save(tx *bbolt.Tx) error {
	text, err := store.Seal(r)
	if err != nil {
		return err
	}
	return sequence(tx).Put(r.Number, r.ID, text)
}

// remove deletes the tournament and its game.
func (r *record) remove(tx *bbolt.Tx) error {
	var err error
	if games := bucket(tx, gamesBucket); games.Bucket(store.Key(r.Number)) != nil { // else it is lost
		err = games.DeleteBucket(store.Key(r.Number))
	}
	return errors.Join(err, sequence(tx).Remove(r.Number, r.ID))
}

// game returns the bucket of the tournament's game; UnknownTournament if it was
// deleted.
func (r *record) game(tx *bbolt.Tx) (*bbolt.Bucket, error) {
	b := bucket(tx, gamesBucket).Bucket(store.Key(r.Number))
	if b == nil {
		return nil, unknown(r.ID)
	}
	if b.Bucket([]byte(logBucket)) == nil {
		return nil, unplayable(r, "the record of its calls is lost", errors.New("there is no log"))
	}
	return b, nil
}

// appendEvent adds event n, which must follow the last one.
func (r *record) appendEvent(tx *bbolt.Tx, n uint64, event []byte) error {
	game, err := r.game(tx)
	if err != nil {
		return err
	}
	if last, err := lastEvent(game); err != nil || n != last+1 {
		return r.misplaced(n, last, err)
	}
	log := game.Bucket([]byte(logBucket))
	log.FillPercent = .9 // keys increase
	return log.Put(store.Key(n), event)
}

// lastEvent returns the number of the last event in a game's log or snapshot, 0 if there is
// none.
func lastEvent(game *bbolt.Bucket) (uint64, error) {
	if n, _ := game.Bucket([]byte(logBucket)).Cursor().Last(); n != nil {
		return store.Number(n), nil
	}
	rest := game.Get([]byte(restKey))
	if rest == nil {
		return 0, nil
	}
	var b struct {
		Event uint64 `json:"event"`
	}
	err := store.Unseal(rest, &b)
	return b.Event, err
}

// misplaced returns the error of an event whose number does not follow the last one.
func (r *record) misplaced(n, last uint64, err error) error {
	if err == nil {
		err = fmt.Errorf("the last that is recorded is %d", last)
	}
	return fmt.Errorf("tournament %s: event %d cannot be recorded: %w", r.ID, n, err)
}

// replaceLog replaces the log, whose last event has number recorded, by a snapshot taken
// after event n.
func (r *record) replaceLog(tx *bbolt.Tx, recorded, n uint64, state, rest []byte) error {
	game, err := r.game(tx)
	if err != nil {
		return err
	}
	if last, err := lastEvent(game); err != nil || recorded != last {
		return r.misplaced(n, last, err)
	}
	if err := game.DeleteBucket([]byte(logBucket)); err != nil {
		return err
	}
	_, err = game.CreateBucket([]byte(logBucket))
	return errors.Join(err, game.Put([]byte(stateKey), state), game.Put([]byte(restKey), rest))
}

// stored is a game read from the database.
type stored struct {
	game   *game
	events uint64 // number of the last event
	logged int    // bytes of events since the snapshot
	kept   int    // bytes of the snapshot
}

// texts holds copies of the records of a game.
type texts struct {
	state, rest []byte // of the snapshot; nil if there is none
	numbers     []uint64
	events      [][]byte
}

// texts reads the records of the game.
func (r *record) texts(tx *bbolt.Tx) (*texts, error) {
	if bucket(tx, gamesBucket).Bucket(store.Key(r.Number)) == nil { // while its record is there
		return nil, unplayable(r, "the record of its calls is lost", errors.New("there is no game"))
	}
	game, err := r.game(tx)
	if err != nil {
		return nil, err
	}
	t := &texts{state: bytes.Clone(game.Get([]byte(stateKey))), rest: bytes.Clone(game.Get([]byte(restKey)))}
	err = game.Bucket([]byte(logBucket)).ForEach(func(n, text []byte) error {
		t.numbers = append(t.numbers, store.Number(n))
		t.events = append(t.events, bytes.Clone(text))
		return nil
	})
	return t, err
}

// replay reconstructs the game of r, and calls tell, unless it is nil, with what each call did. Its
// errors, except those of ctx and tell, are Unplayable and name the call.
func (t *texts) replay(ctx context.Context, r *record, tell func(n uint64, what told) error) (*stored, error) {
	s := &stored{kept: len(t.state) + len(t.rest)}
	var err error
	if (t.state == nil) != (t.rest == nil) {
		return nil, unplayable(r, "a half of its state is missing", errors.New("there is the other half"))
	}
	if t.state != nil {
		s.game, s.events, err = restored(t.state, t.rest)
	} else {
		s.game, err = newGame(r.Config)
	}
	if err != nil {
		return nil, unplayable(r, "its state cannot be read", err)
	}
	for i, text := range t.events {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.logged += len(text)
		s.events++
		var e event
		if t.numbers[i] != s.events {
			return nil, unplayable(r, fmt.Sprintf("the record of call %d is missing", s.events), fmt.Errorf("event %d in its place", t.numbers[i]))
		}
		if err := store.Unseal(text, &e); err != nil {
			return nil, unplayable(r, fmt.Sprintf("the record of call %d is damaged", s.events), err)
		}
		if err := s.game.replay(&e); err != nil {
			return nil, unplayable(r, fmt.Sprintf("call %d does not go as it went when it was recorded", s.events), err)
		}
		if tell == nil {
			continue
		}
		if err := tell(s.events, s.game.told); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// unplayable returns the problem of records that cannot be replayed. They are never deleted:
// the release that recorded them can still replay them.
func unplayable(r *record, what string, err error) error {
	return problem.New(Unplayable, "tournament %s: %s; its records are unchanged; the release that recorded them can play it", r.ID, what).
		In("id").Because(err)
}

// view returns the tournament without its state.
func (r *record) view() Tournament {
	t := Tournament{ID: r.ID, Object: "tournament", CreatedAt: r.At, TournamentSpec: completed(r.Config), Assumes: assumed(r.Config), Done: r.Done}
	if r.Done {
		t.Winner = &t.Arms[r.Winner]
	}
	return t
}

// assumed returns what a guarantee assumes of the preferences, "" if nothing: two arms always have an
// order, in which one of them is unbeaten.
func assumed(c duel.Config) string {
	if len(c.Arms) == 2 || c.Algorithm == duel.Copeland {
		return ""
	}
	return c.Algorithm.Assumes()
}

// digest returns the hash of a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
