package duel

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"time"
)

// saved is the serialised form of a tournament.
type saved struct {
	Version    int           `json:"version"`
	Config     Config        `json:"config"`
	Place      uint64        `json:"place"` // random numbers drawn
	Issued     uint64        `json:"issued"`
	Taken      int64         `json:"taken"`
	Queue      []pendingDuel `json:"queue,omitempty"`
	Withdrawn  []withdrawal  `json:"withdrawn,omitempty"`
	Eliminated []Elimination `json:"eliminated,omitempty"`
	Places     places        `json:"places,omitzero"`
	Ties       *savedTies    `json:"ties,omitempty"`
	Ballots    *savedBallots `json:"ballots,omitempty"`
	Undone     int64         `json:"undone,omitempty"`
	History    *history      `json:"history,omitempty"`
	// Progress is the strategy's state; the binary form stores it separately.
	Progress progress `json:"progress,omitempty"`
	// Checksum is the CRC-32C of json.Marshal's output without it, so that white space and
	// the order of members do not matter. Older states have none.
	Checksum string `json:"crc32c,omitempty"`
}

// Version 2 has ties, judges, skips or a history, which releases that know version 1 alone
// would lose. A state without them is saved as version 1.
const (
	firstVersion = 1
	savedVersion = 2
	family       = "thresher duel " // of all versions
)

// magic is the first line of the binary form.
func magic(version int) []byte { return fmt.Appendf(nil, "%s%d\n", family, version) }

var (
	_ json.Marshaler             = (*Tournament)(nil)
	_ json.Unmarshaler           = (*Tournament)(nil)
	_ encoding.BinaryMarshaler   = (*Tournament)(nil)
	_ encoding.BinaryUnmarshaler = (*Tournament)(nil)
)

func (t *Tournament) saved() *saved {
	s := &saved{
		Version: firstVersion, Config: t.config, Place: t.source.Place(), Issued: t.issued, Taken: t.taken,
		Queue: t.queue, Withdrawn: t.withdrawn, Eliminated: t.eliminated, Places: t.places, Progress: t.strategy.save(),
		Ties: t.ties.save(), Ballots: t.ballots.save(), Undone: t.undone, History: t.history,
	}
	later := func(e pendingDuel) bool { return e.Tie || e.Judge != "" || e.Again > 0 }
	if s.Ties != nil || s.Ballots != nil || s.Undone > 0 || s.History != nil || slices.ContainsFunc(s.Queue, later) {
		s.Version = savedVersion
	}
	return s
}

// MarshalJSON saves the tournament including leases, with a CRC-32C.
func (t *Tournament) MarshalJSON() ([]byte, error) {
	s := t.saved()
	sum, err := s.sum()
	if err != nil {
		return nil, err
	}
	s.Checksum = sum
	return json.Marshal(s)
}

// sum returns the checksum of s, ignoring the one it has.
func (s saved) sum() (string, error) {
	s.Checksum = ""
	b, err := json.Marshal(s)
	return fmt.Sprintf("%08x", checksum(b)), err
}

// UnmarshalJSON restores a saved tournament; the receiver's clock stays. On an error the
// receiver is unchanged.
func (t *Tournament) UnmarshalJSON(data []byte) error {
	var s saved
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fmt.Errorf("duel: saved tournament: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("duel: saved tournament: something follows it")
	}
	if s.Checksum != "" && s.known() {
		sum, err := s.sum()
		if err == nil && sum != s.Checksum {
			err = fmt.Errorf("its checksum is %s, not %s as it says", sum, s.Checksum)
		}
		if err != nil {
			return fmt.Errorf("duel: saved tournament: %w", err)
		}
	}
	return t.restore(&s)
}

// MarshalBinary saves the tournament including leases: a line that names the format, the
// length and JSON of everything but the counts, the counts as named varints, and a
// CRC-32C.
func (t *Tournament) MarshalBinary() ([]byte, error) {
	s := t.saved()
	p := s.Progress
	s.Progress = nil
	head, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	b := appendBlock(magic(s.Version), head)
	b = binary.AppendUvarint(b, uint64(len(p)))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		b = appendBlock(b, []byte(name))
		b = binary.AppendUvarint(b, uint64(len(p[name])))
		for _, x := range p[name] {
			b = binary.AppendVarint(b, x)
		}
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b)), nil
}

// UnmarshalBinary restores a saved tournament; the receiver's clock stays. On an error
// the receiver is unchanged.
func (t *Tournament) UnmarshalBinary(data []byte) error {
	body, ok := afterMagic(data)
	if version, ours := bytes.CutPrefix(data, []byte(family)); ours && !ok && len(version) > 1 {
		version, _, _ = bytes.Cut(version, []byte("\n"))
		return fmt.Errorf("duel: saved tournament of version %.20q, not %d or %d", version, firstVersion, savedVersion)
	}
	if !ok || len(body) < 4 {
		return errors.New("duel: saved tournament: cut short")
	}
	end := len(data) - 4
	if binary.LittleEndian.Uint32(data[end:]) != checksum(data[:end]) {
		return errors.New("duel: saved tournament: its checksum is wrong")
	}
	r := reader{b: body[:len(body)-4]}
	head, p := r.state()
	if r.bad || len(r.b) > 0 {
		return errors.New("duel: saved tournament: cut short or too long")
	}
	var s saved
	if err := json.Unmarshal(head, &s); err != nil {
		return fmt.Errorf("duel: saved tournament: %w", err)
	}
	s.Progress = p
	return t.restore(&s)
}

// afterMagic cuts the first line off, if it is one of a version that is read.
func afterMagic(data []byte) (body []byte, ok bool) {
	for _, version := range []int{firstVersion, savedVersion} {
		if body, ok = bytes.CutPrefix(data, magic(version)); ok {
			return body, true
		}
	}
	return data, false
}

// known reports whether s is of a version that is read.
func (s *saved) known() bool { return s.Version == firstVersion || s.Version == savedVersion }

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func appendBlock(b, block []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(block))), block...)
}

// reader consumes bytes from the front; after an error it returns zeros.
type reader struct {
	b   []byte
	bad bool
}

// length reads the length of something that takes at least one byte an element.
func (r *reader) length() int {
	n, used := binary.Uvarint(r.b)
	if r.bad = r.bad || used <= 0 || n > uint64(len(r.b)-used); r.bad {
		return 0
	}
	r.b = r.b[used:]
	return int(n)
}

func (r *reader) block() []byte {
	n := r.length()
	block := r.b[:n]
	r.b = r.b[n:]
	return block
}

func (r *reader) varint() int64 {
	x, used := binary.Varint(r.b)
	if r.bad = r.bad || used <= 0; r.bad {
		return 0
	}
	r.b = r.b[used:]
	return x
}

// state reads what the binary form has between its first line and its checksum.
func (r *reader) state() (head []byte, p progress) {
	head, p = r.block(), progress{}
	for range r.length() {
		name := string(r.block())
		v := make([]int64, r.length())
		for i := range v {
			v[i] = r.varint()
		}
		p[name] = v
	}
	return head, p
}

// Split returns a tournament saved in either form and the data after it. If it finds no
// end, all data are state, and Restore reports the error.
func Split(data []byte) (state, rest []byte) {
	if !isBinary(data) {
		d := json.NewDecoder(bytes.NewReader(data))
		if err := d.Decode(&json.RawMessage{}); err != nil {
			return data, nil
		}
		return data[:d.InputOffset()], data[d.InputOffset():]
	}
	body, ok := afterMagic(data)
	if !ok {
		return data, nil
	}
	r := reader{b: body}
	r.state()
	if r.bad || len(r.b) < 4 {
		return data, nil
	}
	end := len(data) - len(r.b) + 4
	return data[:end], data[end:]
}

func isBinary(data []byte) bool {
	return bytes.HasPrefix(data, []byte(family)) || bytes.HasPrefix([]byte(family), data)
}

// Restore returns a tournament saved in either form. clock tells the time for leases;
// nil is time.Now.
func Restore(data []byte, clock func() time.Time) (*Tournament, error) {
	if clock == nil {
		clock = time.Now
	}
	t := &Tournament{clock: clock}
	restore := t.UnmarshalJSON
	if isBinary(data) {
		restore = t.UnmarshalBinary
	}
	if err := restore(data); err != nil {
		return nil, err
	}
	return t, nil
}

// restore validates s and makes t the tournament it describes.
func (t *Tournament) restore(s *saved) error {
	if !s.known() {
		return fmt.Errorf("duel: saved tournament of version %d, not %d or %d", s.Version, firstVersion, savedVersion)
	}
	fresh, err := New(s.Config, t.clock)
	if err != nil {
		return fmt.Errorf("saved tournament: %w", err)
	}
	drawn, err := s.drawn()
	if err == nil {
		err = s.check()
	}
	if err == nil {
		err = fresh.strategy.load(s.Progress, drawn)
	}
	if err == nil {
		fresh.ties, err = s.Ties.load(len(s.Config.Arms), s.Taken)
	}
	if err == nil {
		fresh.ballots, err = s.Ballots.load(len(s.Config.Arms), s.Taken)
	}
	if err == nil && s.History != nil {
		err = s.History.check(s)
	}
	if err != nil {
		return fmt.Errorf("duel: saved tournament: %w", err)
	}
	if err := everyArmIsSomewhere(fresh.strategy, s.Eliminated, len(s.Config.Arms)); err != nil {
		return fmt.Errorf("duel: saved tournament: %w", err)
	}
	fresh.source.Seek(s.Place)
	fresh.issued, fresh.taken = s.Issued, s.Taken
	fresh.queue, fresh.withdrawn, fresh.eliminated = s.Queue, s.Withdrawn, s.Eliminated
	fresh.places, fresh.undone, fresh.history = s.Places, s.Undone, s.History
	*t = *fresh
	return nil
}

// everyArmIsSomewhere rejects a state in which an arm is neither active nor eliminated, or both.
func everyArmIsSomewhere(of strategy, eliminated []Elimination, k int) error {
	var st State
	of.describe(&st)
	arms := st.Active
	for _, e := range eliminated {
		arms = append(arms, e.Arm)
	}
	slices.Sort(arms)
	if !slices.Equal(arms, allArms(k)) {
		return fmt.Errorf("%d arms active and %d eliminated are not the %d that began", len(st.Active), len(eliminated), k)
	}
	return nil
}

// drawn returns the duels in the queue.
func (s *saved) drawn() ([]pair, error) {
	pairs := make([]pair, len(s.Queue))
	if s.Issued > maxCount || uint64(len(s.Queue)) > s.Issued {
		return nil, fmt.Errorf("%d duels in flight of %d", len(s.Queue), s.Issued)
	}
	first := s.Issued - uint64(len(s.Queue)) + 1
	for i, e := range s.Queue {
		if e.ID != first+uint64(i) {
			return nil, fmt.Errorf("duel %d in place of duel %d", e.ID, first+uint64(i))
		}
		if k := len(s.Config.Arms); e.A < 0 || e.A >= k || e.B < 0 || e.B >= k {
			return nil, fmt.Errorf("duel %d is of arms %d and %d of %d", e.ID, e.A, e.B, k)
		}
		pairs[i] = pair{e.A, e.B}
	}
	if len(s.Queue) > 0 && s.Queue[0].Answered {
		return nil, fmt.Errorf("duel %d is answered and waits for none", s.Queue[0].ID)
	}
	return pairs, nil
}

// check rejects numbers that no saved tournament has.
func (s *saved) check() error {
	k := len(s.Config.Arms)
	if told := s.Progress["told"]; len(told) != 1 || told[0] != s.Taken {
		return fmt.Errorf("%d results taken, %v told", s.Taken, told)
	}
	for _, e := range s.Eliminated {
		if e.Arm < 0 || e.Arm >= k || e.Rival < 0 || e.Rival >= k {
			return fmt.Errorf("arm %d eliminated by arm %d of %d", e.Arm, e.Rival, k)
		}
	}
	for _, e := range s.Queue {
		if len(e.SkippedBy) > maxSkips || checkJudge(e.Judge) != nil {
			return fmt.Errorf("duel %d was skipped by %d judges, and judged by %.40q", e.ID, len(e.SkippedBy), e.Judge)
		}
	}
	if s.Undone < 0 {
		return fmt.Errorf("%d judgments undone", s.Undone)
	}
	if p := s.Places; p.FirstWins < 0 || p.FirstWins > p.Judged || p.Judged > s.Taken {
		return fmt.Errorf("the arm shown first won %d of %d duels, of %d in all", p.FirstWins, p.Judged, s.Taken)
	}
	for _, w := range s.Withdrawn {
		if w.Arm < -1 || w.Arm >= k || w.From > w.To || w.To > s.Issued-uint64(len(s.Queue)) {
			return fmt.Errorf("duels %d to %d withdrawn with arm %d", w.From, w.To, w.Arm)
		}
	}
	return nil
}
