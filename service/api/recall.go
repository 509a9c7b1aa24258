package api

import "encoding/json"

// Stated is the body of the calls Recall and Certify: queries, and the answers that another
// program gave to them; zero members take the server's defaults.
type Stated struct {
	Queries [][]float32    `json:"queries,omitempty"`
	Answers []StatedAnswer `json:"answers,omitempty"` // one a query
	// QueriesFileID and AnswersFileID are ids of stored files, of vectors and of answers to them, in place of Queries and Answers.
	QueriesFileID string `json:"queries_file_id,omitempty"`
	AnswersFileID string `json:"answers_file_id,omitempty"`
	// Column and Header say how the file of the queries is read, as that of a collection.
	Column string `json:"column,omitempty"`
	Header string `json:"header,omitempty"`
	// K is the number of atoms wanted; 0 means the length of the longest answer.
	K      int     `json:"k,omitempty"`
	Delta  float64 `json:"delta,omitempty"`
	Method string  `json:"method,omitempty"` // "" is certain
	// Published are options of a published method, of Recall; nil: none.
	Published *Published `json:"published,omitempty"`
	// Filter and Exclude are as of a Search.
	Filter     any      `json:"filter,omitempty"`
	Exclude    []ID     `json:"exclude,omitempty"`
	DeadlineMS float64  `json:"deadline_ms,omitempty"`
	Include    []string `json:"include,omitempty"` // of Certify: "rounds", "rows", "scores64", "covers"
}

// StatedAnswer is an answer to one query, best atom first.
type StatedAnswer struct {
	IDs []ID `json:"ids"`
	// Scores, if not nil, has one entry an id: inner products, cosines or distances in any
	// usual form.
	Scores []float32 `json:"scores,omitempty"`
}

// Recall says how good answers are.
type Recall struct {
	RecallReport
	// Missed has the answers that lack vectors.
	Missed []Miss `json:"missed"`
	Misses []Miss `json:"misses"` // Deprecated: Missed, by its former name
}

// RecallReport is the recall of answers to some queries.
type RecallReport struct {
	AnswersVersion int     `json:"answers_version"`  // as of Found
	Version        int64   `json:"version"`          // of the collection
	Writes         *uint64 `json:"writes,omitempty"` // that the version had seen, if it changes by rows
	TookMS         float64 `json:"took_ms"`
	Metric         string  `json:"metric"`
	Method         string  `json:"method"`   // by which the best atoms were found
	Queries        int64   `json:"queries"`  // compared
	Complete       int64   `json:"complete"` // answers that lack nothing
	K              int     `json:"k"`
	// Recall is the mean over the queries of the share of the k best atoms found, where atoms
	// of equal score stand for each other; ByID the share whose ids are in the answers.
	Recall float64 `json:"recall"`
	ByID   float64 `json:"recall_by_id"`
	// Low and High are the 95% confidence interval of the mean recall over all queries like
	// these, of which these are a random sample.
	Low  float64 `json:"recall_low"`
	High float64 `json:"recall_high"`
	// Short counts answers of fewer than k atoms, Repeated the atoms listed again.
	Short    int64       `json:"short"`
	Repeated int64       `json:"repeated"`
	Ranks    []RankBand  `json:"ranks"`
	Gaps     *Gaps       `json:"gaps,omitempty"` // nil if no answer of k atoms lacks any
	Scores   *ScoreCheck `json:"scores,omitempty"`
	// Reasons say why answers lack atoms, those that explain most first; empty if none is known, nil if no
	// answer lacks any, the deadline left no time, or the vectors are kept in float64.
	Reasons []Reason `json:"reasons,omitzero"`
}

// Reason is what, granted, makes most of the answers right that lack atoms.
type Reason struct {
	Kind    string  `json:"kind"`    // "shifted", "order", "metric", "reversed", "rounded", "ties", "filter", "absent"
	Queries int64   `json:"queries"` // answers that it explains
	Of      int64   `json:"of"`      // those examined, which lack atoms
	Recall  float64 `json:"recall"`  // their mean recall, with this granted
	Text    string  `json:"text"`    // in words
}

// RankBand counts the atoms of some ranks, from 1.
type RankBand struct {
	From   int   `json:"from"`
	To     int   `json:"to"`
	Wanted int64 `json:"wanted"`
	Missed int64 `json:"missed"`
}

// Gaps says how much better missed atoms are than the worst returned: the difference of their
// scores over the greater one's size; of the metric l2, of their distances.
type Gaps struct {
	Median float64 `json:"median"`
	High   float64 `json:"p90"`
	Worst  float64 `json:"worst"`
}

// ScoreCheck says what the stated scores are, and how many are not the atoms'.
type ScoreCheck struct {
	Form   string       `json:"form"` // "inner products" for instance, or "on a scale that is not known"
	Stated int64        `json:"stated"`
	Wrong  int64        `json:"wrong"`            // 0 on a scale that is not known
	Hint   string       `json:"hint,omitempty"`   // what explains scores on such a scale
	Sample []WrongScore `json:"sample,omitempty"` // the first wrong ones
}

// WrongScore is a stated score that is not the atom's.
type WrongScore struct {
	Query  int64   `json:"query"`
	ID     ID      `json:"id"`
	Stated float64 `json:"stated"`
	Score  float64 `json:"score"`
}

// Miss is an answer that lacks atoms.
type Miss struct {
	Query  int64   `json:"query"`
	Recall float64 `json:"recall"`
	Missed []ID    `json:"missed"` // best first
}

// Certified is the answer to Certify.
type Certified struct {
	AnswersVersion int               `json:"answers_version"`  // as of Found
	Version        int64             `json:"version"`          // of the collection
	Writes         *uint64           `json:"writes,omitempty"` // that the version had seen, if it changes by rows
	TookMS         float64           `json:"took_ms"`
	Covers         json.RawMessage   `json:"covers"` // as of Found
	Results        []CertifiedResult `json:"results"`
	Summary        CertifiedSummary  `json:"certified"`
}

// CertifiedResult is a proven answer to one query or, if it is not complete, the stated one.
type CertifiedResult struct {
	IDs         []ID            `json:"ids"`
	Rows        []int64         `json:"rows"` // as of Result
	Scores      []float32       `json:"scores"`
	Scores64    []float64       `json:"scores64"` // as of Result
	Complete    bool            `json:"complete"`
	Guarantee   string          `json:"guarantee"`
	Delta       float64         `json:"delta"`
	Certificate json.RawMessage `json:"certificate"` // a batch.Certificate without looks
	// Recall and Missed compare the stated answer with this one; nil if this one is not
	// complete.
	Recall *float64 `json:"recall,omitempty"`
	Missed []ID     `json:"missed,omitempty"`
}

// CertifiedSummary counts the answers that were compared.
type CertifiedSummary struct {
	Compared int64       `json:"compared"`
	Right    int64       `json:"right"`    // that lacked nothing
	Missed   int64       `json:"missed"`   // atoms that the others lacked
	Unwanted int64       `json:"unwanted"` // atoms in them that may not be returned
	Kept     int64       `json:"kept"`     // answers returned as they were stated, because their searches were stopped
	Recall   float64     `json:"recall"`   // mean
	Scores   *ScoreCheck `json:"scores,omitempty"`
}
