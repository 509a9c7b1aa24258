package tournaments

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"thresher/bandit/duel"
	"thresher/service/problem"
)

// The bucket "tournaments" holds: records by a number that counts up; these numbers by
// id; idempotency keys; and, by number, a bucket for each tournament, with the log of
// its events by their numbers, and the latest snapshot.
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

// record is what the database keeps of a tournament besides its game.
type record struct {
	Format int         `json:"format"` // recordFormat
	Number uint64      `json:"number"` // position in the order of creation
	ID     string      `json:"id"`
	At     int64       `json:"created_at"` // Unix seconds
	Config duel.Config `json:"config"`
	Done   bool        `json:"done,omitempty"`
	Winner int         `json:"winner,omitempty"` // once done
}

// recordFormat changes whenever an older reader would misunderstand a record, an event
// or a snapshot.
const recordFormat = 1

func createBuckets(tx *bbolt.Tx) error {
	root, err := tx.CreateBucketIfNotExists([]byte(rootBucket))
	for _, name := range []string{recordsBucket, idsBucket, keysBucket, gamesBucket} {
		if err == nil {
			_, err = root.CreateBucketIfNotExists([]byte(name))
		}
	}
	return err
}

// bucket is one of those that createBuckets made.
func bucket(tx *bbolt.Tx, name string) *bbolt.Bucket {
	return tx.Bucket([]byte(rootBucket)).Bucket([]byte(name))
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func unknown(id string) *problem.Problem {
	return problem.New(problem.UnknownTournament, "there is no tournament %q", id)
}

// find reads a record; problem.UnknownTournament if there is none.
func find(tx *bbolt.Tx, id string) (*record, error) {
	n := bucket(tx, idsBucket).Get([]byte(id))
	if n == nil {
		return nil, unknown(id)
	}
	return decodeRecord(bucket(tx, recordsBucket).Get(n))
}

func decodeRecord(text []byte) (*record, error) {
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("record of a tournament: %w", err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("record of tournament %s has format %d, want %d", r.ID, r.Format, recordFormat)
	}
	return r, nil
}

// add records a new tournament as the newest, with an empty log.
func (r *record) add(tx *bbolt.Tx) error {
	records := bucket(tx, recordsBucket)
	var err error
	if r.Number, err = records.NextSequence(); err != nil {
		return err
	}
	game, err := bucket(tx, gamesBucket).CreateBucket(number(r.Number))
	if err != nil {
		return err
	}
	if _, err := game.CreateBucket([]byte(logBucket)); err != nil {
		return err
	}
	return errors.Join(bucket(tx, idsBucket).Put([]byte(r.ID), number(r.Number)), r.save(tx))
}

// save replaces the record.
func (r *record) save(tx *bbolt.Tx) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return bucket(tx, recordsBucket).Put(number(r.Number), text)
}

// remove forgets the tournament and its game.
func (r *record) remove(tx *bbolt.Tx) error {
	n := number(r.Number)
	return errors.Join(bucket(tx, gamesBucket).DeleteBucket(n), bucket(tx, recordsBucket).Delete(n), bucket(tx, idsBucket).Delete([]byte(r.ID)))
}

// game is the bucket of the tournament's game; problem.UnknownTournament if it was
// deleted.
func (r *record) game(tx *bbolt.Tx) (*bbolt.Bucket, error) {
	b := bucket(tx, gamesBucket).Bucket(number(r.Number))
	if b == nil {
		return nil, unknown(r.ID)
	}
	return b, nil
}

// log adds an event.
func (r *record) log(tx *bbolt.Tx, n uint64, event []byte) error {
	game, err := r.game(tx)
	if err != nil {
		return err
	}
	log := game.Bucket([]byte(logBucket))
	log.FillPercent = .9 // keys only go up
	return log.Put(number(n), event)
}

// keep puts a snapshot in the place of all events.
func (r *record) keep(tx *bbolt.Tx, state, rest []byte) error {
	game, err := r.game(tx)
	if err != nil {
		return err
	}
	if err := game.DeleteBucket([]byte(logBucket)); err != nil {
		return err
	}
	_, err = game.CreateBucket([]byte(logBucket))
	return errors.Join(err, game.Put([]byte(stateKey), state), game.Put([]byte(restKey), rest))
}

// stored is a game as it was read.
type stored struct {
	game   *game
	events uint64 // the number of the last
	logged int    // bytes of those since the snapshot
	kept   int    // bytes of the snapshot
}

// texts are copies of what is recorded of a game.
type texts struct {
	state, rest []byte // of the snapshot; nil if there is none
	numbers     []uint64
	events      [][]byte
}

// texts reads what is recorded of the game.
func (r *record) texts(tx *bbolt.Tx) (*texts, error) {
	game, err := r.game(tx)
	if err != nil {
		return nil, err
	}
	t := &texts{state: bytes.Clone(game.Get([]byte(stateKey))), rest: bytes.Clone(game.Get([]byte(restKey)))}
	err = game.Bucket([]byte(logBucket)).ForEach(func(n, text []byte) error {
		t.numbers = append(t.numbers, binary.BigEndian.Uint64(n))
		t.events = append(t.events, bytes.Clone(text))
		return nil
	})
	return t, err
}

// replay makes the game of r of its texts.
func (t *texts) replay(r *record) (*stored, error) {
	s := &stored{kept: len(t.state) + len(t.rest)}
	var err error
	if t.state != nil {
		s.game, s.events, err = restored(t.state, t.rest)
	} else {
		s.game, err = newGame(r.Config)
	}
	for i := 0; err == nil && i < len(t.events); i++ {
		s.logged += len(t.events[i])
		s.events++
		err = s.replay(t.numbers[i], t.events[i])
	}
	if err != nil {
		return nil, fmt.Errorf("tournament %s: %w", r.ID, err)
	}
	return s, nil
}

// replay has the game go through event n.
func (s *stored) replay(n uint64, text []byte) error {
	if n != s.events {
		return fmt.Errorf("event %d in the place of %d", n, s.events)
	}
	var e event
	if err := json.Unmarshal(text, &e); err != nil {
		return fmt.Errorf("event %d: %w", n, err)
	}
	if err := s.game.replay(&e); err != nil {
		return fmt.Errorf("event %d does not go as it went: %w", n, err)
	}
	return nil
}

// view is the tournament without its state.
func (r *record) view() Tournament {
	t := Tournament{ID: r.ID, Object: "tournament", CreatedAt: r.At, Spec: completed(r.Config), Done: r.Done}
	if r.Done {
		t.Winner = &t.Arms[r.Winner]
	}
	return t
}

// digest is the hash of a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
