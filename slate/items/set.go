package items

import (
	"fmt"
	"slices"

	"thresher/slate"
)

// Set is n items with d topics and l costs, in the order of their file.
type Set struct {
	// IDs are distinct; Titles may be "".
	IDs, Titles []string
	// Topics name the columns of Features, n*d, row-major: how much of a topic an
	// item covers, in [0, 1].
	Topics   []string
	Features []float64
	// CostNames name the columns of Costs, n*l, row-major, each 0 or more.
	CostNames []string
	Costs     []float64
	// GroupNames name what Groups has numbers of: the groups of each item, ascending.
	GroupNames []string
	Groups     [][]int
}

// Len is n.
func (s *Set) Len() int { return len(s.IDs) }

// Row is the features of item i, shared.
func (s *Set) Row(i int) []float64 {
	d := len(s.Topics)
	return s.Features[i*d : (i+1)*d]
}

// CostsOf is the costs of item i, shared.
func (s *Set) CostsOf(i int) []float64 {
	l := len(s.CostNames)
	return s.Costs[i*l : (i+1)*l]
}

// Name is the title of item i, or else its ID.
func (s *Set) Name(i int) string {
	if s.Titles[i] != "" {
		return s.Titles[i]
	}
	return s.IDs[i]
}

// Index finds a group, -1 if there is none of that name.
func (s *Set) Index(group string) int { return slices.Index(s.GroupNames, group) }

// cover says that an item covers its groups by score and nothing else, as the
// movies of section 7.2 of the paper do.
func (s *Set) cover(scores []float64) {
	s.Topics = s.GroupNames
	s.Features = make([]float64, len(s.IDs)*len(s.Topics))
	for i, groups := range s.Groups {
		for _, g := range groups {
			s.Features[i*len(s.Topics)+g] = scores[i]
		}
	}
}

// inUnit refuses what is not in [0, 1].
func inUnit(field string, x float64) error {
	if x >= 0 && x <= 1 {
		return nil
	}
	return fmt.Errorf("%s: %g is not in [0, 1]", field, x)
}

// payable refuses what is not in [0, slate.MaxMagnitude].
func payable(field string, x float64) error {
	if x >= 0 && x <= slate.MaxMagnitude {
		return nil
	}
	return fmt.Errorf("%s: %g is not in [0, %g]", field, x, slate.MaxMagnitude)
}
