package command

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"thresher/choice/duel"
)

// A tournament file holds a snapshot, as package duel saves it, followed by a log of the
// calls since then, one line for each save. Replaying the calls on the snapshot gives the
// tournament, so the cost of saving a judgment does not grow with the number of arms. A
// line is JSON followed by a checksum of that JSON, the line's number and the snapshot,
// which binds it to its place and file.

// duelCall is one logged call that changed the tournament.
type duelCall struct {
	// Next is the count passed to Next. Recall marks a call of Recall. Results are the
	// duel IDs passed to Report, negated if the first arm lost.
	Next    int     `json:"next,omitempty"`
	Recall  bool    `json:"recall,omitempty"`
	Results []int64 `json:"results,omitempty"`
	// Ties are the IDs among Results whose result was a tie. Judges are those of Results, nil
	// if none has a name. Judge belongs to Next and Skip, which holds the IDs passed to Skip.
	Ties   []uint64 `json:"ties,omitempty"`
	Judges []string `json:"judges,omitempty"`
	Judge  string   `json:"judge,omitempty"`
	Skip   []uint64 `json:"skip,omitempty"`
	Undo   bool     `json:"undo,omitempty"`
}

// report encodes the results of a call of Report.
func (c *duelCall) report(results []duel.Result) {
	c.Results = make([]int64, len(results))
	for i, r := range results {
		if c.Results[i] = int64(r.Duel); !r.AWon {
			c.Results[i] = -c.Results[i]
		}
		if r.Tie {
			c.Ties = append(c.Ties, r.Duel)
		}
		if r.Judge != "" && c.Judges == nil {
			c.Judges = make([]string, len(results))
		}
		if c.Judges != nil {
			c.Judges[i] = r.Judge
		}
	}
}

// results decodes what report encoded.
func (c *duelCall) results() []duel.Result {
	results := make([]duel.Result, len(c.Results))
	for i, id := range c.Results {
		r := duel.Result{Duel: uint64(max(id, -id)), AWon: id > 0}
		r.Tie = slices.Contains(c.Ties, r.Duel)
		if i < len(c.Judges) {
			r.Judge = c.Judges[i]
		}
		results[i] = r
	}
	return results
}

// callLine is a line of the log.
type callLine struct {
	Calls []duelCall `json:"calls"`
	// Answers is a checksum of the calls' return values, by which a replay that
	// diverges is detected.
	Answers uint32 `json:"answers"`
}

const (
	// minLog is the least size in bytes at which the log is replaced by a snapshot.
	minLog = 64 << 10
	// maxCalls bounds the calls in a line; more are saved as a snapshot.
	maxCalls = 1 << 12
	// maxDrawn bounds the time to replay a log, in preferences sampled, at some 30 ns
	// each.
	maxDrawn = 1 << 24
)

// duelLog describes the log in a file, and collects the calls of the next line.
type duelLog struct {
	state    int // bytes of the snapshot
	sum      uint32
	bytes    int // of the lines
	lines    int
	drawn    int64 // preferences sampled for the lines
	calls    []duelCall
	answers  uint32
	unlogged bool // some calls were not recorded: the next save must be a snapshot
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const lineEnd = `,"crc32c":"`

// seal appends the checksum and newline that make body line n of the log.
func (l *duelLog) seal(n int, body []byte) []byte {
	return fmt.Appendf(body[:len(body)-1:len(body)-1], "%s%08x\"}\n", lineEnd, l.lineSum(n, body[:len(body)-1]))
}

func (l *duelLog) lineSum(n int, body []byte) uint32 {
	head := binary.LittleEndian.AppendUint32(nil, l.sum)
	head = binary.LittleEndian.AppendUint64(head, uint64(n))
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, body)
}

// openLine returns the body of line n; false if its checksum does not match.
func (l *duelLog) openLine(n int, line []byte) ([]byte, bool) {
	at := bytes.LastIndex(line, []byte(lineEnd))
	if at < 0 {
		return nil, false
	}
	body := append(bytes.Clone(line[:at]), '}')
	return body, bytes.Equal(l.seal(n, body), line)
}

// beginAfter resets l to the empty log after a snapshot.
func (l *duelLog) beginAfter(state []byte) {
	*l = duelLog{state: len(state), sum: crc32.Checksum(state, castagnoli)}
}

// read parses the lines after a snapshot. torn is the size of an incomplete last line, left
// by a kill, which is skipped. Any other damage is an error.
func (l *duelLog) read(rest []byte) (all []callLine, torn int, err error) {
	rest = bytes.TrimPrefix(rest, []byte("\n"))
	for len(bytes.TrimSpace(rest)) > 0 {
		_, behind, _ := bytes.Cut(rest, []byte("\n"))
		whole := rest[:len(rest)-len(behind)]
		body, ok := l.openLine(l.lines+1, whole)
		var c callLine
		if ok {
			ok = json.Unmarshal(body, &c) == nil
		}
		if !ok {
			if !isTorn(whole) || len(bytes.Trim(behind, "\x00\n")) > 0 {
				return nil, 0, fmt.Errorf("line %d of the judgments after the snapshot is damaged", l.lines+1)
			}
			return all, len(rest), nil
		}
		all = append(all, c)
		l.lines++
		l.bytes += len(whole)
		rest = behind
	}
	return all, 0, nil
}

// isTorn reports whether line may be the incomplete write of a killed process or machine:
// a prefix of a line, or parts of one among zeros. A line with its end was written.
func isTorn(line []byte) bool {
	const head = `{"calls":[`
	if bytes.IndexByte(line, 0) >= 0 {
		return true
	}
	return !bytes.HasSuffix(line, []byte("\n")) &&
		(bytes.HasPrefix(line, []byte(head)) || bytes.HasPrefix([]byte(head), line))
}

// took records a call that changed the tournament, and its return value.
func (l *duelLog) took(c duelCall, answer []byte) {
	if l.unlogged {
		return
	}
	if len(l.calls) == maxCalls {
		l.calls, l.unlogged = nil, true
		return
	}
	l.calls = append(l.calls, c)
	l.answers = crc32.Update(l.answers, castagnoli, answer)
}

// line returns the next line, of the calls since the last one; nil if there were none. The
// caller writes it and then calls wrote.
func (l *duelLog) line() ([]byte, error) {
	if len(l.calls) == 0 {
		return nil, nil
	}
	body, err := json.Marshal(callLine{l.calls, l.answers})
	if err != nil {
		return nil, err
	}
	line := l.seal(l.lines+1, body)
	if l.lines == 0 {
		line = append([]byte("\n"), line...) // a snapshot does not end in a newline
	}
	return line, nil
}

func (l *duelLog) wrote(line []byte) {
	l.lines++
	l.bytes += len(line)
	l.calls, l.answers = l.calls[:0], 0
}

// full reports whether the log, grown by more bytes, should be replaced by a snapshot.
func (l *duelLog) full(more int) bool {
	return l.bytes+more > max(minLog, l.state) || l.drawn > maxDrawn
}

// NextFor issues duels to a judge and records the call.
func (t *tournament) NextFor(judge string, count int) ([]duel.Duel, error) {
	before := t.Drawn()
	duels, err := t.Tournament.NextFor(judge, count)
	t.log.drawn += int64(t.Drawn()-before) * t.drawCost
	if err == nil && !t.quiet {
		var answer []byte
		for _, d := range duels {
			answer = binary.AppendUvarint(answer, d.ID)
			answer = binary.AppendUvarint(answer, uint64(d.A))
			answer = binary.AppendUvarint(answer, uint64(d.B))
		}
		t.log.took(duelCall{Next: count, Judge: judge}, answer)
	}
	return duels, err
}

// Report passes results to the tournament and records the call.
func (t *tournament) Report(results ...duel.Result) ([]duel.Receipt, error) {
	receipts, err := t.Tournament.Report(results...)
	if err != nil || t.quiet {
		return receipts, err
	}
	var c duelCall
	c.report(results)
	var answer []byte
	for _, r := range receipts {
		answer = append(answer, r.Status...)
	}
	t.log.took(c, answer)
	return receipts, nil
}

// Skip gives duels back and records the call.
func (t *tournament) Skip(judge string, ids ...uint64) error {
	if err := t.Tournament.Skip(judge, ids...); err != nil {
		return err
	}
	t.log.took(duelCall{Skip: ids, Judge: judge}, nil)
	return nil
}

// Undo takes back the last judgment and records the call.
func (t *tournament) Undo() ([]duel.Result, error) {
	results, err := t.Tournament.Undo()
	if err != nil {
		return nil, err
	}
	var answer []byte
	for _, r := range results {
		answer = binary.AppendUvarint(answer, r.Duel)
	}
	t.log.took(duelCall{Undo: true}, answer)
	return results, nil
}

// Recall ends all leases and records the call.
func (t *tournament) Recall() {
	t.Tournament.Recall()
	t.log.took(duelCall{Recall: true}, nil)
}

// replay repeats the calls of a line; it fails if their return values differ.
func (t *tournament) replay(c *callLine) error {
	for _, call := range c.Calls {
		var err error
		switch {
		case call.Recall:
			t.Recall()
		case call.Next > 0:
			_, err = t.NextFor(call.Judge, call.Next)
		case call.Undo:
			_, err = t.Undo()
		case len(call.Skip) > 0:
			err = t.Skip(call.Judge, call.Skip...)
		default:
			_, err = t.Report(call.results()...)
		}
		if err != nil {
			return err
		}
	}
	if t.log.answers != c.Answers {
		return errors.New("replaying the judgments gives other duels than were recorded")
	}
	t.log.calls, t.log.answers = t.log.calls[:0], 0
	return nil
}

// restoreTournament rebuilds a tournament from the content of its file. torn is the size of
// an incomplete last line, whose judgments were never acknowledged.
func restoreTournament(content []byte) (t *tournament, torn int, err error) {
	state, rest := duel.Split(content)
	t = &tournament{}
	if t.Tournament, err = duel.Restore(state, nil); err != nil {
		return nil, 0, err
	}
	t.ready()
	t.log.beginAfter(state)
	lines, torn, err := t.log.read(rest)
	for i := range lines {
		if err == nil {
			if err = t.replay(&lines[i]); err != nil {
				err = fmt.Errorf("line %d of the judgments after the snapshot: %w", i+1, err)
			}
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return t, torn, nil
}
