package choiceclient

import (
	"context"
	"io"
	"net/http"
	"testing"

	"thresher/choice/serve/choiceapi"
	"thresher/service/api"

	"github.com/google/go-cmp/cmp"
)

// TestSlates checks the requests, and how answers are decoded.
func TestSlates(t *testing.T) {
	answers := map[string]string{
		"PUT /under/v1/collections/a%2Fb/slates":            `{"object":"slates","lambda":2,"items":[{"id":"x","costs":[1]}],"users":3,"slates":4}`,
		"GET /under/v1/collections/a%2Fb/slates":            `{"users":5}`,
		"DELETE /under/v1/collections/a%2Fb/slates":         ``,
		"DELETE /under/v1/collections/a%2Fb/slates/users":   ``,
		"POST /under/v1/collections/a%2Fb/slates/recommend": `{"version":7,"excluded":{"barred":{"count":1,"ids":[4]}},"slates":[{"user":"ann","slate_id":"s","items":[{"id":4,"mean":0.5,"cum_value":0.5}],"alpha":0.25}]}`,
		"POST /under/v1/collections/a%2Fb/slates/feedback":  `{"feedback":[{"slate_id":"s","user":"ann","rewards":1,"observations":9}]}`,
	}
	sent := map[string]string{}
	keys := 0
	c, settle := serve(t, func(w http.ResponseWriter, r *http.Request) {
		name := r.Method + " " + r.URL.EscapedPath()
		body, _ := io.ReadAll(r.Body)
		sent[name] = string(body)
		if r.Header.Get("Idempotency-Key") != "" {
			keys++
		}
		io.WriteString(w, answers[name])
	})
	ctx := context.Background()
	put, err := c.PutSlates(ctx, "a/b", choiceapi.SlateSettings{Lambda: 2, Items: []choiceapi.SlateItem{{ID: api.TextID("x"), Costs: []float64{1}}}})
	if err != nil || put.Lambda != 2 || put.Users != 3 || put.Slates != 4 || put.Items[0].ID != api.TextID("x") {
		t.Errorf("%+v, %v", put, err)
	}
	if got, err := c.Slates(ctx, "a/b"); err != nil || got.Users != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	made, err := c.RecommendSlates(ctx, "a/b", choiceapi.SlateRequest{Users: []api.ID{api.TextID("ann"), api.IntID(7)}, K: 2, Budgets: []float64{1.5}, GroupLimits: map[string]int{"g": 0}}, "")
	if err != nil || made.Version != 7 || made.Excluded.Barred.Count != 1 || made.Slates[0].Items[0].ID != api.IntID(4) || made.Slates[0].User != api.TextID("ann") || made.Slates[0].Alpha != 0.25 {
		t.Errorf("%+v, %v", made, err)
	}
	taken, err := c.RewardSlates(ctx, "a/b", []choiceapi.SlateFeedback{{ID: "s", Rewards: []float64{1}}})
	if err != nil || len(taken) != 1 || taken[0] != (choiceapi.SlateAccepted{ID: "s", User: api.TextID("ann"), Rewards: 1, Observations: 9}) {
		t.Errorf("%+v, %v", taken, err)
	}
	if err := c.ForgetSlateUsers(ctx, "a/b", []api.ID{api.TextID("ann"), api.IntID(7)}); err != nil {
		t.Error(err)
	}
	if err := c.DeleteSlates(ctx, "a/b"); err != nil {
		t.Error(err)
	}
	settle()
	want := map[string]string{
		"PUT /under/v1/collections/a%2Fb/slates":            `{"lambda":2,"items":[{"id":"x","costs":[1]}]}`,
		"GET /under/v1/collections/a%2Fb/slates":            ``,
		"DELETE /under/v1/collections/a%2Fb/slates":         ``,
		"DELETE /under/v1/collections/a%2Fb/slates/users":   `{"users":["ann",7]}`,
		"POST /under/v1/collections/a%2Fb/slates/recommend": `{"users":["ann",7],"k":2,"budgets":[1.5],"group_limits":{"g":0}}`,
		"POST /under/v1/collections/a%2Fb/slates/feedback":  `{"feedback":[{"slate_id":"s","rewards":[1]}]}`,
	}
	if diff := cmp.Diff(want, sent); diff != "" || keys != 1 {
		t.Errorf("%d keys, %s", keys, diff)
	}
}
