package client

import (
	"context"
	"net/http"
)

// SlateSettings are what slates of a collection are made by. Members that are zero take
// the server's defaults; no items means all, without costs and groups.
type SlateSettings struct {
	Lambda float64     `json:"lambda,omitempty"`
	Rule   string      `json:"rule,omitempty"` // "determinant", "tuned"
	Noise  float64     `json:"noise,omitempty"`
	Bound  float64     `json:"bound,omitempty"`
	Items  []SlateItem `json:"items,omitempty"`
}

// SlateItem is what budgets and limits see of an atom.
type SlateItem struct {
	ID     any       `json:"id"` // an integer or a string; a float64 when read
	Costs  []float64 `json:"costs,omitempty"`
	Groups []string  `json:"groups,omitempty"`
}

// Slates are the settings on the server.
type Slates struct {
	SlateSettings
	Users  int64 `json:"users"`  // of whom something was learnt
	Slates int64 `json:"slates"` // that are remembered
}

// SlateRequest asks for a slate for each of some users, integers or strings.
type SlateRequest struct {
	Users       []any          `json:"users"`
	K           int            `json:"k,omitempty"`
	Budgets     []float64      `json:"budgets,omitempty"`
	GroupLimits map[string]int `json:"group_limits,omitempty"`
	Algorithm   string         `json:"algo,omitempty"` // "afsm", "lsb", "mod"
	Delta       float64        `json:"delta,omitempty"`
	Epsilon     float64        `json:"eps,omitempty"`
	TimeoutMS   float64        `json:"timeout_ms,omitempty"`
}

// Recommended has the slates in the users' order.
type Recommended struct {
	Version int64   `json:"version"` // of the collection
	TookMS  float64 `json:"took_ms"`
	// Excluded says by reason ("unaffordable", "barred", "unlisted") which atoms no
	// slate could have.
	Excluded map[string]SlateExcluded `json:"excluded"`
	Slates   []Slate                  `json:"slates"`
}

// SlateExcluded are atoms that no slate could have.
type SlateExcluded struct {
	Count int   `json:"count"`
	IDs   []any `json:"ids"` // the first of them
}

// Slate is a list for a user.
type Slate struct {
	User  any         `json:"user"` // float64 or string
	ID    string      `json:"slate_id"`
	Items []SlatePick `json:"items"`
	UCB   float64     `json:"value_ucb"`
	Rho   float64     `json:"rho"`
	Alpha float64     `json:"alpha"` // 0: nothing is guaranteed
}

// SlatePick is an atom of a slate, after those before it.
type SlatePick struct {
	ID    any     `json:"id"` // float64 or string
	Mean  float64 `json:"mean"`
	Width float64 `json:"width"`
	Value float64 `json:"cum_value"`
}

// SlateFeedback are the rewards, in [0, 1], of a slate's first atoms.
type SlateFeedback struct {
	ID      string    `json:"slate_id"`
	Rewards []float64 `json:"rewards"`
}

// SlateTaken says what was taken of feedback.
type SlateTaken struct {
	ID           string `json:"slate_id"`
	User         any    `json:"user"` // float64 or string
	Rewards      int    `json:"rewards"`
	Observations int64  `json:"observations"` // all of the user's
}

// PutSlates says what slates of a collection are made by.
func (c *Client) PutSlates(ctx context.Context, collection string, s SlateSettings) (Slates, error) {
	k := &call{method: http.MethodPut, path: slatesOf(collection)}
	if err := k.jsonBody(s); err != nil {
		return Slates{}, err
	}
	return answerAs[Slates](ctx, c, k)
}

// Slates tells what slates of a collection are made by.
func (c *Client) Slates(ctx context.Context, collection string) (Slates, error) {
	return answerAs[Slates](ctx, c, &call{method: http.MethodGet, path: slatesOf(collection)})
}

// DeleteSlates forgets settings and slates, and all that was learnt of users.
func (c *Client) DeleteSlates(ctx context.Context, collection string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: slatesOf(collection)}, nil)
}

// ForgetSlateUsers forgets users, integers or strings: what was learnt of them, and their
// slates. It may be sent again.
func (c *Client) ForgetSlateUsers(ctx context.Context, collection string, users []any) error {
	k := &call{method: http.MethodDelete, path: append(slatesOf(collection), "users")}
	if err := k.jsonBody(map[string]any{"users": users}); err != nil {
		return err
	}
	return c.answer(ctx, k, nil)
}

// RecommendSlates makes slates; key is the Idempotency-Key, "" makes one.
func (c *Client) RecommendSlates(ctx context.Context, collection string, r SlateRequest, key string) (Recommended, error) {
	k := (&call{method: http.MethodPost, path: append(slatesOf(collection), "recommend")}).keyed(key)
	if err := k.jsonBody(r); err != nil {
		return Recommended{}, err
	}
	return answerAs[Recommended](ctx, c, k)
}

// RewardSlates tells what came of slates: all of it is taken, or none. It counts once,
// however often it is sent.
func (c *Client) RewardSlates(ctx context.Context, collection string, all []SlateFeedback) ([]SlateTaken, error) {
	k := &call{method: http.MethodPost, path: append(slatesOf(collection), "feedback")}
	if err := k.jsonBody(map[string]any{"feedback": all}); err != nil {
		return nil, err
	}
	taken, err := answerAs[struct{ Feedback []SlateTaken }](ctx, c, k)
	return taken.Feedback, err
}

func slatesOf(collection string) []string { return []string{"v1", "collections", collection, "slates"} }
