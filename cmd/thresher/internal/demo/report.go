package demo

import "thresher/batch"

// Report holds every figure of a demo; the printed text shows nothing else.
type Report struct {
	Go        string `json:"go"`        // release whose comments were read
	Source    string `json:"source"`    // folder, or "embedded extract"
	License   string `json:"license"`   // of the texts
	Atoms     int    `json:"atoms"`     // texts
	Dimension int    `json:"dimension"` // coordinates of a text's vector
	K         int    `json:"k"`         // answers a query
	Threads   int    `json:"threads"`   // of search and scan alike
	Backend   string `json:"backend"`   // cpu or cuda
	// LoadSeconds is reading the texts, VectorSeconds weighing their words,
	// BuildSeconds preparing the collection.
	LoadSeconds   float64 `json:"load_seconds"`
	VectorSeconds float64 `json:"vector_seconds"`
	BuildSeconds  float64 `json:"build_seconds"`

	Questions []Question `json:"questions"`
	// Batch is nil if only questions were asked.
	Batch *Batch `json:"batch,omitempty"`
}

// Question is a query typed in plain words and its answer.
type Question struct {
	Query string `json:"query"`
	// Unknown says that no word of the query occurs in any comment; nothing
	// was searched then.
	Unknown     bool               `json:"unknown,omitempty"`
	Seconds     float64            `json:"search_seconds"`
	Hits        []Hit              `json:"hits"`
	Certificate *batch.Certificate `json:"certificate,omitempty"`
}

// Hit is one answer that can be read.
type Hit struct {
	Symbol   string  `json:"symbol"`
	Sentence string  `json:"sentence"`
	Score    float32 `json:"score"`
}

// Batch is the search of every comment against all others, beside the dense
// scan of the same engine.
type Batch struct {
	Queries   int             `json:"queries"`
	Method    batch.Method    `json:"method"`        // what auto chose for most queries
	Guarantee batch.Guarantee `json:"guarantee"`     // of most queries
	Law       batch.Law       `json:"law,omitempty"` // of most queries
	Delta     float64         `json:"delta"`
	// WrongAllowed is how many wrong answers the guarantee allows on average.
	WrongAllowed     float64 `json:"wrong_allowed"`
	SearchSeconds    float64 `json:"search_seconds"`
	QueriesPerSecond float64 `json:"queries_per_second"`
	Pulls            int64   `json:"pulls"`       // coordinates read by the search
	DensePulls       int64   `json:"dense_pulls"` // coordinates a dense scan reads
	Saving           float64 `json:"saving"`      // DensePulls / Pulls
	NeededNoLuck     int     `json:"exact"`       // queries whose answer needed no probability
	WentDense        int     `json:"dense"`       // queries the planner sent to the dense scan

	Compared Comparison `json:"compared"`
}

// Comparison is over those queries that were answered both ways, in turns.
type Comparison struct {
	Queries       int     `json:"queries"`
	SearchSeconds float64 `json:"search_seconds"`
	DenseSeconds  float64 `json:"dense_seconds"`
	Ratio         float64 `json:"ratio"` // DenseSeconds / SearchSeconds
	// Differing counts answers with another set of texts than the dense scan;
	// Wrong those among them that lost something to more than rounding.
	Differing    int     `json:"differing"`
	Wrong        int     `json:"wrong"`
	WrongAllowed float64 `json:"wrong_allowed"`
	// WholeDenseSeconds is the dense scan of the whole batch: measured if all
	// queries were compared, else extrapolated.
	WholeDenseSeconds float64 `json:"whole_dense_seconds"`
	Extrapolated      bool    `json:"extrapolated"`
}
