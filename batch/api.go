package batch

import (
	"context"
	"fmt"
	"math"
	"time"

	"thresher/backend"
	"thresher/batch/plan"
)

// Method names a way to search; docs/guarantee.md states what each guarantees.
type Method string

const (
	Auto                   = Method(plan.Auto)     // the planner picks adaptive, certain or exact
	Exact                  = Method(plan.Exact)    // dense scan
	Certain                = Method(plan.Certain)  // deterministic bounds only, or a dense scan
	Strict          Method = "strict"              // time-uniform martingale bound, basis raw
	Adaptive               = Method(plan.Adaptive) // rotated codes, Student bound
	BanditMIPS      Method = "banditmips"          // arXiv 2212.07551, algorithm 1
	BanditMIPSAlpha Method = "banditmips-alpha"    // coordinates by |q_j|, heuristic
	BanditMIPSBeta  Method = "banditmips-beta"     // coordinates drawn by weight
	BucketAE        Method = "bucket-ae"           // bins by estimated norm
	BoundedME       Method = "boundedme"           // median elimination without replacement
	PrefixF32       Method = "prefix-f32"          // adaptive on float32 prefixes, for comparison of pulls
)

// Methods lists every name that Request.Method accepts.
func Methods() []Method {
	return []Method{Auto, Exact, Certain, Strict, Adaptive, BanditMIPS, BanditMIPSAlpha, BanditMIPSBeta, BucketAE, BoundedME, PrefixF32}
}

// Request is a batch of queries with the settings that hold for each of them.
type Request struct {
	// Queries holds m rows of the collection's dimension, row-major. Read
	// only, owned by the caller.
	Queries []float32
	// Queries64, if not nil, are the queries in float64, in place of Queries. Unless the vectors are of float64, too,
	// they are rounded to float32 relative to the collection's Origin; certificates say what that changed.
	Queries64 []float64
	// Stored says that Queries are relative to the collection's Origin already, as its rows are:
	// rows of the collection, or what Placed made. Without an Origin it says nothing.
	Stored bool
	// Changes, if not nil, say by how much rounding to float32 changed Queries before they came
	// here: the largest change of a coordinate, one a query.
	Changes []float64
	// K is how many atoms each query wants, at least 1. K above the number of atoms is
	// reduced to it, with a warning in Response.Warnings. With MinScore, 0 means all
	// atoms that reach it.
	K int
	// Delta in (0, 1) is the allowed failure probability of one query; 0
	// means .01.
	Delta float64
	// Epsilon >= 0 is the allowed gap in score units; with Relative it is a
	// multiple of |q| max|v|.
	Epsilon  float64
	Relative bool
	// Method is how to search; "" means Auto.
	Method Method
	// Plan, if not "", replaces the planner's choice for methods auto, exact, certain
	// and adaptive. "dense" scans all rows; "gather" scans the rows that Filter and Exclude
	// allow, if they exclude any. Otherwise it lists the looks: the number of rest
	// coordinates of each, ascending, after "mixed" or "signs" if the first look is at mixed codes or at panels of signs,
	// "signs" for the signs of all or "whole" for all of them; and finally "rescore", the
	// exact scores of the survivors: "64,256,rescore", "128,whole,rescore",
	// "mixed96,signs,rescore", "signs128,signs,rescore". "rows" is an old name of "rescore". Looks before "whole" use
	// the Student bound or, for method certain, a deterministic one.
	// Engine.Plans lists the plans. Certificates of these methods name the plan in this
	// form, except for certain on the raw basis: like the other methods it has only one
	// plan, whose name is descriptive. "dense, no building" is a scan of a collection without codes.
	Plan string
	// MinScore, if not nil, asks for atoms scoring at least *MinScore (distances:
	// at most *MinScore). Each such atom is missed with
	// probability at most Delta; there is no joint guarantee for all of them.
	MinScore *float64
	// MaxScore, if not nil, asks only for atoms scoring at most *MaxScore (distances: at
	// least *MaxScore): the k best of those, or all of those that reach MinScore. It is
	// compared with the float64 score as computed, which for cosine can exceed 1 by its
	// rounding. Scores above it serve no threshold.
	MaxScore *float64
	// Limit, if not 0, bounds the memory of answers to queries without K: of the atoms that
	// reach MinScore such a query gets at most the Limit best, and Answer.Limited says that
	// there may be more. Unlike K it changes neither the plan nor the failure probability.
	Limit int
	// Reaching says, if not 0, about how many atoms reach MinScore for a query without K. It only
	// serves the choice of the plan.
	Reaching float64
	// Filter, if not nil, lists the only row numbers that may be returned;
	// Exclude lists some that may not.
	Filter, Exclude []int64
	// ExcludeSelf says that query j is atom SelfFirst+j and must not return
	// itself. That it is that atom, value by value, is not checked here: tasks.CheckSelves does.
	ExcludeSelf bool
	SelfFirst   int64
	// Selves, if not nil, are the row numbers of the atoms that the queries are, one a query, in
	// place of SelfFirst+j.
	Selves []int64
	// LaterOnly, with ExcludeSelf, lets a query find only atoms that stand after its own in
	// the collection's internal order (collection.Collection.Order). Of each unordered pair
	// of atoms then only one finds the other, and half of the atoms are looked at.
	LaterOnly bool
	// Part says that the queries are part of a longer list. Their plan then does not depend on their
	// number, so that answers do not depend on how the list is divided.
	Part bool
	// Goals, if not nil, are what each query asks for beside the above, one a query. Read
	// only, owned by the caller.
	Goals []QueryGoal
	// SearchScores asks for Answer.SearchScores.
	SearchScores bool
	// Deadline, if positive, is the time after which the search ends with the best so far, as it does at a
	// deadline of its context.
	Deadline time.Duration
	// Published are options of the published methods; others refuse them.
	Published Published
	// Turns, if not nil, schedules the parts of the search. It affects when an answer
	// comes, not its contents.
	Turns Turns
}

// Response answers a Request, one Answer a query, in the queries' order.
type Response struct {
	Answers  []Answer
	Warnings []string      // what was changed in the request, e.g. k reduced to n
	Took     time.Duration // of the search, without waits
	Stats    Stats
}

// Complete reports whether no answer was stopped early.
func (r *Response) Complete() bool { return r.stopped() == nil }

// stopped returns the error that goes with a partial response: that of the context which ended;
// nil if all answers are complete.
func (r *Response) stopped() error {
	for i := range r.Answers {
		switch r.Answers[i].Certificate.StoppedBy {
		case Done:
		case Cancelled:
			return context.Canceled
		default:
			return context.DeadlineExceeded
		}
	}
	return nil
}

// Answer is the answer to one query, best first; ties by ascending id.
type Answer struct {
	IDs    []int64   // row numbers of the atoms as given
	Scores []float32 // inner products, cosines, or squared distances
	// SearchScores, if the request asks for them, are the float64 scores that order the answer:
	// inner products, cosines, or -|q-v|^2/2.
	SearchScores []float64
	Limited      bool // Request.Limit was reached: more atoms may reach MinScore
	Certificate  Certificate
}

// Guarantee is the kind of guarantee that an answer has.
type Guarantee string

const (
	GuaranteeExact         Guarantee = "exact"
	GuaranteeCertain       Guarantee = "certain"
	GuaranteeProbabilistic Guarantee = "probabilistic"
	GuaranteeHeuristic     Guarantee = "heuristic"
	// GuaranteeBound is that of an answer whose search was stopped, whatever its method: no atom
	// that is left out scores above the greater of Certificate.OpenBound and the answer's own
	// k-th score plus epsilon.
	GuaranteeBound Guarantee = "bound"
)

// Guarantees lists every guarantee.
func Guarantees() []Guarantee {
	return []Guarantee{GuaranteeExact, GuaranteeCertain, GuaranteeProbabilistic, GuaranteeHeuristic, GuaranteeBound}
}

// Law names the basis of the probability of a GuaranteeProbabilistic, or of a GuaranteeBound with a
// delta; see
// docs/guarantee.md, "What a certificate says".
type Law string

const (
	LawHaar       Law = "haar"       // proven: the rotation is drawn from Haar measure
	LawCalibrated Law = "calibrated" // calibrated by simulation: the fast rotation is treated as one from Haar measure
	LawOrder      Law = "order"      // proven: coordinates are read in random order
	LawPublished  Law = "published"  // the paper's, for rewards within the data's range
	LawAssumed    Law = "assumed"    // the paper's, if the given Published.Sigma holds for the data
)

// Laws lists every law.
func Laws() []Law { return []Law{LawHaar, LawCalibrated, LawOrder, LawPublished, LawAssumed} }

// Stop says why a search ended.
type Stop string

const (
	Done      Stop = "done"
	Deadline  Stop = "deadline"
	Cancelled Stop = "cancelled"
)

// LookRecord is what one look did for one query.
type LookRecord struct {
	Reads string  `json:"reads"` // "panels", "mixed", "sign panels", "codes" ("rows" in old files), "signs", "float32"
	Width int     `json:"width"` // coordinates read of an arm, head included
	Rule  string  `json:"rule"`
	Alpha float64 `json:"alpha"` // failure probability spent per arm
	Seen  int     `json:"seen"`  // arms looked at
	// Disallowed counts atoms that were read although they may not be returned: a first
	// look reads whole panels.
	Disallowed int `json:"beside,omitempty"`
	Survivors  int `json:"survivors"` // arms kept
}

// Certificate states what is guaranteed of an answer and what was done for it.
type Certificate struct {
	Method    Method       `json:"method"`
	Guarantee Guarantee    `json:"guarantee"`
	Law       Law          `json:"law,omitempty"` // "" unless a probability is part of the guarantee
	Delta     float64      `json:"delta"`         // failure probability allowed; 0 when none is needed
	Epsilon   float64      `json:"epsilon"`       // gap allowed, score units
	Exact     bool         `json:"exact"`         // no arm was dropped by a bound that can fail
	StoppedBy Stop         `json:"stopped_by"`
	Looks     []LookRecord `json:"looks,omitempty"`
	// Pulls counts the coordinates read for this query, including those of atoms that may
	// not be returned.
	Pulls int64 `json:"pulls"`
	// DensePulls is what a dense scan of the allowed atoms reads: their number times the
	// dimension. It can be less than Pulls, because looks also read disallowed atoms.
	DensePulls int64 `json:"dense_pulls"`
	Bytes      int64 `json:"bytes"` // bytes of atoms read
	RowsScored int   `json:"rows_scored"`
	// Threshold is the last threshold in search-score units: inner product,
	// cosine, or -|q-v|^2/2 for Euclidean distance. Null if there was none.
	Threshold *float64 `json:"threshold"`
	// OpenBound is the largest upper bound of an arm that was neither dropped nor
	// scored, in the same units; null if the answer is complete.
	OpenBound *float64 `json:"open_bound"`
	Plan      string   `json:"plan"`
	// ThresholdBefore says that the query had a threshold before its first look: its least score, or the
	// k-th best score of its candidates.
	ThresholdBefore bool `json:"threshold_before,omitempty"`
	// Candidates is what became of the query's candidates; nil if it had none.
	Candidates *CandidateRecord `json:"candidates,omitempty"`
	// Predicted is the forecast share of arms that survive the first look; 0 if there
	// was no forecast.
	Predicted float64 `json:"predicted_survivors,omitempty"`
	// PredictedCost is the forecast cost of the plan, in ns of one core per atom and
	// query; 0 if there was no forecast.
	PredictedCost float64 `json:"predicted_ns,omitempty"`
	// Backend names the backend that answered; "" if none did: no look has seen the
	// query, or a reference implementation answered.
	Backend string `json:"backend,omitempty"`
	// VectorsChange and QueryChange are the largest amounts by which a coordinate of the vectors, and
	// of this query, was changed when it was rounded to float32; 0: none was. What is guaranteed is
	// so of the rounded ones.
	VectorsChange float64 `json:"vectors_change,omitempty"`
	QueryChange   float64 `json:"query_change,omitempty"`
	// Fallback is "exact" if a plan of looks sent the query to the dense path.
	Fallback string `json:"fallback,omitempty"`
}

// Stats sums the certificates of a Response. Bytes has what was read once for all queries, too, by
// Published.Warm.
type Stats struct {
	Pulls, DensePulls, Bytes int64
	RowsScored               int64
	Exact                    int // queries with Certificate.Exact
	Dense                    int // queries that a look sent to the dense path
	Unfinished               int // queries stopped early
	// VectorsChange and QueriesChange are the largest of the certificates' changes.
	VectorsChange, QueriesChange float64
}

// Saving is DensePulls / Pulls: by what factor fewer coordinates were read than by a dense
// scan; 1 if nothing was read.
func (s Stats) Saving() float64 {
	if s.Pulls == 0 {
		return 1
	}
	return float64(s.DensePulls) / float64(s.Pulls)
}

// RequestError names the invalid field of a Request.
type RequestError struct {
	Field string
	Query int // index of the query, or -1
	Err   error
}

func (e *RequestError) Error() string {
	if e.Query >= 0 {
		return fmt.Sprintf("%s: query %d: %v", e.Field, e.Query, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Field, e.Err)
}

func (e *RequestError) Unwrap() error { return e.Err }

// Observer is told what an Engine does; its methods are called from the
// searching goroutine and must be quick and safe for concurrent use.
type Observer interface {
	// Searched is called after each Search with the method that answered, which is
	// never Auto.
	Searched(m Method, queries int, s Stats, took time.Duration)
	// FellBack is called when a backend could not run a plan and the engine used the
	// fallback: for every part of a search, but only once for a backend that is lost
	// (backend.ErrUnavailable), which is not used again.
	FellBack(from string, reason error)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Options configure an Engine; nil means defaults.
type Options struct {
	// Fallback answers what the primary backend cannot, and everything once the primary
	// is lost; nil means none.
	Fallback backend.Backend
	Observer Observer
	// Costs are the costs by which the planner compares plans of the primary backend; nil
	// means the backend's built-in costs, which depend only on its kernels. The fallback
	// uses its built-in costs. Costs can change which plan answers, never the guarantee.
	Costs *backend.Costs
	// RunBytes bounds the memory of the queries of one run, unless a single query needs more; 0
	// means 256 MiB. Requests of more queries are answered in parts, with the same answers.
	RunBytes int64
	// Spare, if not nil, returns how many bytes a run may take, unless a single query needs more; 0 if nobody knows. What
	// looks keep is known afterwards: a first run has so few queries that they may keep everything, and those that follow
	// as many as what runs before them kept allows. Runs that may take much ask for it now and then, from any goroutine;
	// with less than need bytes a run would have few queries.
	Spare func(need int64) int64
}
