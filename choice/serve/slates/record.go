package slates

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// The records of the database: issued slates, feedback that is not yet in a user's state,
// states. Each begins with the version of its format and ends with a CRC-32C of its key and
// contents, so that a damaged or misplaced record is detected and named.

const recordVersion = 1

// issuedSlate is a slate that was issued.
type issuedSlate struct {
	user    ID
	version int64 // of the collection
	at      time.Time
	algo    Algorithm
	picks   []Pick
	ucb     float64
	rho     float64
	alpha   float64
	// rows are the vectors of the picks, [len(picks)*dim]; nil once there is feedback.
	rows []float32
	// rewards is the feedback for the first of the picks; nil before. observations is the
	// number of the user's observations including it.
	rewards      []float64
	observations int64
}

// feedback is feedback that is not yet in a written state.
type feedback struct {
	slate   string
	rows    []float32 // [len(rewards)*dim]
	rewards []float64
}

// savedState is a user's state after the feedback of number seq.
type savedState struct {
	seq   uint64
	state []byte // in the estimator's own encoding
}

func (h *issuedSlate) encode(key []byte) []byte {
	b := []byte{recordVersion}
	b = appendID(b, h.user)
	b = binary.AppendUvarint(b, uint64(h.version))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.at.UnixNano()))
	b = appendText(b, string(h.algo))
	b = appendFloats(b, h.ucb, h.rho, h.alpha)
	b = binary.AppendUvarint(b, uint64(len(h.picks)))
	for i := range h.picks {
		p := &h.picks[i]
		b = appendID(b, p.ID)
		b = appendFloats(b, p.Mean, p.Width, p.Value)
	}
	b = appendRows(b, h.rows)
	b = binary.AppendUvarint(b, uint64(len(h.rewards)))
	b = appendFloats(b, h.rewards...)
	b = binary.AppendUvarint(b, uint64(h.observations))
	return sealed(key, b)
}

func (h *issuedSlate) decode(key, text []byte) error {
	r, err := unsealed(key, text)
	if err != nil {
		return err
	}
	h.user = r.id()
	h.version = int64(r.uvarint())
	h.at = time.Unix(0, int64(r.word())).UTC()
	h.algo = Algorithm(r.text())
	h.ucb, h.rho, h.alpha = r.float(), r.float(), r.float()
	h.picks = make([]Pick, r.length(2+3*8))
	for i := range h.picks {
		h.picks[i] = Pick{ID: r.id(), Mean: r.float(), Width: r.float(), Value: r.float()}
	}
	h.rows = r.rows()
	h.rewards = r.floats()
	h.observations = int64(r.uvarint())
	return r.end()
}

func (f *feedback) encode(key []byte) []byte {
	b := appendText([]byte{recordVersion}, f.slate)
	b = appendRows(b, f.rows)
	b = binary.AppendUvarint(b, uint64(len(f.rewards)))
	b = appendFloats(b, f.rewards...)
	return sealed(key, b)
}

func (f *feedback) decode(key, text []byte) error {
	r, err := unsealed(key, text)
	if err != nil {
		return err
	}
	f.slate, f.rows, f.rewards = r.text(), r.rows(), r.floats()
	return r.end()
}

func (k *savedState) encode(key []byte) []byte {
	b := binary.AppendUvarint([]byte{recordVersion}, k.seq)
	b = appendText(b, string(k.state))
	return sealed(key, b)
}

func (k *savedState) decode(key, text []byte) error {
	r, err := unsealed(key, text)
	if err != nil {
		return err
	}
	k.seq, k.state = r.uvarint(), []byte(r.text())
	return r.end()
}

func checksum(key, b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, table), table, b)
}

// sealed appends the checksum to a record.
func sealed(key, b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, checksum(key, b))
}

// unsealed checks a record and returns a reader of its contents.
func unsealed(key, text []byte) (*reader, error) {
	end := len(text) - 4
	if end < 1 {
		return nil, fmt.Errorf("%d bytes are no record", len(text))
	}
	if binary.LittleEndian.Uint32(text[end:]) != checksum(key, text[:end]) {
		return nil, errors.New("its checksum is wrong")
	}
	if text[0] != recordVersion {
		return nil, fmt.Errorf("it has form %d, and this program reads %d", text[0], recordVersion)
	}
	return &reader{b: text[1:end]}, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFloats(b []byte, all ...float64) []byte {
	for _, x := range all {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func appendRows(b []byte, rows []float32) []byte {
	b = binary.AppendUvarint(b, uint64(len(rows)))
	for _, x := range rows {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func appendID(b []byte, id ID) []byte {
	if id.Text {
		return appendText(append(b, 't'), id.Name)
	}
	return binary.AppendVarint(append(b, 'i'), id.Int)
}

// reader consumes bytes from the front; after an error it returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) end() error {
	if r.bad || len(r.b) > 0 {
		return errors.New("it is cut short or too long")
	}
	return nil
}

func (r *reader) uvarint() uint64 {
	x, used := binary.Uvarint(r.b)
	if r.bad = r.bad || used <= 0; r.bad {
		return 0
	}
	r.b = r.b[used:]
	return x
}

// length reads the number of elements that follow, each of at least each bytes.
func (r *reader) length(each int) int {
	n := r.uvarint()
	if r.bad = r.bad || n > uint64(len(r.b)/each); r.bad {
		return 0
	}
	return int(n)
}

// bytes reads the next n bytes.
func (r *reader) bytes(n int) []byte {
	if r.bad = r.bad || n > len(r.b); r.bad {
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text() string   { return string(r.bytes(r.length(1))) }
func (r *reader) word() uint64   { return binary.LittleEndian.Uint64(r.bytes(8)) }
func (r *reader) float() float64 { return math.Float64frombits(r.word()) }

// floats reads float64 values, nil if there are none.
func (r *reader) floats() []float64 {
	var all []float64
	for range r.length(8) {
		all = append(all, r.float())
	}
	return all
}

// rows reads float32 values, nil if there are none.
func (r *reader) rows() []float32 {
	n := r.length(4)
	if n == 0 {
		return nil
	}
	all := make([]float32, n)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.bytes(4)))
	}
	return all
}

func (r *reader) id() ID {
	switch r.bytes(1)[0] {
	case 't':
		return ID{Name: r.text(), Text: true}
	case 'i':
		x, used := binary.Varint(r.b)
		if r.bad = r.bad || used <= 0; r.bad {
			return ID{}
		}
		r.b = r.b[used:]
		return ID{Int: x}
	}
	r.bad = true
	return ID{}
}
