package slate

// Slate is a list that was chosen.
type Slate struct {
	Algorithm Algorithm `json:"algorithm"`
	Picks     []Pick    `json:"picks"`
	// Value is the estimate of f of the list. Width is beta times the sum of
	// deviations: f is within Value +- Width wherever the intervals hold.
	Value float64 `json:"value"`
	Width float64 `json:"width"`
	// UCB = Value + 3 Width is what lists are compared by (UAI 2020, section 5.1).
	UCB float64 `json:"ucb"`
	// Beta is the number of deviations in a Width.
	Beta float64 `json:"beta"`
	// Rho is the threshold whose list this is; 0 for none.
	Rho float64 `json:"rho,omitempty"`
	// Alpha is the guaranteed part of the optimum, provided that Options.Lowest and
	// Highest, and the Noise and Norm of its Confidence, hold. It is 0 where nothing
	// is guaranteed: by other algorithms than AFSM, for intervals without proof, and
	// where a figure shows that Lowest or Highest does not hold.
	Alpha float64 `json:"alpha,omitempty"`
	// Evaluations counts UCB scores of items that were computed.
	Evaluations int `json:"evaluations"`
}

// Pick is an item of a list, given those before it.
type Pick struct {
	Item int `json:"item"`
	// Mean is the estimated gain, Width beta times its deviation, Value the sum of
	// the means up to here.
	Mean  float64 `json:"mean"`
	Width float64 `json:"width"`
	Value float64 `json:"value"`
}

// Items lists the items in order.
func (s Slate) Items() []int {
	list := make([]int, len(s.Picks))
	for i, p := range s.Picks {
		list[i] = p.Item
	}
	return list
}
