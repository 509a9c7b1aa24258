package items

import (
	"fmt"
	"slices"

	"thresher/choice/slate"
)

// Set is n items with d topics and l costs, in the order of their file.
type Set struct {
	// IDs are distinct; Titles may be "".
	IDs, Titles []string
	// Topics name the columns of Features, n*d numbers row-major in [0, 1]: how much of a
	// topic an item covers.
	Topics   []string
	Features []float64
	// CostNames name the columns of Costs, n*l numbers >= 0, row-major.
	CostNames []string
	Costs     []float64
	// GroupNames name the ids in Groups, which lists the groups of each item, ascending.
	GroupNames []string
	Groups     [][]int
}

// Len returns n.
func (s *Set) Len() int { return len(s.IDs) }

// Row returns the features of item i; the slice is shared.
func (s *Set) Row(i int) []float64 {
	d := len(s.Topics)
	return s.Features[i*d : (i+1)*d]
}

// CostsOf returns the costs of item i; the slice is shared.
func (s *Set) CostsOf(i int) []float64 {
	l := len(s.CostNames)
	return s.Costs[i*l : (i+1)*l]
}

// Name returns the title of item i, or its ID if it has none.
func (s *Set) Name(i int) string {
	if s.Titles[i] != "" {
		return s.Titles[i]
	}
	return s.IDs[i]
}

// Index returns the id of a group, -1 if there is none of that name.
func (s *Set) Index(group string) int { return slices.Index(s.GroupNames, group) }

// cover makes items cover their groups by score and nothing else, like the movies of
// section 7.2 of the paper.
func (s *Set) cover(scores []float64) {
	s.Topics = s.GroupNames
	s.Features = make([]float64, len(s.IDs)*len(s.Topics))
	for i, groups := range s.Groups {
		for _, g := range groups {
			s.Features[i*len(s.Topics)+g] = scores[i]
		}
	}
}

// inUnit rejects x outside [0, 1].
func inUnit(field string, x float64) error {
	if x >= 0 && x <= 1 {
		return nil
	}
	return fmt.Errorf("%s: %g is not in [0, 1]", field, x)
}

// payable rejects x outside [0, slate.MaxMagnitude].
func payable(field string, x float64) error {
	if x >= 0 && x <= slate.MaxMagnitude {
		return nil
	}
	return fmt.Errorf("%s: %g is not in [0, %g]", field, x, slate.MaxMagnitude)
}
