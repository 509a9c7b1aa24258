package choiceclient

import (
	"cmp"
	"context"
	"net/http"

	"thresher/choice/serve/choiceapi"
	"thresher/service/api"
	"thresher/service/client"
)

// PutSlates sets the settings of a collection's slates.
func (c *Client) PutSlates(ctx context.Context, collection string, s choiceapi.SlateSettings) (choiceapi.Slates, error) {
	return answerAs[choiceapi.Slates](ctx, c, client.Call{Method: http.MethodPut, Path: slatesOf(collection), Body: s})
}

// Slates describes the slates of a collection.
func (c *Client) Slates(ctx context.Context, collection string) (choiceapi.Slates, error) {
	return answerAs[choiceapi.Slates](ctx, c, client.Call{Method: http.MethodGet, Path: slatesOf(collection)})
}

// DeleteSlates deletes the settings, the slates and the learned states of all users.
func (c *Client) DeleteSlates(ctx context.Context, collection string) error {
	return c.Do(ctx, client.Call{Method: http.MethodDelete, Path: slatesOf(collection)}, nil)
}

// ForgetSlateUsers deletes what was learned about users, integers or strings, and their
// slates. It can be repeated.
func (c *Client) ForgetSlateUsers(ctx context.Context, collection string, users []api.ID) error {
	return c.Do(ctx, client.Call{Method: http.MethodDelete, Path: slatesOf(collection, "users"), Body: map[string]any{"users": users}}, nil)
}

// RecommendSlates makes slates; key is the Idempotency-Key, "" draws one.
func (c *Client) RecommendSlates(ctx context.Context, collection string, r choiceapi.SlateRequest, key string) (choiceapi.Recommended, error) {
	return answerAs[choiceapi.Recommended](ctx, c, client.Call{Method: http.MethodPost, Path: slatesOf(collection, "recommend"), Body: r, Key: drawn(key)})
}

// RewardSlates sends feedback for slates: all of it is accepted, or none. Repeated feedback
// counts once.
func (c *Client) RewardSlates(ctx context.Context, collection string, all []choiceapi.SlateFeedback) ([]choiceapi.SlateAccepted, error) {
	taken, err := answerAs[struct{ Feedback []choiceapi.SlateAccepted }](ctx, c, client.Call{Method: http.MethodPost, Path: slatesOf(collection, "feedback"), Body: map[string]any{"feedback": all}})
	return taken.Feedback, err
}

// slatesOf is the path of the slates of a collection, and of what is below it.
func slatesOf(collection string, below ...string) []string {
	return append([]string{"v1", "collections", collection, "slates"}, below...)
}

// drawn returns an Idempotency-Key: key, or a new one if that is "".
func drawn(key string) string { return cmp.Or(key, client.NewKey()) }

// answerAs makes a call and returns its decoded answer.
func answerAs[T any](ctx context.Context, c *Client, k client.Call) (T, error) {
	var v T
	err := c.Do(ctx, k, &v)
	return v, err
}
