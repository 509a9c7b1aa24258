package join

// PairsOnce reports whether a graph's search has begun to search each pair once.
func (g *Graph) PairsOnce() bool { return g.triangle != nil }

// ScanAll makes a table scan all groups, or none.
func (r *Right) ScanAll(all bool) { r.scans = func(int32, int) bool { return all } }
