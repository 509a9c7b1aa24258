package backend

import "math"

// A first look at whole rows on the CPU whose own lower bounds make the threshold samples panels to know about where that
// will be (cpu/scan). Plans forecast what this takes.
const (
	// sampleShare is the share of the panels in the sample, minSample and maxSample bound their number, and fewPanels
	// is from how many on there is one.
	sampleShare          = 32
	minSample, maxSample = 8, 64
	fewPanels            = 32
	// With so many standard deviations and so many atoms of the sample more above it than expected, the expected
	// threshold is too high for about one query in a hundred.
	spareDeviations, spareSampled = 2, 3
)

// SampledPanels returns how many of so many panels are sampled; 0 if all arms are listed in place of it.
func SampledPanels(panels int) int {
	if panels < fewPanels {
		return 0
	}
	return min(max(panels/sampleShare, minSample), maxSample)
}

// SampledRank returns the rank among the lower bounds of a sample of that which is the expected threshold, at least 3, if so many of
// the wanted atoms are expected in the sample.
func SampledRank(wanted float64) float64 {
	return wanted + spareDeviations*math.Sqrt(wanted) + spareSampled
}
