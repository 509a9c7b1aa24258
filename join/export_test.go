package join

// PairsOnce reports whether a graph's search has begun to search each pair once.
func (g *Graph) PairsOnce() bool { return g.triangle != nil }
