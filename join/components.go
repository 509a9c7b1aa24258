package join

import (
	"fmt"
	"math"
)

// Components are the connected components of a graph whose edges are added one by one: a
// union-find with 4 bytes for each node. A component is numbered by its least node.
type Components struct {
	// parent of a node is a lesser node of its component, or, for the least node of a component,
	// the negative size of the component.
	parent []int32
}

// NewComponents returns the components of a graph of n nodes without edges.
func NewComponents(n int64) (*Components, error) {
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("components of %d rows: at most %d", n, math.MaxInt32)
	}
	c := &Components{parent: make([]int32, n)}
	for i := range c.parent {
		c.parent[i] = -1
	}
	return c, nil
}

// Connect adds an edge between two nodes.
func (c *Components) Connect(a, b int64) {
	x, y := c.Of(a), c.Of(b)
	if x == y {
		return
	}
	x, y = min(x, y), max(x, y)
	c.parent[x] += c.parent[y]
	c.parent[y] = int32(x)
}

// Of returns the number of a node's component. It shortens the path there.
func (c *Components) Of(node int64) int64 {
	p := c.parent
	i := int32(node)
	for p[i] >= 0 {
		if next := p[p[i]]; next >= 0 {
			p[i] = next
		}
		i = p[i]
	}
	return int64(i)
}

// Size returns the number of nodes of a node's component.
func (c *Components) Size(node int64) int64 { return -int64(c.parent[c.Of(node)]) }

// Count returns the number of components, and the size of the largest; 0 without nodes.
func (c *Components) Count() (count, largest int64) {
	for _, p := range c.parent {
		if p < 0 {
			count++
			largest = max(largest, -int64(p))
		}
	}
	return count, largest
}

// Labels numbers the components from 0 on in the order of their least nodes, and returns the
// number of each node's: what scipy.sparse.csgraph.connected_components returns as labels.
func (c *Components) Labels() []int32 {
	labels := make([]int32, len(c.parent))
	next := int32(0)
	for i := range labels {
		root := c.Of(int64(i)) // at most i
		if root == int64(i) {
			labels[i] = next
			next++
		} else {
			labels[i] = labels[root]
		}
	}
	return labels
}
