package tournaments

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.etcd.io/bbolt"

	"thresher/choice/duel"
	"thresher/choice/serve/choiceapi"
	"thresher/internal/draws"
	"thresher/service/problem"
	"thresher/store"
)

// exported is an export as read back.
type exported struct {
	head  Tournament
	calls []choiceapi.JudgmentsCall
	lost  []choiceapi.JudgmentsLost
	end   choiceapi.JudgmentsEnd
}

// export exports a tournament and reads the lines.
func export(t testing.TB, bolt *bbolt.DB, dir, id string) exported {
	t.Helper()
	p, err := PrepareExport(t.Context(), bolt, dir, id)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var text bytes.Buffer
	did, err := p.Write(t.Context(), &text)
	if err != nil {
		t.Fatal(err)
	}
	var e exported
	lines := bufio.NewScanner(&text)
	lines.Buffer(nil, 1<<24)
	for n := 0; lines.Scan(); n++ {
		var kind struct{ Object string }
		err := json.Unmarshal(lines.Bytes(), &kind)
		switch {
		case err != nil:
		case n == 0:
			err = json.Unmarshal(lines.Bytes(), &e.head)
		case kind.Object == "call":
			var c choiceapi.JudgmentsCall
			err = json.Unmarshal(lines.Bytes(), &c)
			e.calls = append(e.calls, c)
		case kind.Object == "lost":
			var l choiceapi.JudgmentsLost
			err = json.Unmarshal(lines.Bytes(), &l)
			e.lost = append(e.lost, l)
		default:
			err = json.Unmarshal(lines.Bytes(), &e.end)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
	}
	if e.head.ID != id || e.end.Object != "end" || e.end.Calls != int64(len(e.calls)) || (Exported{e.end.Calls, e.end.Judgments, e.end.Lost}) != did {
		t.Fatalf("%+v, %+v, %+v", e.head, e.end, did)
	}
	return e
}

// adds fails unless every call up to last is there or named as lost, each once and in order.
func (e *exported) adds(t testing.TB, last uint64) {
	t.Helper()
	next, lost := uint64(1), e.lost
	for _, c := range e.calls {
		for len(lost) > 0 && lost[0].First == next {
			next, lost = lost[0].Last+1, lost[1:]
		}
		if c.Call != next {
			t.Fatalf("call %d in the place of %d; lost are %+v", c.Call, next, e.lost)
		}
		next++
	}
	for len(lost) > 0 && lost[0].First == next {
		next, lost = lost[0].Last+1, lost[1:]
	}
	if next != last+1 || len(lost) > 0 {
		t.Fatalf("it ends before call %d, not %d; lost are %+v", next, last+1, e.lost)
	}
}

// course plays a tournament and keeps what it was told.
type course struct {
	h    *house
	id   string
	r    *rand.Rand
	want []choiceapi.JudgmentsCall
	open []Duel
}

func newCourse(h *house, seed uint64) *course {
	spec := Spec{Arms: arms(6), Mode: string(duel.Online), Horizon: of[int64](1e8), Testing: "sweep", Seed: of(seed)}
	return &course{h: h, id: h.create(spec), r: rand.New(rand.NewPCG(draws.Seed(), seed))}
}

// step makes one call.
func (c *course) step() {
	h, ctx := c.h, context.Background()
	call := choiceapi.JudgmentsCall{Object: "call"}
	switch {
	case len(c.open) == 0:
		var issued Duels
		for len(issued.Duels) == 0 {
			h.clock.pass(time.Hour) // beyond the leases of duels that were forgotten
			call.Judge = fmt.Sprint("judge ", c.r.IntN(3))
			var err error
			if issued, err = h.NextFor(ctx, c.id, call.Judge, 1+c.r.IntN(8), ""); err != nil {
				h.t.Fatal(err)
			}
		}
		for _, d := range issued.Duels {
			call.Issued = append(call.Issued, choiceapi.JudgmentsDuel{DuelID: d.ID, A: d.A, B: d.B})
		}
		c.open = issued.Duels
	case c.r.IntN(8) == 0 && len(h.get(c.id).State.Undoable) > 0:
		undone, err := h.Undo(ctx, c.id, 0, "")
		if err != nil {
			h.t.Fatal(err)
		}
		call.Undone, c.open = undone.UndoneDuels, nil // those issued since are withdrawn
	default:
		var report []Verdict
		for _, d := range c.open {
			v := Verdict{Result: duel.Result{Duel: d.ID, Judge: "ann"}}
			j := choiceapi.Judgment{JudgmentsDuel: choiceapi.JudgmentsDuel{DuelID: d.ID, A: d.A, B: d.B}, Judge: "ann"}
			switch c.r.IntN(10) {
			case 0:
				v.Skip = true
				call.Skipped = append(call.Skipped, j)
			case 1:
				v.Tie, j.Tie = true, true
				call.Judged = append(call.Judged, j)
			default:
				v.AWon = c.r.IntN(2) == 0
				j.AWon = &v.AWon
				call.Judged = append(call.Judged, j)
			}
			report = append(report, v)
		}
		if _, err := h.Accept(ctx, c.id, report, false); err != nil {
			h.t.Fatal(err)
		}
		c.open = nil
	}
	call.Call = uint64(len(c.want) + 1)
	c.want = append(c.want, call)
}

// same compares an export with what was told, but for times.
func (c *course) same(e exported) {
	c.h.t.Helper()
	got := make([]choiceapi.JudgmentsCall, len(e.calls))
	for i, call := range e.calls {
		if (call.At == nil) != (call.Issued == nil) {
			c.h.t.Fatalf("call %d has the time %v", call.Call, call.At)
		}
		call.At, call.Coins = nil, 0
		got[i] = call
	}
	if d := cmp.Diff(c.want, got); d != "" {
		c.h.t.Fatal(d)
	}
}

func transcribed(t *testing.T) *house {
	t.Helper()
	return newHouse(t, Options{Dir: t.TempDir(), logBytes: 600, blockBytes: 2000})
}

// TestExport: every call is exported as its client saw it, whatever was replaced by snapshots, also after
// kills and regular ends.
func TestExport(t *testing.T) {
	h := transcribed(t)
	c := newCourse(h, 1)
	for i := range 400 {
		c.step()
		switch i % 60 {
		case 20:
			h.reopen()
		case 40:
			h.Close(t.Context())
			h.reopen()
		}
		if i%100 == 99 {
			c.same(export(t, h.db, h.o.Dir, c.id))
		}
	}
	if e := export(t, h.db, h.o.Dir, c.id); e.end.Lost > 0 || e.end.Judgments < 400 || len(e.head.Arms) != 6 {
		t.Errorf("%+v", e.end)
	}
	if info, err := os.Stat(filepath.Join(h.o.Dir, c.id+transcriptSuffix)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if err := h.Delete(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(h.o.Dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if _, err := PrepareExport(t.Context(), h.db, h.o.Dir, c.id); problem.Of(err).Kind != UnknownTournament {
		t.Error(err)
	}
}

// TestExportOfDamage: with a part of the transcript overwritten by zeros, wherever it is, every call is
// exported or named as lost, and most are exported; the tournament can be played on.
func TestExportOfDamage(t *testing.T) {
	h := transcribed(t)
	c := newCourse(h, 2)
	for range 300 {
		c.step()
	}
	path := filepath.Join(h.o.Dir, c.id+transcriptSuffix)
	h.Close(t.Context())
	h.reopen()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const sector = 64
	for at := 0; at < len(whole); at += max(sector, len(whole)/25) {
		broken := bytes.Clone(whole)
		clear(broken[at:min(at+sector, len(broken))])
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		e := export(t, h.db, h.o.Dir, c.id)
		e.adds(t, 300)
		if e.end.Lost == 0 || e.end.Lost > 60 {
			t.Errorf("from byte %d of %d on: %d calls are lost", at, len(whole), e.end.Lost)
		}
		for _, call := range e.calls {
			if d := cmp.Diff(c.want[call.Call-1].Judged, call.Judged); d != "" {
				t.Fatal(d)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	e := export(t, h.db, h.o.Dir, c.id) // as a folder of an earlier release
	if e.adds(t, 300); len(e.lost) != 1 || e.end.Lost != 300 {
		t.Errorf("%+v", e.lost)
	}
	for range 50 {
		c.step()
	}
	if e := export(t, h.db, h.o.Dir, c.id); e.end.Lost != 300 || e.end.Calls != 50 {
		t.Errorf("%+v", e.end)
	}
}

// TestInterruptedDeletion: the transcript of a deletion that was interrupted is removed, or regains its name
// if the tournament is still there; that of a tournament which nobody knows stays.
func TestInterruptedDeletion(t *testing.T) {
	h := transcribed(t)
	c := newCourse(h, 5)
	for range 60 {
		c.step()
	}
	path := h.transcriptPath(c.id)
	if err := h.markTranscript(c.id); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tournament_deleted.calls.gone": "", "tournament_of_another_database.calls": "x", "notes": "y"} {
		if err := os.WriteFile(filepath.Join(h.o.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.reopen()
	c.same(export(t, h.db, h.o.Dir, c.id))
	list := func() (names []string) {
		entries, err := os.ReadDir(h.o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if d := cmp.Diff([]string{"notes", "tournament_of_another_database.calls", filepath.Base(path)}, list(), cmpopts.SortSlices(strings.Compare)); d != "" {
		t.Error(d)
	}
	// A call that goes on while the tournament is deleted leaves no file.
	late := h.transcriptOf(c.id)
	if err := late.add(1, told{}); err != nil {
		t.Fatal(err)
	}
	if err := h.Delete(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	if err := late.flush(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"notes", "tournament_of_another_database.calls"}, list()); d != "" {
		t.Error(d)
	}
}

// TestBlockOfAnotherSum: a block that can be decompressed and decoded, and is not what was written.
func TestBlockOfAnotherSum(t *testing.T) {
	w := &transcript{most: 1 << 20} // which is not written
	for n := range uint64(3) {
		if err := w.add(n+1, told{Undone: []uint64{n}}); err != nil {
			t.Fatal(err)
		}
	}
	block, err := w.block()
	if err != nil {
		t.Fatal(err)
	}
	line, data, _ := bytes.Cut(block, []byte("\n"))
	fields := bytes.Fields(line)
	head := fmt.Appendf(nil, "%s %08x", bytes.Join(fields[:5], []byte(" ")), 7)
	wrong := fmt.Appendf(head, " %08x\n%s", store.Checksum(head), data)
	for text, sound := range map[string]bool{string(block): true, string(wrong): false} {
		r := bytes.NewReader([]byte(text))
		all := callBlocks(r, r.Size())
		if len(all) != 1 || all[0].count != 3 {
			t.Fatalf("%+v", all)
		}
		if calls, err := all[0].calls(r); (err == nil) != sound || len(calls) != 3 && sound {
			t.Errorf("%v, %v", calls, err)
		}
	}
}

// TestTranscriptOfAnotherCourse: a transcript that is newer than the database, as in a backup, or of a
// course that a crash or a restored backup has ended, exports only what is recorded.
func TestTranscriptOfAnotherCourse(t *testing.T) {
	h := transcribed(t)
	c := newCourse(h, 3)
	for range 100 {
		c.step()
	}
	var before bytes.Buffer
	if err := h.db.View(func(tx *bbolt.Tx) error { _, err := tx.WriteTo(&before); return err }); err != nil {
		t.Fatal(err)
	}
	then := &course{h: h, id: c.id, r: rand.New(rand.NewPCG(draws.Seed(), 33)), want: c.want[:100:100]}
	for range 150 {
		c.step()
	}
	h.Close(t.Context())
	h.shut()
	if err := os.WriteFile(h.path, before.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(h.o.Dir, c.id+transcriptSuffix)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(transcriptWord + " 251 3 40") // a block that was begun
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	h.open()
	then.same(export(t, h.db, h.o.Dir, c.id))
	for range 120 {
		then.step()
	}
	then.same(export(t, h.db, h.o.Dir, c.id))
	h.reopen()
	then.same(export(t, h.db, h.o.Dir, c.id))
}

// TestExportWithoutRecords: of a tournament whose record, or whose log, is lost, the transcript is
// exported; of one that cannot be replayed the last calls as they were recorded.
func TestExportWithoutRecords(t *testing.T) {
	h := transcribed(t)
	c := newCourse(h, 4)
	for range 100 {
		c.step()
	}
	n := uint64(100)
	change := func(do func(tx *bbolt.Tx) error) {
		t.Helper()
		if err := h.db.Update(do); err != nil {
			t.Fatal(err)
		}
	}
	var r *record
	change(func(tx *bbolt.Tx) (err error) { r, err = findRecord(tx, c.id); return err })

	change(func(tx *bbolt.Tx) error {
		game, err := r.game(tx)
		if err != nil {
			return err
		}
		return game.Put([]byte(stateKey), []byte("damaged"))
	})
	e := export(t, h.db, h.o.Dir, c.id)
	e.adds(t, n)
	raw := 0
	for _, call := range e.calls {
		if call.Recorded != nil {
			raw++
		}
	}
	if e.end.Lost > 0 || raw == 0 || raw > 50 {
		t.Errorf("%+v, %d calls as they were recorded", e.end, raw)
	}

	change(func(tx *bbolt.Tx) error { return r.remove(tx) })
	e = export(t, h.db, h.o.Dir, c.id)
	if len(e.calls) < 50 || e.end.Lost > 0 || len(e.calls[0].Issued) == 0 || e.calls[0].Issued[0].A[0] != '#' {
		t.Errorf("%+v, %+v", e.end, e.calls[0])
	}
}
