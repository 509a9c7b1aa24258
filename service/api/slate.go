package api

// SlateSettings say what slates of a collection are made by. In a request, members that are
// zero take the server's defaults.
type SlateSettings struct {
	// Lambda is the ridge of every user's regression.
	Lambda float64 `json:"lambda,omitempty"`
	// Rule is how wide intervals are: "determinant", which holds with probability
	// 1 - delta, or "tuned", which is narrower and guarantees nothing.
	Rule string `json:"rule,omitempty"`
	// Noise is R, such that rewards differ from their means by R-sub-Gaussian noise, and
	// Bound is B, the most that the norm of a user's weights can be.
	Noise float64 `json:"noise,omitempty"`
	Bound float64 `json:"bound,omitempty"`
	// Items have costs and groups. If there are any, atoms that are not listed are in no
	// slate; if there are none, all atoms may be, without costs and groups.
	Items []SlateItem `json:"items,omitzero"`
}

// SlateItem is what budgets and limits see of an atom.
type SlateItem struct {
	ID     ID        `json:"id"`
	Costs  []float64 `json:"costs,omitempty"`
	Groups []string  `json:"groups,omitempty"`
}

// Slates are the settings of a collection on the server.
type Slates struct {
	Object string `json:"object"` // "slates"
	SlateSettings
	Users  int64 `json:"users"`  // of whom something was learnt
	Slates int64 `json:"slates"` // that are remembered
}

// SlateRequest asks for a slate for each of some users; members that are zero take the
// server's defaults.
type SlateRequest struct {
	Users []ID `json:"users"` // a number is the same user as the text of its digits
	K     int  `json:"k,omitempty"`
	// Budgets limit what a slate costs, one for each cost of an item. GroupLimits limit
	// how many items of a group it has, by the group's name.
	Budgets     []float64      `json:"budgets,omitempty"`
	GroupLimits map[string]int `json:"group_limits,omitempty"`
	Algorithm   string         `json:"algo,omitempty"` // "afsm", "lsb", "mod"
	// Delta in (0, 1) is the probability that widths are too narrow, Epsilon > 0 the step
	// between thresholds.
	Delta     float64 `json:"delta,omitempty"`
	Epsilon   float64 `json:"eps,omitempty"`
	TimeoutMS float64 `json:"timeout_ms,omitempty"` // 0: none
}

// Recommended has a slate for each user of a request, in their order.
type Recommended struct {
	Version  int64          `json:"version"` // of the collection
	TookMS   float64        `json:"took_ms"`
	Excluded *SlateExcluded `json:"excluded,omitempty"`
	Slates   []Slate        `json:"slates"`
}

// SlateExcluded says which items no slate of a request could have, and why: they cost more
// than a budget alone, are in a group of limit 0, or are not listed by the settings.
type SlateExcluded struct {
	Unaffordable *SlateAtoms `json:"unaffordable,omitempty"`
	Barred       *SlateAtoms `json:"barred,omitempty"`
	Unlisted     *SlateAtoms `json:"unlisted,omitempty"`
}

// SlateAtoms are atoms that no slate could have.
type SlateAtoms struct {
	Count int  `json:"count"`
	IDs   []ID `json:"ids"` // the first of them
}

// Slate is a list for a user.
type Slate struct {
	User  ID          `json:"user"`
	ID    string      `json:"slate_id"`
	Items []SlatePick `json:"items"`
	// UCB is an upper bound of what the list is worth. Rho is the threshold it was found
	// with and Alpha the part of the best list's worth that is guaranteed; both are 0 for
	// algorithms without them.
	UCB   float64 `json:"value_ucb"`
	Rho   float64 `json:"rho"`
	Alpha float64 `json:"alpha"`
}

// SlatePick is an atom of a slate, given those before it.
type SlatePick struct {
	ID    ID      `json:"id"`
	Mean  float64 `json:"mean"`      // estimate of the reward
	Width float64 `json:"width"`     // of its confidence interval
	Value float64 `json:"cum_value"` // sum of the estimates up to here
}

// SlateFeedback are the rewards, in [0, 1], of a slate's first items: those that the user
// examined.
type SlateFeedback struct {
	ID      string    `json:"slate_id"`
	Rewards []float64 `json:"rewards"`
}

// SlateAccepted answers the feedback for one slate; it is the same however often it comes.
type SlateAccepted struct {
	ID           string `json:"slate_id"`
	User         ID     `json:"user"`
	Rewards      int    `json:"rewards"`      // that were taken
	Observations int64  `json:"observations"` // of the user, with these
}
