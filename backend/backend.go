package backend

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"thresher/collection"
)

// Backend does the arithmetic of searches on one kind of device.
type Backend interface {
	// Name is "cpu" or "cuda".
	Name() string
	// Load makes c ready for searches on the device. The collection stays
	// owned by the caller and must outlive the Resident.
	Load(ctx context.Context, c *collection.Collection) (Resident, error)
	// Close frees the device. Every Resident must be closed before.
	Close() error
}

// Resident is a collection loaded on a device. It is safe for concurrent use;
// the Runs it begins are not.
type Resident interface {
	// Begin starts a batch. q and goals (one a query) stay owned by the
	// caller and must not change before the Run is closed.
	Begin(ctx context.Context, q Queries, goals []Goal) (Run, error)
	Close() error
}

// Run is one batch under elimination. Calls come from one goroutine.
// A context that ends stops the work within some milliseconds, after a chunk of
// at most a few thousand atoms: the call returns the context's error, the Run
// stays valid, and Finish then gives the best answers so far with their open
// upper bound.
type Run interface {
	// Pull takes the next look at the survivors: it drops every arm that cannot
	// reach its query's threshold, which rises on the way by the arms that the look
	// itself finds best. A query of which a first look keeps more than its share is
	// answered by the dense path at once. A look on codes that a context stopped may
	// be asked for again and goes on where it was; one on float32 coordinates may not,
	// after it only Finish.
	Pull(ctx context.Context, look Look) (Survivors, error)
	// Floor raises the Floor of each query's goal, for search scores found elsewhere: in
	// other segments, on other machines, among candidates. Who knows k atoms that score
	// floors[j] or more needs none of query j that score less. -Inf, and any figure not
	// above the floor there is, changes nothing. From then on the answer is that of a
	// goal with this Floor: arms that cannot reach it are dropped, and Finish returns the
	// K best of the atoms that score at least the floor. Those that score exactly the
	// floor are among them, for the caller orders ties by id; those below it are not,
	// even if they were scored before. So an answer may have fewer than K atoms, or
	// none, and be complete. Goal.Epsilon is not added to a floor: a caller that holds
	// all it will return of these atoms may add it. Floor may come between any two
	// calls; it fails by CheckFloors, and has then changed nothing.
	Floor(ctx context.Context, floors []float64) error
	// Dense scores all atoms allowed for these queries exactly. It reads the rows
	// that a goal's Filter allows if the goal says Gather, and all rows otherwise.
	Dense(ctx context.Context, queries ...int) error
	// Finish scores what is left exactly and returns the k best.
	Finish(ctx context.Context) (Answers, error)
	Close() error
}

// Leaver is a Run whose queries can be finished before the others. Looks on codes
// that a context stopped go on where they were when they are asked for again: the
// others' answers are as if nothing had stopped them.
type Leaver interface {
	Run
	// Leave finishes these queries as Finish does, ctx ended or not, and returns
	// their answers, in their order. They are no more part of the run: further
	// calls do nothing for them, and their places in Finish are empty. No query
	// may leave twice.
	Leave(ctx context.Context, queries ...int) (Answers, error)
}

// Queries is a batch of M query vectors of Dim coordinates, row-major.
type Queries struct {
	M, Dim int
	Data   []float32
}

// Row returns query j; the slice aliases Data.
func (q Queries) Row(j int) []float32 { return q.Data[j*q.Dim : (j+1)*q.Dim : (j+1)*q.Dim] }

// QueryIndexes returns lo to hi-1, the indexes of queries in their batch as Run.Dense and
// Leaver.Leave take them.
func QueryIndexes(lo, hi int) []int {
	places := make([]int, hi-lo)
	for i := range places {
		places[i] = lo + i
	}
	return places
}

// Goal is what one query asks for.
type Goal struct {
	// K is how many atoms are wanted, 1 <= K <= atoms; 0 means every atom
	// that reaches Floor.
	K int
	// Epsilon >= 0 is the allowed gap in score units of the search score
	// (collection.Metric).
	Epsilon float64
	// Floor is the least search score wanted; -Inf when there is none. Run.Floor
	// raises it.
	Floor float64
	// Filter says which atoms may be returned; nil allows all. Shared between goals,
	// read only.
	Filter *Filter
	// Allowed is how many atoms may be returned, by Filter and Skip.
	Allowed int
	// Skip is one more atom (internal index) that may not be returned, or -1.
	Skip int
	// Gather has the dense path reach the rows that Filter allows one by one, for it
	// allows few, instead of reading all rows and leaving those that it does not. It
	// says what is read, and changes no answer.
	Gather bool
}

// CheckFloors says what keeps floors from being those of a Run's queries, one each: a
// floor is a number, or -Inf.
func CheckFloors(floors []float64, queries int) error {
	if len(floors) != queries {
		return fmt.Errorf("%d floors for %d queries", len(floors), queries)
	}
	for j, f := range floors {
		if math.IsNaN(f) || math.IsInf(f, 1) {
			return fmt.Errorf("floor of query %d: %g", j, f)
		}
	}
	return nil
}

// Source says how the arms that raise a threshold during a look are scored.
type Source uint8

const (
	// Exact scores original rows in float64.
	Exact Source = iota
	// LowerBound takes deterministic lower bounds from the whole row of int8 codes,
	// and leaves the exact scores for Finish. A backend may score exactly instead.
	LowerBound
)

// Rule says which bound decides. Every rule is a pure function of package
// bandit.
type Rule uint8

const (
	// Student is the linear test of bandit.Linear at level Alpha; on codes
	// of the whole row it is deterministic and spends nothing.
	Student Rule = iota
	// Cauchy is deterministic: what was not seen is bounded by its norm.
	Cauchy
	// Martingale is the time-uniform bound of method strict.
	Martingale
	// MeanRadius is BanditMIPS: running mean plus and minus a radius.
	MeanRadius
)

// Look is one more glance at the survivors.
type Look struct {
	Rep Representation
	// From and To are the rest coordinates read, half open, in stored order;
	// looks on codes also read the head. A look on codes always starts at 0.
	From, To int
	Rule     Rule
	// Alpha is the failure probability of this look for one arm; of all looks
	// together for Martingale, and for all arms together for MeanRadius.
	Alpha float64
	// Sigma is the sub-Gaussian parameter of MeanRadius, in units of one
	// product; 0 takes half the range the data and the query allow.
	Sigma float64
	// Source is how a look on codes scores the arms that raise the threshold.
	Source Source
	// Candidates is how many survivors of greatest estimate a look at float32
	// coordinates, other than the first, scores exactly before it reads any: they
	// raise the threshold.
	Candidates int
	// FirstChunk is how many atoms a first look sees before it raises the threshold,
	// by the k of greatest bound among them; then as many again, twice as
	// many, and so on. Whole panels; 0 means one.
	FirstChunk int
	// MaxSurvivors is the share of the atoms allowed, in (0, 1], beyond which
	// what a first look keeps sends a query to the dense path on its way; 0 means
	// no limit.
	MaxSurvivors float64
}

// Survivors is how many arms of each query are in play after a Pull; 0 for queries
// that the dense path has answered and those that have left.
type Survivors []int

// None reports whether no query has an arm left to look at.
func (s Survivors) None() bool {
	return !slices.ContainsFunc(s, func(n int) bool { return n > 0 })
}

// LookReport is what one look did for one query.
type LookReport struct {
	Look       Look
	Seen       int // arms looked at
	Disallowed int // atoms read with them that may not be returned
	Survivors  int // arms kept
}

// Answer is the answer to one query, best first: search score descending, id
// ascending. IDs are row numbers of the data as given.
type Answer struct {
	IDs    []int64
	Scores []float64 // exact search scores, float64 sums over the original rows
	Looks  []LookReport
	// Pulls counts the coordinates read, of codes and of exact rows together; eight
	// signs count as one. What is read counts whether or not it may be returned: all
	// atoms of a panel that holds one, and all rows that a dense scan goes through.
	// What only queries beside this one have read does not count.
	Pulls      int64
	Bytes      int64   // bytes of atoms read
	RowsScored int     // rows scored exactly
	Tau        float64 // last threshold, search-score units
	OpenBound  float64 // largest upper bound never resolved; -Inf = complete
	Random     bool    // an arm was dropped by a bound that can fail
	Dense      bool    // the dense path answered
}

// Complete reports whether nothing was left open.
func (a *Answer) Complete() bool { return math.IsInf(a.OpenBound, -1) }

// Answers holds one Answer a query.
type Answers []Answer

// Errors of every backend, wrapped with what was asked and what is there.
var (
	// ErrRuleUnsupported: this backend cannot run a look's rule on its
	// representation; the caller may use another backend.
	ErrRuleUnsupported = errors.New("rule not supported by this backend")
	// ErrUnavailable: there is no such device here.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrMemory: the collection does not fit.
	ErrMemory = errors.New("not enough device memory")
	// ErrClosed: used after Close.
	ErrClosed = errors.New("backend closed")
)
