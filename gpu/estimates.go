package gpu

import "thresher/backend"

// EstimatedCosts are the built-in costs of a GPU, by which plans are chosen until they are measured:
// estimates from the data sheets of server cards of 2022 to 2024 and the share of those rates that
// kernels usually reach. That of mixed codes is from the instructions and products of both scans
// (docs/gpu.md). None was measured.
func EstimatedCosts() backend.Costs {
	return backend.Costs{
		Scan: 4e-6, Wide: 6e-6, Mixed: 2.6e-6, Test: 2e-4, List: .05, Visit: .03, Code: 1e-4, Sign: 4e-5, Far: 3.5e-4, Fetch: .1, Score: 1.4e-3,
		Dense: 9e-6, DenseTest: 3e-4, DenseOne: 1.2e-3, Rotate: .02, Query: 2000}
}
