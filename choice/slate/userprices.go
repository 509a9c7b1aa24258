package slate

import "math"

// prices are the least costs in every cell of the items that a constraint allows, as
// fractions of the budgets; +Inf if it allows none.
type prices struct {
	knapsacks int
	full      float64
	each      []float64 // cells*l
	total     []float64 // by cell
}

func newPrices(c *Constraint, in *cells) *prices {
	l := c.Knapsacks()
	p := &prices{knapsacks: l, full: c.full, each: make([]float64, in.size()*l), total: make([]float64, in.size())}
	for i := range p.each {
		p.each[i] = math.Inf(1)
	}
	for r := range p.total {
		p.total[r] = math.Inf(1)
		each := p.each[r*l : (r+1)*l]
		for _, e := range in.items[in.start[r]:in.start[r+1]] {
			if !c.usable[e] {
				continue
			}
			p.total[r] = min(p.total[r], c.total[e])
			for j, x := range c.costs(int(e)) {
				each[j] = min(each[j], x)
			}
		}
	}
	return p
}

// fit reports whether an item of cell r may fit after what was spent.
func (p *prices) fit(r int, spent []float64) bool {
	if math.IsInf(p.total[r], 1) {
		return false
	}
	for j, x := range p.each[r*p.knapsacks : (r+1)*p.knapsacks] {
		if spent[j]+x > p.full {
			return false
		}
	}
	return true
}
