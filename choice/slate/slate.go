package slate

// Slate is a chosen list with its figures.
type Slate struct {
	Algorithm Algorithm `json:"algorithm"`
	Picks     []Pick    `json:"picks"`
	// Value is the estimate of f of the list. Width is beta times the sum of deviations: f is
	// within Value +- Width if the intervals hold.
	Value float64 `json:"value"`
	Width float64 `json:"width"`
	// UCB = Value + 3 Width is the figure by which lists are compared (UAI 2020, section 5.1).
	UCB float64 `json:"ucb"`
	// Beta is the half-width of an interval in deviations.
	Beta float64 `json:"beta"`
	// Rho is the threshold that made this list; 0 for none.
	Rho float64 `json:"rho,omitempty"`
	// Alpha is the guaranteed fraction of the optimum, provided that Options.Lowest and
	// Highest, and the Noise and Norm of its Confidence, hold. It is 0 if nothing is
	// guaranteed: for other algorithms than AFSM, for intervals without proof, and if the
	// figures contradict Lowest or Highest.
	Alpha float64 `json:"alpha,omitempty"`
	// Evaluations is the number of UCB scores computed.
	Evaluations int `json:"evaluations"`
}

// Pick is an item of a list, given the items before it.
type Pick struct {
	Item int `json:"item"`
	// Mean is the estimated gain, Width beta times its deviation, Value the sum of the means
	// up to this item.
	Mean  float64 `json:"mean"`
	Width float64 `json:"width"`
	Value float64 `json:"value"`
}

// Items returns the items in order.
func (s Slate) Items() []int {
	list := make([]int, len(s.Picks))
	for i, p := range s.Picks {
		list[i] = p.Item
	}
	return list
}
