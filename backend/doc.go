// Package backend is the contract between the driver of the elimination rounds and the
// devices that do the arithmetic: a CPU or a GPU.
//
// A backend loads a collection once and then runs batches of queries over it. The state
// of a batch (survivors, thresholds, exact scores so far) stays in the backend's memory;
// the driver sees how many arms survive:
//
//	begin; for each look of the plan { pull; stop when nothing survives }; finish
//
// Every backend computes the same scores, bit for bit: canonical sums of float64 as
// docs/guarantee.md defines them. Complete answers to goals without epsilon, by bounds that
// cannot fail, are the same list on all of them.
//
// Sub-package backendtest is the suite every backend passes, against a
// float64 oracle.
package backend
