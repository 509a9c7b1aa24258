package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// stateVersion changes whenever an older reader would misinterpret a state.
const stateVersion = 1

// state is the record of a job; every chunk replaces it.
type state struct {
	Version     int           `json:"version"`
	Fingerprint string        `json:"fingerprint"`
	Outputs     []outputState `json:"outputs"`
	Chunks      int64         `json:"chunks"`
	Items       int64         `json:"items"`
	Totals      []byte        `json:"totals"`
	Complete    bool          `json:"complete"`
	// Delivered says that the caller is done with the outputs, and may have removed some.
	Delivered bool `json:"delivered,omitempty"`
}

type outputState struct {
	Name   string `json:"name"`   // without its folder, so that a job can be moved
	Length int64  `json:"length"` // bytes
	// CRC is the CRC-32C of these bytes; nil in a job that an earlier version began.
	CRC *uint32 `json:"crc32c,omitempty"`
}

func firstState(spec *Spec) state {
	s := state{Version: stateVersion, Fingerprint: spec.Fingerprint}
	for _, path := range spec.Outputs {
		s.Outputs = append(s.Outputs, outputState{Name: filepath.Base(path), CRC: new(uint32)})
	}
	return s
}

// matches returns an error unless the recorded state s belongs to the job of spec.
func (s *state) matches(spec *Spec) error {
	earlier := spec.Earlier != "" && s.Fingerprint == spec.Earlier
	if earlier && !s.Delivered {
		return fmt.Errorf("%s: %w", spec.Progress, ErrEarlier)
	}
	if s.Fingerprint != spec.Fingerprint && !earlier {
		return &FingerprintError{Progress: spec.Progress, Recorded: s.Fingerprint, Wanted: spec.Fingerprint}
	}
	if len(s.Outputs) != len(spec.Outputs) {
		return fmt.Errorf("%s: %w: recorded %d outputs, now %d",
			spec.Progress, ErrFingerprint, len(s.Outputs), len(spec.Outputs))
	}
	for i, path := range spec.Outputs {
		if name := filepath.Base(path); name != s.Outputs[i].Name {
			return fmt.Errorf("%s: %w: recorded output %d as %q, now %q",
				spec.Progress, ErrFingerprint, i, s.Outputs[i].Name, name)
		}
	}
	return nil
}

func (s *state) bytes() int64 {
	var sum int64
	for _, o := range s.Outputs {
		sum += o.Length
	}
	return sum
}

func (s *state) encode() ([]byte, error) { return json.Marshal(s) }

// decodeState parses what encode returned; the slot has verified its integrity.
func decodeState(record []byte) (state, error) {
	var s state
	if err := json.Unmarshal(record, &s); err != nil {
		return state{}, fmt.Errorf("record: %w", err)
	}
	if s.Version != stateVersion {
		return state{}, fmt.Errorf("record of version %d, want %d", s.Version, stateVersion)
	}
	if s.Items < 0 || s.Chunks < 0 {
		return state{}, fmt.Errorf("record of %d items in %d chunks", s.Items, s.Chunks)
	}
	if len(s.Outputs) == 0 {
		return state{}, errors.New("record without outputs")
	}
	for _, o := range s.Outputs {
		if o.Length < 0 {
			return state{}, fmt.Errorf("record of %d bytes in %q", o.Length, o.Name)
		}
	}
	return s, nil
}
