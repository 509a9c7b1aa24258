package slate

// basket holds a list's items against its constraint. An item that does not fit never
// fits a longer list.
type basket struct {
	of    *Constraint
	items int
	spent []float64 // by knapsack, as a fraction of the budget
	taken []int     // by group
	in    []bool    // by item
}

func newBasket(c *Constraint) *basket {
	return &basket{
		of: c, spent: make([]float64, c.Knapsacks()),
		taken: make([]int, len(c.limit)), in: make([]bool, c.items.Size()),
	}
}

// fits reports whether item e may be appended.
func (b *basket) fits(e int) bool {
	if b.in[e] || !b.of.usable[e] || b.items >= b.of.length {
		return false
	}
	for j, x := range b.of.costs(e) {
		if b.spent[j]+x > b.of.full {
			return false
		}
	}
	for _, g := range b.of.groups(e) {
		if most := b.of.limit[g]; most >= 0 && b.taken[g] >= most {
			return false
		}
	}
	return true
}

func (b *basket) add(e int) {
	b.in[e] = true
	b.items++
	for j, x := range b.of.costs(e) {
		b.spent[j] += x
	}
	for _, g := range b.of.groups(e) {
		b.taken[g]++
	}
}

// reset empties the basket of list.
func (b *basket) reset(list []int) {
	for _, e := range list {
		b.in[e] = false
	}
	b.items = 0
	clear(b.spent)
	clear(b.taken)
}
