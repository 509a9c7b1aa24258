package demo

import "thresher/batch"

// Report holds every figure of a demo; the printed text contains no others.
type Report struct {
	Go        string `json:"go"`      // release whose comments were read
	Source    string `json:"source"`  // folder, or "embedded extract"
	License   string `json:"license"` // of the texts
	Atoms     int    `json:"vectors"` // texts
	Dimension int    `json:"dim"`     // coordinates of a text's vector
	K         int    `json:"k"`       // answers for each query
	Threads   int    `json:"threads"` // of search and scan alike
	Backend   string `json:"backend"` // cpu or cuda
	// LoadSeconds is the time to read the texts, VectorSeconds to vectorize them,
	// BuildSeconds to prepare the collection.
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
	// Unknown says that no word of the query occurs in any comment; then nothing was
	// searched.
	Unknown     bool               `json:"unknown,omitempty"`
	Seconds     float64            `json:"search_seconds"`
	Hits        []Hit              `json:"hits"`
	Certificate *batch.Certificate `json:"certificate,omitempty"`
}

// Hit is one readable answer.
type Hit struct {
	Symbol   string  `json:"symbol"`
	Sentence string  `json:"sentence"`
	Score    float32 `json:"score"`
}

// Batch is the search of every comment among all others, and the dense scan of the same
// engine.
type Batch struct {
	Queries   int             `json:"queries"`
	Method    batch.Method    `json:"method"`        // chosen by auto for most queries
	Guarantee batch.Guarantee `json:"guarantee"`     // of most queries
	Law       batch.Law       `json:"law,omitempty"` // of most queries
	Delta     float64         `json:"delta"`
	// WrongAllowed is the number of wrong answers that the guarantee allows on average.
	WrongAllowed     float64 `json:"wrong_allowed"`
	SearchSeconds    float64 `json:"search_seconds"`
	QueriesPerSecond float64 `json:"queries_per_second"`
	Pulls            int64   `json:"pulls"`       // coordinates read by the search
	DensePulls       int64   `json:"dense_pulls"` // coordinates a dense scan reads
	Saving           float64 `json:"saving"`      // DensePulls / Pulls
	NeededNoLuck     int     `json:"exact"`       // queries whose answer is exact
	WentDense        int     `json:"dense"`       // queries for which the planner chose the dense scan

	Compared DenseComparison `json:"compared"`
}

// DenseComparison covers the queries that were answered both ways, alternately.
type DenseComparison struct {
	Queries       int     `json:"queries"`
	SearchSeconds float64 `json:"search_seconds"`
	DenseSeconds  float64 `json:"dense_seconds"`
	Ratio         float64 `json:"ratio"` // DenseSeconds / SearchSeconds
	// Differing counts answers with another set of texts than the dense scan; Wrong counts
	// those among them whose scores are lower by more than rounding.
	Differing    int     `json:"differing"`
	Wrong        int     `json:"wrong"`
	WrongAllowed float64 `json:"wrong_allowed"`
	// WholeDenseSeconds is the time of the dense scan of the whole batch: measured if all
	// queries were compared, else extrapolated.
	WholeDenseSeconds float64 `json:"whole_dense_seconds"`
	Extrapolated      bool    `json:"extrapolated"`
}
