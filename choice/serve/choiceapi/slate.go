package choiceapi

import "thresher/service/api"

// SlateSettings determine how the slates of a collection are made. In a request, zero members
// take the server's defaults.
type SlateSettings struct {
	// Lambda is the ridge parameter of every user's regression.
	Lambda float64 `json:"lambda,omitempty"`
	// Rule determines the width of confidence intervals: "determinant", which holds with
	// probability 1 - delta, or "tuned", which is narrower and guarantees nothing.
	Rule string `json:"rule,omitempty"`
	// Noise is R: rewards differ from their means by R-sub-Gaussian noise. Bound is B, an
	// upper bound of the norm of a user's weights.
	Noise float64 `json:"noise,omitempty"`
	Bound float64 `json:"bound,omitempty"`
	// Items have costs and groups. If there are any, atoms that are not listed are in no
	// slate; if there are none, all atoms may be, without costs and groups.
	Items []SlateItem `json:"items,omitzero"`
}

// SlateItem holds the costs and groups of an atom.
type SlateItem struct {
	ID     api.ID    `json:"id"`
	Costs  []float64 `json:"costs,omitempty"`
	Groups []string  `json:"groups,omitempty"`
}

// Slates describes the slates of a collection on the server.
type Slates struct {
	Object string `json:"object"` // "slates"
	SlateSettings
	Users  int64 `json:"users"`  // with feedback
	Slates int64 `json:"slates"` // remembered
}

// SlateRequest asks for a slate for each of some users; zero members take the server's
// defaults.
type SlateRequest struct {
	Users []api.ID `json:"users"` // a number is the same user as the text of its digits
	K     int      `json:"k,omitempty"`
	// Budgets bound the costs of a slate, one for each cost of an item. GroupLimits bound the
	// number of its items in a group, by the group's name.
	Budgets     []float64      `json:"budgets,omitempty"`
	GroupLimits map[string]int `json:"group_limits,omitempty"`
	Algorithm   string         `json:"algo,omitempty"` // "afsm", "lsb", "mod"
	// Delta in (0, 1) is the probability that confidence intervals are too narrow, Epsilon > 0
	// the step between thresholds.
	Delta   float64 `json:"delta,omitempty"`
	Epsilon float64 `json:"eps,omitempty"`
	// DeadlineMS is after how many milliseconds the request fails; 0: none.
	DeadlineMS float64 `json:"deadline_ms,omitempty"`
}

// Recommended has a slate for each user of a request, in the request's order.
type Recommended struct {
	Version  int64          `json:"version"` // of the collection
	TookMS   float64        `json:"took_ms"`
	Excluded *SlateExcluded `json:"excluded,omitempty"`
	Slates   []Slate        `json:"slates"`
}

// SlateExcluded says which items no slate of a request could contain, and why: their cost
// alone exceeds a budget, a group of theirs has limit 0, or the settings do not list them.
type SlateExcluded struct {
	Unaffordable *SlateAtoms `json:"unaffordable,omitempty"`
	Barred       *SlateAtoms `json:"barred,omitempty"`
	Unlisted     *SlateAtoms `json:"unlisted,omitempty"`
}

// SlateAtoms are atoms that no slate could contain.
type SlateAtoms struct {
	Count int      `json:"count"`
	IDs   []api.ID `json:"ids"` // the first of them
}

// Slate is the list of items for a user.
type Slate struct {
	User  api.ID      `json:"user"`
	ID    string      `json:"slate_id"`
	Items []SlatePick `json:"items"`
	// UCB is an upper confidence bound of the list's value. Rho is the threshold with which
	// it was found, and Alpha the guaranteed share of the best list's value; both are 0 for
	// algorithms without them.
	UCB   float64 `json:"value_ucb"`
	Rho   float64 `json:"rho"`
	Alpha float64 `json:"alpha"`
}

// SlatePick is an atom of a slate, scored given the atoms before it.
type SlatePick struct {
	ID    api.ID  `json:"id"`
	Mean  float64 `json:"mean"`      // estimate of the reward
	Width float64 `json:"width"`     // of its confidence interval
	Value float64 `json:"cum_value"` // sum of the estimates up to this atom
}

// SlateFeedback holds the rewards, in [0, 1], of a slate's first items: those that the user
// examined.
type SlateFeedback struct {
	ID      string    `json:"slate_id"`
	Rewards []float64 `json:"rewards"`
}

// SlateAccepted acknowledges the feedback for one slate; repeated feedback gets the same
// answer.
type SlateAccepted struct {
	ID           string `json:"slate_id"`
	User         api.ID `json:"user"`
	Rewards      int    `json:"rewards"`      // accepted
	Observations int64  `json:"observations"` // of the user, including these
}
