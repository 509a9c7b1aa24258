package client

import (
	"context"
	"net/http"

	"thresher/service/api"
)

// PutSlates says what slates of a collection are made by.
func (c *Client) PutSlates(ctx context.Context, collection string, s api.SlateSettings) (api.Slates, error) {
	k := &call{method: http.MethodPut, path: slatesOf(collection)}
	if err := k.jsonBody(s); err != nil {
		return api.Slates{}, err
	}
	return answerAs[api.Slates](ctx, c, k)
}

// Slates tells what slates of a collection are made by.
func (c *Client) Slates(ctx context.Context, collection string) (api.Slates, error) {
	return answerAs[api.Slates](ctx, c, &call{method: http.MethodGet, path: slatesOf(collection)})
}

// DeleteSlates forgets settings and slates, and all that was learnt of users.
func (c *Client) DeleteSlates(ctx context.Context, collection string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: slatesOf(collection)}, nil)
}

// ForgetSlateUsers forgets users, integers or strings: what was learnt of them, and their
// slates. It may be sent again.
func (c *Client) ForgetSlateUsers(ctx context.Context, collection string, users []api.ID) error {
	k := &call{method: http.MethodDelete, path: append(slatesOf(collection), "users")}
	if err := k.jsonBody(map[string]any{"users": users}); err != nil {
		return err
	}
	return c.answer(ctx, k, nil)
}

// RecommendSlates makes slates; key is the Idempotency-Key, "" makes one.
func (c *Client) RecommendSlates(ctx context.Context, collection string, r api.SlateRequest, key string) (api.Recommended, error) {
	k := (&call{method: http.MethodPost, path: append(slatesOf(collection), "recommend")}).keyed(key)
	if err := k.jsonBody(r); err != nil {
		return api.Recommended{}, err
	}
	return answerAs[api.Recommended](ctx, c, k)
}

// RewardSlates tells what came of slates: all of it is taken, or none. It counts once,
// however often it is sent.
func (c *Client) RewardSlates(ctx context.Context, collection string, all []api.SlateFeedback) ([]api.SlateAccepted, error) {
	k := &call{method: http.MethodPost, path: append(slatesOf(collection), "feedback")}
	if err := k.jsonBody(map[string]any{"feedback": all}); err != nil {
		return nil, err
	}
	taken, err := answerAs[struct{ Feedback []api.SlateAccepted }](ctx, c, k)
	return taken.Feedback, err
}

func slatesOf(collection string) []string { return []string{"v1", "collections", collection, "slates"} }
