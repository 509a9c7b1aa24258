package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/store"

	"thresher/service/problem"
)

// record is the record of a batch.
type record struct {
	Format      int    `json:"format"` // recordFormat
	Seq         uint64 `json:"seq"`    // position in the order of creation
	Fingerprint string `json:"fingerprint"`
	// Maker is the name of the token that made it, "" if none did, or it was made before makers
	// were recorded.
	Maker string `json:"maker,omitempty"`
	Batch Batch  `json:"batch"` // without Progress, which is derived from Tally
	// InputName is the client's name for the input, Matrix how it is read.
	InputName string `json:"input_name"`
	// ExcludeName and CandidatesName are the client's names for the files of lists.
	ExcludeName    string `json:"exclude_name,omitempty"`
	CandidatesName string `json:"candidates_name,omitempty"`
	Matrix         bool   `json:"matrix"`
	// Width bounds the atoms of an answer of a matrix; 0 means any number.
	Width int `json:"width,omitempty"`
	// Chunk and Slice are those the batch began with, because its outputs may depend on them.
	Chunk int `json:"chunk"`
	Slice int `json:"slice"`
	// AnswersVersion is that of the spool; 0 is before version 2, whose row numbers are the users' ids.
	AnswersVersion int `json:"answers_version,omitempty"`
	// Covers is what the answers to a matrix cover, as JSON; nil before it is validated, or by an older release.
	Covers json.RawMessage `json:"covers,omitempty"`
	// Outcome, if not "", says that the outputs are sealed, and is the status that the batch
	// gets once they are delivered.
	Outcome Status `json:"outcome,omitempty"`
	Tally   tally  `json:"tally"`
}

// Formats change if older releases would misunderstand a record: those before goals would
// ignore them.
const (
	recordFormat = 1
	goalsFormat  = 2 // of records with goals
)

// format returns the format that a record has.
func (rec *record) format() int {
	if rec.Batch.Goals != nil {
		return goalsFormat
	}
	return recordFormat
}

// tally adds up what is answered.
type tally struct {
	Completed  int64 `json:"completed"` // requests
	Failed     int64 `json:"failed"`
	Expired    int64 `json:"expired"` // those of Failed that came too late
	Queries    int64 `json:"queries"`
	Pulls      int64 `json:"pulls"`
	DensePulls int64 `json:"dense_pulls"`
	Nanos      int64 `json:"nanos"` // time of work
}

func (t *tally) requests() int64 { return t.Completed + t.Failed }

// encode and decodeTally convert the totals that are stored with the durable chunks.
func (t *tally) encode() ([]byte, error) { return json.Marshal(t) }

func decodeTally(totals []byte) (tally, error) {
	var t tally
	if totals == nil {
		return t, nil
	}
	if err := json.Unmarshal(totals, &t); err != nil {
		return t, fmt.Errorf("totals of the chunks before: %w", err)
	}
	return t, nil
}

// ledger is the bucket of batches: records by sequence number, sequence numbers by id. Each
// record is also in a note in the folder of batches, for recovery without the database.
type ledger struct {
	db   *bbolt.DB
	dir  string
	disk store.Disk
}

// The note of a batch is a file named by its id and noteSuffix.
const (
	noteSuffix = ".batch"
	noteKind   = "batch"
)

// note returns the path of a batch's note.
func (l ledger) note(id string) string { return filepath.Join(l.dir, id+noteSuffix) }

func (l ledger) putNote(rec *record) error {
	return l.disk.PutNote(l.note(rec.Batch.ID), noteKind, rec)
}

// readNote reads a batch's note.
func (l ledger) readNote(id string) (*record, error) {
	rec := &record{}
	err := store.Note(l.note(id), noteKind, rec)
	if err == nil && (rec.Format != rec.format() || rec.Batch.ID != id) {
		err = fmt.Errorf("%s: %w: it is that of batch %q, of format %d", id+noteSuffix, store.ErrNote, rec.Batch.ID, rec.Format)
	}
	return rec, err
}

const (
	rootBucket    = "batches"
	recordsBucket = "records"
	idsBucket     = "ids"
)

func openLedger(dir string, bolt *bbolt.DB, disk store.Disk) (ledger, error) {
	err := bolt.Update(func(tx *bbolt.Tx) error {
		if err := Schema().Create(tx); err != nil {
			return err
		}
		return sequence(tx).Reindex(func(text []byte) (uint64, string, error) {
			rec, err := decodeRecord(text)
			if err != nil {
				return 0, "", err // each reports it
			}
			return rec.Seq, rec.Batch.ID, nil
		})
	})
	return ledger{bolt, dir, disk}, err
}

// Schema is that of the batches' records.
func Schema() store.Schema {
	return store.Schema{Root: rootBucket, Buckets: []store.Entries{{Name: recordsBucket, Check: checkBatch}, {Name: idsBucket, Check: store.CheckID}}}
}

// checkBatch returns what is wrong with the record of a batch.
func checkBatch(key, text []byte) error {
	rec := &record{}
	err := store.ReadJSON("a batch", text, rec)
	if err == nil && (!store.IsNumber(key) || store.Number(key) != rec.Seq || !strings.HasPrefix(rec.Batch.ID, idPrefix)) {
		err = fmt.Errorf("it is that of batch %q, number %d", rec.Batch.ID, rec.Seq)
	}
	return err
}

// sequence returns the records of a transaction.
func sequence(tx *bbolt.Tx) store.Sequence {
	return store.Sequence{Records: store.Bucket(tx, rootBucket, recordsBucket), IDs: store.Bucket(tx, rootBucket, idsBucket)}
}

// add gives rec a sequence number and records it. Calls must not be concurrent.
func (l ledger) add(rec *record) error {
	err := l.db.View(func(tx *bbolt.Tx) error {
		rec.Seq = sequence(tx).Next()
		return nil
	})
	if err != nil {
		return err
	}
	if err := l.putNote(rec); err != nil {
		return err
	}
	if err := l.insert(rec); err != nil {
		return errors.Join(err, l.disk.Remove(l.note(rec.Batch.ID)))
	}
	return nil
}

// insert records a batch under its sequence number, or the next if that is taken.
func (l ledger) insert(rec *record) error {
	return l.db.Update(func(tx *bbolt.Tx) error {
		s := sequence(tx)
		if s.Records.Get(store.Key(rec.Seq)) != nil || rec.Seq == 0 {
			rec.Seq = s.Next()
		}
		return rec.putIn(s)
	})
}

// save replaces the record of a batch.
func (l ledger) save(rec *record) error {
	if err := l.putNote(rec); err != nil {
		return err
	}
	return l.db.Update(func(tx *bbolt.Tx) error { return rec.putIn(sequence(tx)) })
}

func (rec *record) putIn(s store.Sequence) error {
	text, err := store.Seal(rec)
	if err != nil {
		return err
	}
	return s.Put(rec.Seq, rec.Batch.ID, text)
}

// get returns a record; problem.UnknownBatch if there is none.
func (l ledger) get(id string) (*record, error) {
	var rec *record
	err := l.db.View(func(tx *bbolt.Tx) error {
		text := sequence(tx).Get(id)
		if text == nil {
			return Unknown(id)
		}
		var err error
		rec, err = decodeRecord(text)
		return err
	})
	return rec, err
}

// Unknown returns the problem of a batch that does not exist.
func Unknown(id string) *problem.Problem {
	return problem.New(problem.UnknownBatch, "there is no batch %q", id)
}

func decodeRecord(text []byte) (*record, error) {
	rec := &record{}
	if err := store.ReadJSON("a batch", text, rec); err != nil {
		return nil, err
	}
	return rec, store.CheckFormat("batch "+rec.Batch.ID, rec.Format, rec.format())
}

// remove deletes a batch, its note first, so that it is not adopted again.
func (l ledger) remove(rec *record) error {
	if err := l.disk.Remove(l.note(rec.Batch.ID)); err != nil {
		return err
	}
	if err := l.disk.FlushFolder(l.dir); err != nil {
		return err
	}
	return l.db.Update(func(tx *bbolt.Tx) error { return sequence(tx).Remove(rec.Seq, rec.Batch.ID) })
}

// eachRecord visits the records of all batches, oldest first.
func eachRecord(tx *bbolt.Tx) iter.Seq2[*record, error] {
	return store.Each(sequence(tx).Records, func(_, text []byte) (*record, error) { return decodeRecord(text) })
}

// each calls do with every record, oldest first.
func (l ledger) each(do func(*record) error) error {
	return l.db.View(func(tx *bbolt.Tx) error {
		for rec, err := range eachRecord(tx) {
			if err == nil {
				err = do(rec)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// before returns up to limit records older than the batch with id after ("" = all), newest
// first, of makers that may be seen (nil sees all), and whether there are more.
func (l ledger) before(after string, limit int, may func(maker string) bool) (page []*record, more bool, err error) {
	err = l.db.View(func(tx *bbolt.Tx) error {
		older, found := sequence(tx).Before(after)
		if !found {
			return problem.New(problem.UnknownBatch, "after: there is no batch %q", after).In("after")
		}
		for _, text := range older {
			rec, err := decodeRecord(text)
			if err != nil {
				return err
			}
			if may != nil && !may(rec.Maker) {
				continue
			}
			if len(page) == limit {
				more = true
				return nil
			}
			page = append(page, rec)
		}
		return nil
	})
	return page, more, err
}
