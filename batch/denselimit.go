package batch

// denseTogether is the least number of queries for which a dense scan costs each of them about what
// it costs one of very many. Fewer than nine share no products.
const denseTogether = 16

// limitBetter lets the dense path answer those queries that do not want so many of the best atoms
// that a dense scan of many such queries is cheaper. It depends only on the request, so that the answer
// to a query does not depend on the searches that share its run; the queries of a part of a longer
// list count as many.
func (w *work) limitBetter() {
	share := w.strategy.MaxBetter
	if share == 0 || w.req.LaterOnly {
		return
	}
	var js []int
	for j := range w.m {
		// Fewer exclusions than answers save more than they cost.
		if w.maxScore(j) != nil || len(w.goal(j).Exclude) > w.k {
			js = append(js, j)
		}
	}
	if len(js) < denseTogether && !w.req.Part {
		return
	}
	for _, j := range js {
		w.goals[j].MaxBetter = share
	}
}
