package report

import (
	"slices"

	"thresher/batch"
	"thresher/tasks"
)

// Version is that of the form of the figures as JSON.
const Version = 2

// Figures are what a report says.
type Figures struct {
	Version int    `json:"report_version"`
	Vectors Set    `json:"vectors"`
	Queries Set    `json:"queries"`
	Sampled int64  `json:"sampled"` // queries that were searched, of all
	Metric  string `json:"metric"`
	K       int    `json:"k"` // vectors searched for each query
	tasks.Filtered
	Search Search `json:"search"`
	// Answers are those that were compared with what the search found, in the order given.
	Answers []Answers `json:"answers,omitempty"`
	// Program names what made the report.
	Program string `json:"program"`
}

// Set is a file of vectors.
type Set struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Dim   int    `json:"dim"`
	DType string `json:"dtype,omitempty"` // in which the vectors are kept, if not float32
}

// Search is how the best vectors were found.
type Search struct {
	Method  batch.Method `json:"method"`
	Plan    string       `json:"plan,omitempty"` // of the latest part
	Promise string       `json:"promise"`        // of all answers, in words
	// Guarantees are the certificates by what they promise.
	Guarantees map[batch.Guarantee]int64 `json:"guarantees"`
	// Read is the bytes of vectors that were read, as a share of those that a dense scan reads.
	Read    float64 `json:"read"`
	Backend string  `json:"backend"`
	Threads int     `json:"threads,omitempty"` // none on a device
	// Seconds and DenseSeconds are the time a query, in parts of so many queries, of this search and of a dense scan of
	// the same parts, turn by turn. DenseSeconds is 0 if the search is itself a dense scan.
	Seconds      float64 `json:"seconds_per_query"`
	DenseSeconds float64 `json:"dense_seconds_per_query,omitempty"`
	Part         int     `json:"part"`
	BuildSeconds float64 `json:"build_seconds"` // of codes, once, before the first query
	// Funnel is how many vectors each step of the search read, from a first look at all of them to the answer. It has two
	// entries, none of a look, if the search was a dense scan.
	Funnel []Stage `json:"funnel"`
}

// Stage is a step of an elimination.
type Stage struct {
	Name string `json:"name"`
	// Coordinates are those that it has read of a vector at its end, at most: codes of them in a look, else themselves.
	Coordinates int `json:"coordinates"`
	// Vectors are those that it reads: the median of the queries, what a tenth of them are below, and above.
	Vectors Spread `json:"vectors"`
}

// Spread is a median with deciles.
type Spread struct {
	Low    int `json:"p10"`
	Median int `json:"median"`
	High   int `json:"p90"`
}

// Answers are the answers of another program and what was found about them.
type Answers struct {
	Name string `json:"name"`
	*tasks.RecallSummary
	// Seconds is the time a query that the file states, or the user; 0 if none does.
	Seconds float64 `json:"seconds_per_query,omitempty"`
	// Hardness is the recall of the queries by how many vectors the elimination left after its first look: a fifth of
	// them each, the easiest first. It is empty if no look left more of one query than of another.
	Hardness []Group `json:"hardness,omitempty"`
	// Missed are some of the answers that lack the most, the worst first.
	Missed []Miss `json:"missed,omitempty"`
}

// Group is the queries that left some number of vectors after the first look.
type Group struct {
	From    int     `json:"from"` // vectors left, fewest
	To      int     `json:"to"`   // most
	Queries int64   `json:"queries"`
	Recall  float64 `json:"recall"`
	Low     float64 `json:"recall_low"` // of a 95% interval
	High    float64 `json:"recall_high"`
}

// Miss is one answer that lacks vectors.
type Miss struct {
	Query  int64   `json:"query"`
	ID     string  `json:"id,omitempty"` // of the query, if its file has ids
	Recall float64 `json:"recall"`
	Shown  Shown   `json:"shown,omitzero"`
	// Lacked are vectors that are among the k best and not in the answer, best first; Instead the last of the answer
	// that are not among the k best, best first.
	Lacked  []Neighbour `json:"lacked"`
	Instead []Neighbour `json:"instead"`
}

// Neighbour is a vector with its score for a query.
type Neighbour struct {
	ID    string  `json:"id"`
	Rank  int     `json:"rank,omitempty"` // among the best, from 1; 0 if it is not one of the k best
	Score float64 `json:"score"`
	Shown Shown   `json:"shown,omitzero"`
}

// Shown is what a reader sees of a vector or a query.
type Shown struct {
	Text  string `json:"text,omitempty"`
	Image string `json:"-"` // a data URI, "" without
}

// groups is the number of groups by hardness.
const groups = 5

// hardness divides queries by how many vectors were left after the first look of each: the numbers of the queries of
// each group, easiest first. It is nil if that does not tell the queries apart.
func hardness(certificates []batch.Certificate) [][]int {
	order := make([]int, 0, len(certificates))
	for j := range certificates {
		if len(certificates[j].Looks) > 0 {
			order = append(order, j)
		}
	}
	left := func(j int) int { return certificates[j].Looks[0].Survivors }
	slices.SortStableFunc(order, func(i, j int) int { return left(i) - left(j) })
	if len(order) < 2*groups || left(order[0]) == left(order[len(order)-1]) {
		return nil
	}
	var all [][]int
	for g := range groups {
		if part := order[g*len(order)/groups : (g+1)*len(order)/groups]; len(part) > 0 {
			all = append(all, part)
		}
	}
	return all
}

// funnelOf returns how the elimination of queries over vectors of a dimension, as many as each might have, went, to as many
// answers.
func funnelOf(certificates []batch.Certificate, vectors Spread, dim int, answered Spread) []Stage {
	var stages []Stage
	for at := 0; ; at++ {
		width, left := 0, []int{}
		for j := range certificates {
			c := &certificates[j]
			if at < len(c.Looks) {
				width = max(width, c.Looks[at].Width)
				left = append(left, c.Looks[at].Survivors)
			}
		}
		if 2*len(left) <= len(certificates) { // most queries had no such look
			break
		}
		// The rotation may make more coordinates than there were.
		stages = append(stages, Stage{Name: ordinal(at) + lookSuffix, Coordinates: min(width, dim), Vectors: vectors})
		vectors = spread(left)
	}
	scored := make([]int, len(certificates))
	for j := range certificates {
		scored[j] = certificates[j].RowsScored
	}
	return append(stages,
		Stage{Name: "scored exactly", Coordinates: dim, Vectors: spread(scored)},
		Stage{Name: "the answer", Coordinates: dim, Vectors: answered})
}

// looked reports whether there were looks before vectors were scored.
func (s *Search) looked() bool { return len(s.Funnel) > 2 }

// lookSuffix ends the names of looks, of all steps.
const lookSuffix = " look"

// ordinal words a place from 0.
func ordinal(at int) string {
	words := []string{"first", "second", "third", "fourth"}
	return words[min(at, len(words)-1)]
}

// spread returns the median and deciles of values.
func spread(values []int) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	at := func(share float64) int { return values[int(share*float64(len(values)-1)+.5)] }
	return Spread{Low: at(.1), Median: at(.5), High: at(.9)}
}
