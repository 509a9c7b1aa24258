package looks

import "thresher/collection"

// Scoring says how a score is summed. The numbers are compiled into kernels.
type Scoring int

const (
	ProductScoring    Scoring = iota // products
	CosineScoring                    // products, divided by both norms
	DifferenceScoring                // squared differences
)

// ScoringOf returns how scores of a metric are summed.
func ScoringOf(m collection.Metric) Scoring {
	switch {
	case m.Normalises():
		return CosineScoring
	case m.Differences():
		return DifferenceScoring
	}
	return ProductScoring
}
