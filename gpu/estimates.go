package gpu

import "thresher/backend"

// EstimatedCosts are the built-in costs of a GPU, by which plans are chosen until they are measured:
// estimates from the data sheets of server cards of 2022 to 2024, the instructions of the loops (docs/gpu.md), and the share
// of such rates that kernels usually reach. mma.sync reaches some 63% of the data sheet's products on Hopper: mixed codes, which are
// limited by nothing else, are taken to reach 90% of that, and all other loops 70% of what limits them. None was measured.
func EstimatedCosts() backend.Costs {
	return backend.Costs{
		Scan: 1.2e-6, Wide: 2.4e-6, Mixed: 1.8e-6, Test: 2.4e-4, List: .05, Visit: .03, Code: 1e-4, Sign: 4e-5, Far: 3.5e-4, Fetch: .1, Score: 1.4e-3,
		Dense: 9e-6, DenseTest: 3e-4, DenseOne: 1.2e-3, Rotate: .02, Query: 2000}
}
