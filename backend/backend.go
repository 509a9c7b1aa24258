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
	// Close releases the device. Every Resident must be closed before.
	Close() error
}

// Resident is a collection loaded on a device. It is safe for concurrent use; its Runs
// are not.
type Resident interface {
	// Begin starts a batch. q and goals (one a query) stay owned by the
	// caller and must not change before the Run is closed.
	Begin(ctx context.Context, q Queries, goals []Goal) (Run, error)
	Close() error
}

// Stager is a Resident that can bring queries to its device while they are checked, in one pass over
// their memory.
type Stager interface {
	Resident
	// Stage calls check for consecutive ranges of the queries, lo to hi-1, from several goroutines, and
	// copies each range after it. It returns q with Staged set, unless the device is busy or copying so
	// few queries takes no time worth saving. An error is that of the first range for which check
	// returned one. The caller must call Release on what is staged, after the last Begin with it.
	Stage(q Queries, check func(lo, hi int) error) (Queries, error)
}

// Keeper is a Resident that makes terms and panels of its collection when a look first reads them, and keeps them in the memory
// of the process.
type Keeper interface {
	Resident
	// Kept is their memory, in bytes.
	Kept() int64
	// Making is by how much taking these looks would raise Kept.
	Making(these []Look) int64
}

// Staged is a Stager's copy of queries. The next Begin with these queries uses it up.
type Staged interface {
	// Release frees the copy, unless a Begin has used it up.
	Release()
}

// Run is the elimination of one batch. Calls come from one goroutine. If a context ends, the
// call stops within some milliseconds, after a chunk of at most a few thousand atoms, and
// returns the context's error. The Run stays valid, and Finish then returns the best answers
// so far with their open bounds.
type Run interface {
	// Pull takes the next look at the survivors. It drops every arm whose upper bound is
	// below its query's threshold, which rises during the look as candidates are scored.
	// If a first look keeps more arms of a query than MaxSurvivors, or finds more atoms that are
	// better but not wanted than the goal's MaxBetter, the dense path answers that query
	// immediately. After a context has stopped a look on codes, the same look may be called
	// again and continues where it stopped; after one on float32 coordinates only Finish may
	// be called.
	Pull(ctx context.Context, look Look) (Survivors, error)
	// Floor raises the Floor of each query's goal. floors[j] is a search score that the
	// caller knows from elsewhere: if other segments or machines hold k atoms of at least
	// that score, query j needs no atom of a lower one. -Inf, and a value not above the
	// current floor, changes nothing. From then on the answer is that to a goal with this
	// Floor: arms that cannot reach it are dropped, and Finish returns the K best of the
	// atoms that score at least the floor, including those that score exactly the floor,
	// because the caller orders ties by id. An answer can therefore have fewer than K
	// atoms, or none, and be complete. Goal.Epsilon is not added to a floor; a caller that
	// already holds all the atoms it will return may add it. Floor may be called between
	// any two calls. It fails with the error of CheckFloors and then changes nothing.
	Floor(ctx context.Context, floors []float64) error
	// Dense answers these queries, given by index, by the exact scores of all allowed
	// atoms. It reads only the rows that a goal's Filter allows if the goal has Gather, and
	// all rows otherwise.
	Dense(ctx context.Context, queries ...int) error
	// Finish scores the remaining arms exactly and returns the K best of each query, or all
	// that reach Floor for K = 0.
	Finish(ctx context.Context) (Answers, error)
	Close() error
}

// Leaver is a Run that can finish some queries before the others. Interrupting a look on
// codes and calling it again does not change the answers of the other queries.
type Leaver interface {
	Run
	// Leave finishes these queries, given by index, as Finish does, even if ctx has ended,
	// and returns their answers in the same order. They are no longer part of the run:
	// further calls do nothing for them, and Finish returns empty answers at their
	// indexes. No query may leave twice.
	Leave(ctx context.Context, queries ...int) (Answers, error)
}

// Queries is a batch of M query vectors of Dim coordinates, row-major.
type Queries struct {
	M, Dim int
	Data   []float32
	// Given holds the same vectors as they were given, if the collection's rows are of float64; Data is then made of it
	// as Collection.Row makes rows. Else it is nil.
	Given  []float64
	Staged Staged // a copy of all of them, by the Resident that is to search; nil if there is none
}

// Row returns query j; the slice aliases Data.
func (q Queries) Row(j int) []float32 { return q.Data[j*q.Dim : (j+1)*q.Dim : (j+1)*q.Dim] }

// QueryIndexes returns lo to hi-1, the indexes of queries in their batch as Run.Dense and
// Leaver.Leave take them.
func QueryIndexes(lo, hi int) []int {
	indexes := make([]int, hi-lo)
	for i := range indexes {
		indexes[i] = lo + i
	}
	return indexes
}

// Goal is the request of one query.
type Goal struct {
	// K is how many atoms are wanted, 1 <= K <= atoms; 0 means every atom
	// that reaches Floor.
	K int
	// Epsilon >= 0 is the allowed gap in score units of the search score
	// (collection.Metric).
	Epsilon float64
	// Floor is the least search score wanted; -Inf if any score is. Run.Floor raises it.
	Floor float64
	// FloorMade says that other vectors, as many as are wanted, score at least Floor: it is a threshold as good as those that
	// looks make, and no arm need be scored to have a first one. It changes no complete answer; a backend may ignore it.
	FloorMade bool
	// Ceiling is the greatest search score wanted; +Inf if any score is. It is compared with
	// the exact float64 scores of which answers are made. The K best are those of the atoms
	// that score at most Ceiling, and only they make thresholds: a score above it does not
	// count, a lower bound counts only if the atom's upper bound is at most Ceiling.
	Ceiling float64
	// Filter says which atoms may be returned; nil allows all. Shared between goals,
	// read only.
	Filter *Filter
	// Exclude lists more atoms (internal indexes) that may not be returned, ascending, each
	// once. Filter may exclude some of them too. Read only.
	Exclude []uint32
	// From excludes the atoms of internal index below From, 0 <= From <= atoms. A self-join
	// looks at each unordered pair once by it.
	From int
	// Candidates lists atoms (internal indexes, ascending, each once) that may be returned
	// and are scored exactly before the others, so that their scores make the first threshold.
	// Looks do not see them again. A backend may score a sample of them only, if that shows
	// that they make no useful threshold; the others are then atoms like all that are no
	// candidates. They change no complete answer. Read only.
	Candidates []uint32
	// Allowed is how many atoms may be returned, by Filter, Exclude and From.
	Allowed int
	// Gather says that the dense path reads only the rows that Filter allows, because they
	// are few, instead of all rows. It changes no answer.
	Gather bool
	// MaxBetter in [0, 1] is a share of the allowed atoms: if a first look finds that more are
	// better than the answer but not wanted, the dense path answers the query, as with
	// Look.MaxSurvivors. An atom counts if its estimate is above Ceiling, and half if Exclude has it
	// and its upper bound reaches the threshold, because only the first are looked at again. The
	// look may decide by the atoms that it has seen. 0 sets no limit. A backend may ignore
	// MaxBetter: it is where further looks cost more than a dense scan of many such queries, so only
	// the time of a complete answer depends on it.
	MaxBetter float64
}

// CheckFloors returns an error unless floors has one value for each of a Run's queries, none
// of them NaN or +Inf.
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

// Source says how a look scores the candidates that tighten the threshold.
type Source uint8

const (
	// Exact scores original rows in float64.
	Exact Source = iota
	// LowerBound computes deterministic lower bounds from the whole row of int8 codes, and
	// leaves exact scores to Finish. A first look that reads these codes has them from its own
	// sums. A backend may score exactly instead.
	LowerBound
)

// Rule says which upper bound a look compares with the threshold. The bounds are pure
// functions of package bandit.
type Rule uint8

const (
	// Student is the linear test of bandit.Linear with failure probability Alpha. On codes
	// of the whole row it is deterministic and spends no alpha.
	Student Rule = iota
	// Cauchy is deterministic: the Cauchy-Schwarz inequality bounds the unread coordinates
	// by their norms.
	Cauchy
	// Martingale is the time-uniform bound of method strict.
	Martingale
	// MeanRadius is the rule of BanditMIPS: the running mean plus and minus a radius.
	MeanRadius
)

// Look says which coordinates of the survivors are read and which bound is then compared
// with the threshold.
type Look struct {
	Rep Representation
	// The rest coordinates From..To-1 are read, in stored order. Looks on codes also read
	// the head, and From is 0.
	From, To int
	Rule     Rule
	// Alpha is the failure probability per arm of this look; of all looks together for
	// Martingale, and for all arms together for MeanRadius.
	Alpha float64
	// Sigma is the sub-Gaussian parameter of MeanRadius, in units of one product; 0 means
	// half the range of products that the data and the query allow.
	Sigma float64
	// Source is how a look on codes scores candidates.
	Source Source
	// Candidates is how many survivors of greatest estimate a look at float32
	// coordinates, other than the first, scores exactly before it reads any: they
	// tighten the threshold.
	Candidates int
	// FirstChunk is how many atoms a first look reads before the first threshold, which is
	// made by the k of greatest bound among them: a multiple of 64 (whole panels), or 0 for
	// the backend's least. The backend chooses the sizes of the chunks after it. It may read more
	// atoms first, and the float32 rows of up to 4,096 in place of their codes.
	FirstChunk int
	// MaxSurvivors is the share of the allowed atoms, in (0, 1]: if a first look keeps
	// more of a query, the dense path answers that query. 0 means no limit.
	MaxSurvivors float64
	// Gather says that a first look reads, for goals with a filter, the codes of the allowed atoms alone, which are
	// copied together for the queries that share the filter, and not whole panels. Bounds and answers are as
	// valid without it, so a backend may ignore it.
	Gather bool
}

// Survivors is the number of surviving arms of each query after a Pull; 0 for queries that
// the dense path has answered and for those that have left.
type Survivors []int

// None reports whether no query has a surviving arm.
func (s Survivors) None() bool {
	return !slices.ContainsFunc(s, func(n int) bool { return n > 0 })
}

// LookReport is what one look did for one query.
type LookReport struct {
	Look       Look
	Seen       int // arms looked at
	Disallowed int // atoms read although they may not be returned
	Survivors  int // arms kept
}

// Answer is the answer to one query, best first: search score descending, id
// ascending. IDs are row numbers of the data as given.
type Answer struct {
	IDs    []int64
	Scores []float64 // exact search scores, float64 sums over the original rows
	Looks  []LookReport
	// Pulls counts the coordinates read for this query, of codes and of float32 rows; eight
	// signs count as one. Atoms that may not be returned count if they are read: those of a
	// panel with an allowed atom, and all rows of a dense scan.
	Pulls      int64
	Bytes      int64   // bytes of atoms read
	RowsScored int     // rows scored exactly
	Tau        float64 // last threshold, search-score units
	OpenBound  float64 // largest upper bound of an arm neither dropped nor scored; -Inf = complete
	Random     bool    // an arm was dropped by a bound that can fail
	Dense      bool    // the dense path answered
}

// Complete reports whether every arm was dropped or scored.
func (a *Answer) Complete() bool { return math.IsInf(a.OpenBound, -1) }

// Answers holds one Answer a query.
type Answers []Answer

// Errors of every backend, wrapped with details.
var (
	// ErrRuleUnsupported: this backend cannot run a look's rule on its
	// representation; the caller may use another backend.
	ErrRuleUnsupported = errors.New("rule not supported by this backend")
	// ErrUnavailable: the device does not exist or is lost.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrMemory: the collection does not fit.
	ErrMemory = errors.New("not enough device memory")
	// ErrClosed: used after Close.
	ErrClosed = errors.New("backend closed")
)
