package batch

import (
	"cmp"

	"thresher/backend"
	"thresher/batch/plan"
	"thresher/collection"
)

// noBuilding is added to the names of plans over rows without codes.
const noBuilding = ", no building"

// BuildingPays reports whether a collection of n rows of dim coordinates, of which nothing is built yet, answers so
// many queries like r sooner with codes, the building included, than without (collection.Options.NoCodes); queries
// below 0 are an unknown number. Only rows without codes serve method exact, and only codes those methods and plans
// that need them. The answers of auto, exact and certain without codes are exact. costs are those of a CPU.
func (r *Request) BuildingPays(n, dim int, metric collection.Metric, queries int64, costs *backend.Costs) bool {
	m := cmp.Or(r.Method, Auto)
	if r.Plan != "" || m != Auto && m != Exact && m != Certain {
		return true
	}
	once := plan.Once{Method: plan.Method(m), Rows: n, Dim: dim, Metric: metric, K: min(r.K, n), Queries: queries}
	return once.Builds(costs)
}

// planName is how certificates name the plan.
func (w *work) planName() string {
	if w.e.c.Unbuilt() {
		return w.strategy.Name + noBuilding
	}
	return w.strategy.Name
}
