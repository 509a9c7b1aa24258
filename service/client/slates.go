package client

import (
	"context"
	"net/http"

	"thresher/service/api"
)

// PutSlates sets the settings of a collection's slates.
func (c *Client) PutSlates(ctx context.Context, collection string, s api.SlateSettings) (api.Slates, error) {
	k := &call{method: http.MethodPut, path: slatesOf(collection)}
	if err := k.jsonBody(s); err != nil {
		return api.Slates{}, err
	}
	return answerAs[api.Slates](ctx, c, k)
}

// Slates describes the slates of a collection.
func (c *Client) Slates(ctx context.Context, collection string) (api.Slates, error) {
	return answerAs[api.Slates](ctx, c, &call{method: http.MethodGet, path: slatesOf(collection)})
}

// DeleteSlates deletes the settings, the slates and the learned states of all users.
func (c *Client) DeleteSlates(ctx context.Context, collection string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: slatesOf(collection)}, nil)
}

// ForgetSlateUsers deletes what was learned about users, integers or strings, and their
// slates. It can be repeated.
func (c *Client) ForgetSlateUsers(ctx context.Context, collection string, users []api.ID) error {
	k := &call{method: http.MethodDelete, path: append(slatesOf(collection), "users")}
	if err := k.jsonBody(map[string]any{"users": users}); err != nil {
		return err
	}
	return c.answer(ctx, k, nil)
}

// RecommendSlates makes slates; key is the Idempotency-Key, "" draws one.
func (c *Client) RecommendSlates(ctx context.Context, collection string, r api.SlateRequest, key string) (api.Recommended, error) {
	k := (&call{method: http.MethodPost, path: append(slatesOf(collection), "recommend")}).keyed(key)
	if err := k.jsonBody(r); err != nil {
		return api.Recommended{}, err
	}
	return answerAs[api.Recommended](ctx, c, k)
}

// RewardSlates sends feedback for slates: all of it is accepted, or none. Repeated feedback
// counts once.
func (c *Client) RewardSlates(ctx context.Context, collection string, all []api.SlateFeedback) ([]api.SlateAccepted, error) {
	k := &call{method: http.MethodPost, path: append(slatesOf(collection), "feedback")}
	if err := k.jsonBody(map[string]any{"feedback": all}); err != nil {
		return nil, err
	}
	taken, err := answerAs[struct{ Feedback []api.SlateAccepted }](ctx, c, k)
	return taken.Feedback, err
}

func slatesOf(collection string) []string { return []string{"v1", "collections", collection, "slates"} }
