package choiceapi

import (
	"encoding/json"
	"time"
)

// The lines of an export of a tournament's judgments: first the Tournament, without a state, then a
// JudgmentsCall for each call that changed it, in their order, with a JudgmentsLost in the place of
// those that are lost, and at the end a JudgmentsEnd.

// JudgmentsCall is one call: of duels, a report, or an undo.
type JudgmentsCall struct {
	Object string `json:"object"` // "call"
	Call   uint64 `json:"call"`   // its number, from 1 on
	// At and Judge are those of a call for duels, which Issued lists; Coins counts duels of an arm
	// against itself that a coin decided in it.
	At     *time.Time      `json:"at,omitempty"`
	Judge  string          `json:"judge,omitempty"`
	Issued []JudgmentsDuel `json:"issued,omitempty"`
	Coins  int             `json:"coins,omitempty"`
	// Judged and Skipped are those of a report, Undone the duels that an undo took back.
	Judged  []Judgment `json:"judged,omitempty"`
	Skipped []Judgment `json:"skipped,omitempty"`
	Undone  []uint64   `json:"undone,omitempty"`
	// Recorded is the call as it was recorded, if it cannot be replayed; then the others are absent.
	Recorded json.RawMessage `json:"recorded,omitempty"`
}

// JudgmentsDuel is a duel, with the arm A shown first.
type JudgmentsDuel struct {
	DuelID uint64 `json:"duel_id"`
	A      string `json:"a"`
	B      string `json:"b"`
}

// Judgment is the result of a duel, or a skip, which has none.
type Judgment struct {
	JudgmentsDuel
	AWon  *bool  `json:"a_won,omitempty"`
	Tie   bool   `json:"tie,omitempty"`
	Judge string `json:"judge,omitempty"`
}

// JudgmentsLost names calls that are lost.
type JudgmentsLost struct {
	Object string `json:"object"` // "lost"
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Reason string `json:"reason"`
}

// JudgmentsEnd is the last line; without it the export was cut off.
type JudgmentsEnd struct {
	Object    string `json:"object"` // "end"
	Calls     int64  `json:"calls"`
	Judgments int64  `json:"judgments"` // in those of the calls that are there
	Lost      int64  `json:"lost_calls"`
}
