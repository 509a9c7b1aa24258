package tournaments

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"thresher/choice/serve/choiceapi"
	"thresher/service/problem"
	"thresher/store"
)

// Exported says what Export wrote.
type Exported struct {
	Calls, Judgments, Lost int64
}

// Prepared is an export whose tournament was found.
type Prepared struct {
	id     string
	record *record // nil if it is lost
	upTo   uint64  // the last call that the transcript is to have
	calls  uint64  // the last call
	tail   []told  // calls after upTo, as they were replayed
	raw    []rawCall
	why    error // why the calls after tail cannot be replayed; nil if they can
	file   *os.File
	size   int64
}

// rawCall is a call that cannot be replayed.
type rawCall struct {
	number uint64
	text   []byte
}

// PrepareExport finds a tournament in bolt, and its transcript in dir, for an export of all its calls.
// It works as well if parts of the records are damaged or missing. If there is neither a record nor a
// transcript the error is UnknownTournament. The caller calls Write and Close.
func PrepareExport(ctx context.Context, bolt *bbolt.DB, dir, id string) (*Prepared, error) {
	p := &Prepared{id: id}
	var t *texts
	err := bolt.View(func(tx *bbolt.Tx) error {
		p.record = lookFor(tx, id)
		if p.record == nil {
			return nil
		}
		t, p.why = p.record.texts(tx)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.file, err = os.Open(filepath.Join(dir, filepath.Base(id)+transcriptSuffix))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if p.file == nil && p.record == nil {
		return nil, unknown(id)
	}
	if p.file != nil {
		info, err := p.file.Stat()
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.size = info.Size()
	}
	if err := p.replay(ctx, t); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// lookFor returns the record of a tournament, nil if it is not there, or is damaged; the index of ids
// may be.
func lookFor(tx *bbolt.Tx, id string) (found *record) {
	records := bucket(tx, recordsBucket)
	if records == nil {
		return nil
	}
	_ = records.ForEach(func(_, text []byte) error {
		if r, err := decodeRecord(text); err == nil && r.ID == id {
			found = r
		}
		return nil
	})
	return found
}

// replay tells the calls after the snapshot, of which t has the records; nil if they are lost.
func (p *Prepared) replay(ctx context.Context, t *texts) error {
	if t == nil {
		for _, b := range callBlocks(p.reader(), p.size) { // all that the transcript has
			p.upTo = max(p.upTo, b.first+b.count-1)
		}
		p.calls = p.upTo
		return nil
	}
	p.upTo, p.calls = t.last()
	_, err := t.replay(ctx, p.record, func(n uint64, what told) error {
		what.Call = n
		p.tail = append(p.tail, what)
		return nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.why = err; err == nil {
		return nil
	}
	after := p.upTo + uint64(len(p.tail))
	for i, n := range t.numbers {
		if n > after {
			p.raw = append(p.raw, rawCall{n, t.events[i]})
		}
	}
	return nil
}

// last returns the numbers of the last call in the snapshot and of the last one recorded.
func (t *texts) last() (snapshot, last uint64) {
	var rest struct {
		Event uint64 `json:"event"`
	}
	if len(t.numbers) > 0 {
		snapshot = t.numbers[0] - 1
		last = t.numbers[len(t.numbers)-1]
	}
	if t.rest != nil && store.Unseal(t.rest, &rest) == nil {
		snapshot = rest.Event
	}
	return snapshot, max(snapshot, last)
}

// Close ends the export.
func (p *Prepared) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// Write writes the export as lines of JSON: the tournament; every call in its order; in the place of
// calls that are lost, which; and at the end how many of each there were. Errors are those of w, and
// that of ctx.
func (p *Prepared) Write(ctx context.Context, w io.Writer) (Exported, error) {
	e := &exporter{p: p, out: bufio.NewWriterSize(w, 64<<10), next: 1}
	if err := e.all(ctx); err != nil {
		return e.did, err
	}
	return e.did, e.out.Flush()
}

// exporter writes the lines of an export.
type exporter struct {
	p    *Prepared
	out  *bufio.Writer
	next uint64 // the next call to be written
	did  Exported
}

func (e *exporter) all(ctx context.Context) error {
	head := Tournament{ID: e.p.id, Object: "tournament"}
	if e.p.record != nil {
		head = e.p.record.view()
	}
	if err := e.line(head); err != nil {
		return err
	}
	if err := e.transcript(ctx); err != nil {
		return err
	}
	for i := range e.p.tail {
		if err := e.call(&e.p.tail[i]); err != nil {
			return err
		}
	}
	for _, r := range e.p.raw {
		if err := e.raw(r); err != nil {
			return err
		}
	}
	if err := e.gap(e.p.calls+1, "nothing has them"); err != nil {
		return err
	}
	return e.line(choiceapi.JudgmentsEnd{Object: "end", Calls: e.did.Calls, Judgments: e.did.Judgments, Lost: e.did.Lost})
}

// transcript writes the calls up to upTo.
func (e *exporter) transcript(ctx context.Context) error {
	r := e.p.reader()
	for _, b := range callBlocks(r, e.p.size) {
		end := min(e.p.upTo+1, b.first+b.count)
		if end <= max(b.first, e.next) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.gap(b.first, notTold); err != nil {
			return err
		}
		calls, err := b.calls(r)
		if err != nil {
			if err := e.gap(end, "the transcript is damaged there: "+err.Error()); err != nil {
				return err
			}
			continue
		}
		for i := range calls {
			if c := &calls[i]; c.Call >= e.next && c.Call < end {
				if err := e.call(c); err != nil {
					return err
				}
			}
		}
	}
	return e.gap(e.p.upTo+1, notTold)
}

// notTold is why calls before a snapshot are lost without a damaged block.
const notTold = "the transcript has not got them: it is damaged there, or an earlier release took them"

// gap says that the calls before number first are lost, if any are.
func (e *exporter) gap(first uint64, why string) error {
	if first <= e.next {
		return nil
	}
	l := choiceapi.JudgmentsLost{Object: "lost", First: e.next, Last: first - 1, Reason: why}
	e.did.Lost += int64(first - e.next)
	e.next = first
	return e.line(l)
}

// call writes a call with the names of its arms.
func (e *exporter) call(t *told) error {
	if err := e.gap(t.Call, "their records are missing"); err != nil {
		return err
	}
	c := choiceapi.JudgmentsCall{Object: "call", Call: t.Call, Judge: t.Judge, Coins: t.Coins, Undone: t.Undone}
	if t.At != 0 {
		at := time.Unix(0, t.At).UTC()
		c.At = &at
	}
	for _, d := range t.Issued {
		c.Issued = append(c.Issued, choiceapi.JudgmentsDuel{DuelID: d.Duel, A: e.arm(d.A), B: e.arm(d.B)})
	}
	c.Judged, c.Skipped = e.verdicts(t.Judged), e.verdicts(t.Skipped)
	for i, v := range t.Judged {
		if won := v.AWon; !v.Tie {
			c.Judged[i].AWon = &won
		}
	}
	e.did.Judgments += int64(len(c.Judged))
	return e.done(c)
}

func (e *exporter) verdicts(all []toldVerdict) (list []choiceapi.Judgment) {
	for _, v := range all {
		list = append(list, choiceapi.Judgment{JudgmentsDuel: choiceapi.JudgmentsDuel{DuelID: v.Duel, A: e.arm(v.A), B: e.arm(v.B)}, Tie: v.Tie, Judge: v.Judge})
	}
	return list
}

// raw writes a call as it was recorded, because it cannot be replayed.
func (e *exporter) raw(r rawCall) error {
	if err := e.gap(r.number, "their records are missing"); err != nil {
		return err
	}
	var ev event
	if err := store.Unseal(r.text, &ev); err != nil {
		return e.gap(r.number+1, "the record is damaged: "+err.Error())
	}
	e.did.Judgments += int64(len(ev.results()))
	return e.done(choiceapi.JudgmentsCall{Object: "call", Call: r.number, Recorded: json.RawMessage(r.text)})
}

func (e *exporter) done(c choiceapi.JudgmentsCall) error {
	e.did.Calls++
	e.next = c.Call + 1
	return e.line(c)
}

// arm returns the name of an arm; if the record is lost, its number.
func (e *exporter) arm(i int) string {
	if r := e.p.record; r != nil && i >= 0 && i < len(r.Config.Arms) {
		return r.Config.Arms[i]
	}
	return "#" + strconv.Itoa(i)
}

func (e *exporter) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = e.out.Write(append(text, '\n'))
	return err
}

// reader returns the transcript, which may be empty.
func (p *Prepared) reader() io.ReaderAt {
	if p.file == nil {
		return emptyFile{}
	}
	return p.file
}

// emptyFile is a transcript that does not exist.
type emptyFile struct{}

func (emptyFile) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }

// Why returns why the last calls are exported as they were recorded; nil if they are not.
func (p *Prepared) Why() error {
	var pr *problem.Problem
	if errors.As(p.why, &pr) && pr.Err != nil {
		return fmt.Errorf("%w: %w", p.why, pr.Err)
	}
	return p.why
}

// PrepareExport is that of the package, for the tournaments of the store.
func (s *Store) PrepareExport(ctx context.Context, id string) (*Prepared, error) {
	return PrepareExport(ctx, s.db, s.o.Dir, id)
}

// Known returns which names in the folder of transcripts are transcripts, for backups: all, because
// what was judged in a tournament can be exported without its record.
func Known(*bbolt.Tx) (known func(name string) bool, err error) {
	return func(name string) bool { return filepath.Ext(name) == transcriptSuffix }, nil
}
