package api

// Pursuit is the body of a matching pursuit; zero members take the server's defaults.
type Pursuit struct {
	Signals     [][]float32 `json:"signals"`
	Terms       int         `json:"terms"`                 // most terms of a signal, at least 1
	Nonnegative bool        `json:"nonnegative,omitempty"` // only positive coefficients
	Method      string      `json:"method,omitempty"`      // of each step's search; "" is certain
	Delta       float64     `json:"delta,omitempty"`       // with which a signal may have a step that is not the best
	Published   *Published  `json:"published,omitempty"`
	DeadlineMS  float64     `json:"deadline_ms,omitempty"` // after which the pursuit fails; 0: none
}

// Pursued is the answer to a Pursuit.
type Pursued struct {
	AnswersVersion int            `json:"answers_version"`
	Version        int64          `json:"version"`          // of the collection
	Writes         *uint64        `json:"writes,omitempty"` // that the version had seen, if it changes by rows
	TookMS         float64        `json:"took_ms"`
	Results        []Terms        `json:"results"` // one a signal
	Summary        PursuitSummary `json:"summary"`
}

// Terms are those of one signal, in the order in which they were found.
type Terms struct {
	IDs          []ID      `json:"ids"`
	Coefficients []float64 `json:"coefficients"`
	Residuals    []float64 `json:"residuals"` // length of what is left after each term
}

// PursuitSummary says what came of a pursuit.
type PursuitSummary struct {
	Signals   int64    `json:"signals"`
	Terms     int64    `json:"terms"`    // of all signals
	Residual  float64  `json:"residual"` // length of all residuals at the end, relative to that of all signals
	Method    string   `json:"method"`
	Guarantee string   `json:"guarantee"`
	Law       string   `json:"law,omitempty"`
	Promise   string   `json:"promise"` // in words
	Delta     float64  `json:"delta"`   // of a signal
	Rounded   float64  `json:"rounded,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}
