package arms

import (
	"thresher/backend"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
	"thresher/simd"

	"thresher/backend/looks"
	"thresher/collection"
)

// PartialRows is the greatest number of rows that a query scores after its deadline. A
// partial answer is then the best of these candidates.
const PartialRows = 256

// PanelAtoms is how many atoms a panel holds; a mask has a bit for each.
const PanelAtoms = collection.PanelAtoms

// Query is one query under elimination. Scores inside are multiplied by 2^-Exp, and
// bounds and thresholds have the product form (score.go). Answers hold search scores
// without that factor.
type Query struct {
	Team          *threads.Team // of the run that it belongs to
	C             *collection.Collection
	Kern          simd.Kernels
	Goal          backend.Goal
	Exp           int
	PerUnit       float64   // 2^-Exp
	Q             []float64 // the query as given times a power of two (1 for squared differences), which keeps it exact
	Unit          float64   // factor from Q to the query of the bounds: scaling, and normalisation if the metric asks for it
	Squares       float64   // |Q|^2, a canonical sum
	ToScore       float64   // factor from scores of what is scored to scores times 2^-Exp
	scored        []float64 // what rows are scored for: Q or, if rows are of float64, the query as given
	scoredSquares float64   // |scored|^2, a canonical sum
	Scale         float64   // 1/|Q| for cosine, else 1
	Prep          collection.Query

	epsilon        float64
	Floor, Ceiling float64
	Conversion     looks.Conversion // between search scores and bounds
	Best           topk.Best
	Lower          topk.Floats // the k greatest lower bounds, if they set the threshold
	Tau            float64     // the threshold; it never falls
	Expected       float64     // a greatest bound of the atoms that a first look has seen and not listed, if above Tau: the threshold expected at its end
	beforeExpected scanned     // what looks had seen before that
	pruned         bool        // List and Finalists hold only arms that reach prunedAt
	prunedAt       float64     // the threshold at which they were pruned

	Hidden      []uint32      // atoms that looks and dense scans pass over, ascending: excluded or given as candidates
	merged      []uint32      // memory of Hidden
	Given       []uint32      // the candidates that the goal names, in the order in which they are scored
	Sample      int           // the first of these, by which a look decides about the others; 0: there is no such sample
	givenScored int           // given candidates that are scored
	BestGiven   []topk.Scored // the best of the given candidates, once all are scored

	Phase     Phase
	NextPanel int          // first panel not scanned
	List      topk.Entries // arms kept by a look at part of their coordinates
	Finalists []topk.Arm   // arms whose whole row was read, to be scored exactly

	random          bool // an arm was dropped by a bound that can fail
	rowsIfAllScored int  // RowsRead at the end if every arm left before the first such bound is scored; 0: no such bound yet
	reports         []backend.LookReport
	pulls, bytes    int64
	RowsRead        int
}

// scanned is how far first looks have come.
type scanned struct {
	panel  int // NextPanel
	listed int // the length of List
}

// Phase is the progress of a query through a run. It only increases.
type Phase uint8

const (
	Unscanned Phase = iota // no look has seen the atoms from NextPanel on
	Listed                 // every atom was seen: list, finalists or pass hold all arms that are left
	Crowded                // the first look kept more than MaxSurvivors or met more than MaxBetter, and ended early: the dense path must answer
	Answered               // best is the answer of the dense path
	HasLeft                // the answer was taken before the run's end
)

// Offset returns atom i's scaled offset, which is an upper bound of the true one.
func (s *Query) Offset(i int) float64 {
	if s.C.Offset == nil {
		return 0
	}
	return float64(s.C.Offset[i]) * s.PerUnit
}

// OffsetWidth returns an upper bound of how far the true offset of atom i lies below
// offset(i).
func (s *Query) OffsetWidth(i int) float64 {
	if s.C.Offset == nil {
		return 0
	}
	return looks.OffsetWidth(s.C.Norm[i], s.C.Offset[i]) * s.PerUnit
}
