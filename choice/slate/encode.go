package slate

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

var (
	_ json.Marshaler             = (*Estimator)(nil)
	_ json.Unmarshaler           = (*Estimator)(nil)
	_ encoding.BinaryMarshaler   = (*Estimator)(nil)
	_ encoding.BinaryAppender    = (*Estimator)(nil)
	_ encoding.BinaryUnmarshaler = (*Estimator)(nil)
)

const (
	savedVersion = 1
	magic        = "thresher slate 1\n"
	// headBytes is the size of what precedes the numbers: magic, d, lambda, observations.
	headBytes = len(magic) + 4 + 8 + 8
)

// saved is the serialised form of an estimator. Factor holds the rows of L^T from the
// diagonal on, Rewards b; both are omitted before the first observation.
type saved struct {
	Version      int       `json:"version"`
	Features     int       `json:"features"`
	Lambda       float64   `json:"lambda"`
	Observations int64     `json:"observations"`
	Factor       []float64 `json:"factor,omitempty"`
	Rewards      []float64 `json:"rewards,omitempty"`
}

// MarshalJSON saves the estimator exactly.
func (e *Estimator) MarshalJSON() ([]byte, error) {
	return json.Marshal(saved{savedVersion, e.d, e.lambda, e.observations, e.upper, e.b})
}

// UnmarshalJSON restores a saved estimator. On an error the receiver is unchanged.
func (e *Estimator) UnmarshalJSON(data []byte) error {
	var s saved
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fmt.Errorf("slate: saved estimator: %w", err)
	}
	if s.Version != savedVersion {
		return fmt.Errorf("slate: saved estimator of version %d, not %d", s.Version, savedVersion)
	}
	return e.restore(&s)
}

// MarshalBinary saves the estimator exactly: a line that names the format, d, lambda and
// the number of observations; factor and b if there are observations; and a CRC-32C. All
// little-endian, 8 (d(d+1)/2 + d) + 41 bytes.
func (e *Estimator) MarshalBinary() ([]byte, error) {
	return e.AppendBinary(make([]byte, 0, headBytes+8*(len(e.upper)+len(e.b))+4))
}

// AppendBinary appends what MarshalBinary returns.
func (e *Estimator) AppendBinary(b []byte) ([]byte, error) {
	from := len(b)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.d))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e.lambda))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.observations))
	for _, numbers := range [][]float64{e.upper, e.b} {
		for _, x := range numbers {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b[from:])), nil
}

// UnmarshalBinary restores a saved estimator. On an error the receiver is unchanged.
func (e *Estimator) UnmarshalBinary(data []byte) error {
	if len(data) < headBytes+4 || string(data[:len(magic)]) != magic {
		return errors.New("slate: not a saved estimator of this version")
	}
	end := len(data) - 4
	if binary.LittleEndian.Uint32(data[end:]) != checksum(data[:end]) {
		return errors.New("slate: saved estimator: its checksum is wrong")
	}
	head, body := data[len(magic):headBytes], data[headBytes:end]
	s := saved{
		Features:     int(binary.LittleEndian.Uint32(head)),
		Lambda:       math.Float64frombits(binary.LittleEndian.Uint64(head[4:])),
		Observations: int64(binary.LittleEndian.Uint64(head[12:])),
	}
	if s.Features < 1 || s.Features > MaxFeatures {
		return fmt.Errorf("slate: saved estimator: %d features", s.Features)
	}
	if s.Observations != 0 {
		triangle := s.Features * (s.Features + 1) / 2
		if len(body) != 8*(triangle+s.Features) {
			return fmt.Errorf("slate: saved estimator: %d bytes of state for %d features", len(body), s.Features)
		}
		s.Factor, s.Rewards = numbers(body[:8*triangle]), numbers(body[8*triangle:])
	} else if len(body) > 0 {
		return fmt.Errorf("slate: saved estimator: %d bytes of state without observations", len(body))
	}
	return e.restore(&s)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func numbers(b []byte) []float64 {
	x := make([]float64, len(b)/8)
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return x
}

// restore validates s and makes e the estimator it describes.
func (e *Estimator) restore(s *saved) error {
	fresh, err := NewEstimator(s.Features, s.Lambda)
	if err != nil {
		return fmt.Errorf("saved: %w", err)
	}
	if s.Observations == 0 && len(s.Factor) == 0 && len(s.Rewards) == 0 {
		*e = *fresh
		return nil
	}
	if s.Observations < 1 || s.Observations > maxObservations {
		return fmt.Errorf("slate: saved estimator: %d observations", s.Observations)
	}
	if len(s.Factor) != fresh.d*(fresh.d+1)/2 || len(s.Rewards) != fresh.d {
		return fmt.Errorf("slate: saved estimator: %d and %d numbers for %d features", len(s.Factor), len(s.Rewards), fresh.d)
	}
	fresh.observations, fresh.upper, fresh.b = s.Observations, s.Factor, s.Rewards
	if err := fresh.check(); err != nil {
		return fmt.Errorf("slate: saved estimator: %w", err)
	}
	fresh.theta = make([]float64, fresh.d)
	fresh.solve()
	for g, x := range fresh.theta {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("slate: saved estimator: feature %d: weight %v", g, x)
		}
	}
	*e = *fresh
	return nil
}

// check rejects numbers that no saved estimator has. The diagonal is at least
// sqrt(lambda), since M is lambda I plus a positive semidefinite matrix; the rest is
// bounded by what Update accepts.
func (e *Estimator) check() error {
	least := math.Sqrt(e.lambda) * (1 - 1e-9)
	most := MaxMagnitude * math.Sqrt(float64(e.observations)+1) * 2
	at := 0
	for g := range e.d {
		if x := e.upper[at]; !(x >= least) {
			return fmt.Errorf("feature %d: %v on the diagonal, less than the root of lambda", g, x)
		}
		for h := g; h < e.d; h++ {
			if x := e.upper[at]; !(math.Abs(x) <= most) {
				return fmt.Errorf("features %d and %d: %v in the factor", g, h, x)
			}
			at++
		}
	}
	for g, x := range e.b {
		if !(math.Abs(x) <= most*most) {
			return fmt.Errorf("feature %d: %v for rewards", g, x)
		}
	}
	return nil
}
