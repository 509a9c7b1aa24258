package batch

import (
	"fmt"
	"math"
	"time"

	"thresher/backend"
	"thresher/batch/plan"
)

// Method names a way to search; see docs/guarantee.md for what each promises.
type Method string

const (
	Auto                   = Method(plan.Auto)     // the planner picks adaptive, certain or exact
	Exact                  = Method(plan.Exact)    // dense scan
	Certain                = Method(plan.Certain)  // elimination by deterministic bounds only
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

// Request is a batch of queries and what is asked of each.
type Request struct {
	// Queries holds m rows of the collection's dimension, row-major. Read
	// only, owned by the caller.
	Queries []float32
	// K is how many atoms each query wants, at least 1. K beyond the number
	// of atoms is cut, and Response.Warnings says so. With MinScore, 0 means
	// all that reach it.
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
	// Plan, if not "", is how methods auto, exact, certain and adaptive look,
	// instead of the planner's choice: "dense", all rows; "gather", those that Allow
	// and Deny let be returned, where these leave any out; or the numbers of coordinates
	// that each look takes of the rest, ascending, "signs" for the signs of all,
	// "whole" for all, and at the end "rescore", the float32 rows of what is left:
	// "64,256,rescore", "128,whole,rescore", "32,signs,rescore" ("rows", which
	// "rescore" was called before, is read as well). Looks that are not whole are by
	// the Student bound, by deterministic ones for method certain, which has none of
	// signs. Engine.Plans lists plans, and certificates of these methods
	// name them so, but for certain on the raw basis: it has one way to look, as the
	// other methods have, whose names are for people.
	Plan string
	// MinScore, if not nil, asks for atoms scoring at least *MinScore (distances:
	// at most *MinScore). Each such atom is missed with
	// probability at most Delta; there is no joint promise.
	MinScore *float64
	// Allow, if not nil, lists the only row numbers that may be returned;
	// Deny lists some that may not.
	Allow, Deny []int64
	// ExcludeSelf says that query j is atom SelfFirst+j and must not return
	// itself.
	ExcludeSelf bool
	SelfFirst   int64
	// Timeout, if positive, ends the search with the best so far.
	Timeout time.Duration
	// Sigma is the sub-Gaussian parameter of the published methods, in units
	// of one coordinate's reward: its product, of distances what papers.Distances
	// says; 0 derives it from the data's range.
	Sigma float64
	// Beta is the exponent of banditmips-beta's weights; 0 means 1.
	Beta float64
	// Turns, if not nil, is asked before each part of the search, and says how long
	// parts should be. What it does changes when an answer comes, not what it is.
	Turns Turns
}

// Response answers a Request, one Answer a query, in the queries' order.
type Response struct {
	Answers  []Answer
	Warnings []string      // what was changed of the request, e.g. k cut to n
	Took     time.Duration // the search alone
	Stats    Stats
}

// Complete reports whether every answer is.
func (r *Response) Complete() bool {
	for i := range r.Answers {
		if r.Answers[i].Certificate.StoppedBy != Done {
			return false
		}
	}
	return true
}

// Answer is the answer to one query, best first; ties by ascending id.
type Answer struct {
	IDs         []int64   // row numbers of the atoms as given
	Scores      []float32 // inner products, cosines, or squared distances
	Certificate Certificate
}

// Guarantee is the kind of promise an answer carries.
type Guarantee string

const (
	GuaranteeExact         Guarantee = "exact"
	GuaranteeCertain       Guarantee = "certain"
	GuaranteeProbabilistic Guarantee = "probabilistic"
	GuaranteeHeuristic     Guarantee = "heuristic"
)

// Law names what stands behind the probability of a GuaranteeProbabilistic; see
// docs/guarantee.md, "What a certificate says".
type Law string

const (
	LawHaar       Law = "haar"       // proven: the rotation is drawn from Haar measure
	LawCalibrated Law = "calibrated" // simulated: the fast rotation is taken for one from Haar measure
	LawOrder      Law = "order"      // proven: coordinates come in random order
	LawPublished  Law = "published"  // the paper's, for rewards within the data's range
	LawAssumed    Law = "assumed"    // the paper's, if Request.Sigma is true of the data
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

// LookRecord is one look of one query as it went.
type LookRecord struct {
	Reads string  `json:"reads"` // "panels", "codes" ("rows" in old files), "signs", "float32"
	Width int     `json:"width"` // coordinates an arm was looked at with, head included
	Rule  string  `json:"rule"`
	Alpha float64 `json:"alpha"` // failure probability spent an arm
	Seen  int     `json:"seen"`
	// Disallowed are the atoms read with them that may not be returned: a first look
	// reads whole panels.
	Disallowed int `json:"beside,omitempty"`
	Survivors  int `json:"survivors"`
}

// Certificate says what an answer promises and what was done for it.
type Certificate struct {
	Method    Method       `json:"method"`
	Guarantee Guarantee    `json:"guarantee"`
	Law       Law          `json:"law,omitempty"` // "" unless the guarantee is probabilistic
	Delta     float64      `json:"delta"`         // failure probability allowed; 0 when none is needed
	Epsilon   float64      `json:"epsilon"`       // gap allowed, score units
	Exact     bool         `json:"exact"`         // no arm was dropped by a bound that can fail
	StoppedBy Stop         `json:"stopped_by"`
	Looks     []LookRecord `json:"looks,omitempty"`
	// Pulls counts the coordinates of atoms that were read, whether or not these may be
	// returned; what only queries beside this one have read does not count.
	Pulls int64 `json:"pulls"`
	// DensePulls is what a dense scan of the atoms allowed reads, theirs times the
	// dimension: less than Pulls where a filter is answered from what lies beside.
	DensePulls int64 `json:"dense_pulls"`
	Bytes      int64 `json:"bytes"` // bytes of atoms read
	RowsScored int   `json:"rows_scored"`
	// Threshold is the last threshold in search-score units: inner product,
	// cosine, or -|q-v|^2/2 for Euclidean distance. Null before any.
	Threshold *float64 `json:"threshold"`
	// OpenBound is the largest upper bound of an arm never resolved, in the
	// same units; null = complete.
	OpenBound *float64 `json:"open_bound"`
	Plan      string   `json:"plan"`
	// Predicted is the pilot's forecast of the share of arms that pass the
	// first look; 0 when there was none.
	Predicted float64 `json:"predicted_survivors,omitempty"`
	// PredictedCost is what the planner expected of the plan, in ns of one core
	// an atom and query; 0 when it made no forecast.
	PredictedCost float64 `json:"predicted_ns,omitempty"`
	// Backend names what did the arithmetic; "" when the batch had none to do, or
	// did its own.
	Backend  string `json:"backend,omitempty"`
	Fallback string `json:"fallback,omitempty"`
}

// Stats sums a Response.
type Stats struct {
	Pulls, DensePulls, Bytes int64
	RowsScored               int64
	Exact                    int // queries whose answer needed no probability
	Dense                    int // queries sent dense
	Partial                  int // queries stopped early
}

// Saving is how many times fewer coordinates were read than a dense scan
// reads; 1 when nothing was.
func (s Stats) Saving() float64 {
	if s.Pulls == 0 {
		return 1
	}
	return float64(s.DensePulls) / float64(s.Pulls)
}

// RequestError names the field of a Request that cannot be served.
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
	// FellBack is called when a backend could not run a plan and the engine
	// used another: for every part of a search, but once for a backend that is
	// lost (backend.ErrUnavailable), which is not asked again.
	FellBack(from string, reason error)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Options configure an Engine; nil means defaults.
type Options struct {
	// Fallback answers what the first backend cannot, and everything once that is
	// lost; nil means none.
	Fallback backend.Backend
	Observer Observer
	// Costs are what the planner compares plans of the first backend by; nil means
	// the backend's own figures, which are the same on every machine with its
	// kernels, as they are for the fallback. Answers keep their promise whatever they
	// are, but another plan can answer.
	Costs *backend.Costs
}
