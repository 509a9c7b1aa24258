package serve_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/choice/serve"
	"thresher/choice/serve/servetest"
	"thresher/service"
	"thresher/service/servicetest"
	"thresher/store"
)

// choicesBefore is what a server of an earlier commit answered of the folder in choices-0f538cbe.tar.gz, which it
// left when it was killed: slates for ann, who rewarded hers, and bob, who did not; a tournament of six rounds
// with one duel issued and not judged.
type choicesBefore struct {
	Recommended struct{ Slates []map[string]any }
	Slates      any
	Tournament  map[string]any
	Issued      struct {
		Duels []struct {
			ID   int `json:"duel_id"`
			A, B string
		}
	}
}

// withoutLeases removes from the answer about a tournament how many duels are out, which ends with their leases.
func withoutLeases(answer any) {
	all, _ := answer.(map[string]any)
	if state, ok := all["state"].(map[string]any); ok {
		delete(state, "open")
	}
}

// TestChoicesOfBefore: tournaments and slates of an earlier release are whole, go on, and answer what they
// answered.
func TestChoicesOfBefore(t *testing.T) {
	dir := servicetest.Unpack(t, filepath.Join("testdata", "choices-0f538cbe.tar.gz"))
	text, err := os.ReadFile(filepath.Join("testdata", "choices-0f538cbe.json"))
	if err != nil {
		t.Fatal(err)
	}
	var before choicesBefore
	if err := json.Unmarshal(text, &before); err != nil {
		t.Fatal(err)
	}
	if err := service.Extensions(serve.New(serve.Options{})).Check(t.Context(), dir, func(i store.Item) {
		if i.Verdict != store.Intact {
			t.Errorf("%+v", i)
		}
	}); err != nil {
		t.Fatal(err)
	}

	const ever = 100 * 365 * 24 * time.Hour // the folder is of a day in 2026
	s := servetest.Start(t, dir, func(_ *service.Options, o *serve.Options) { o.SlateKeep = ever })
	const slatesOf = "/v1/collections/films/slates"
	same := func(path string, want any) {
		t.Helper()
		var got any
		s.Do("GET", path, nil).Want(200).Into(&got)
		withoutLeases(got)
		withoutLeases(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", path, d)
		}
	}
	id := before.Tournament["id"].(string)
	same(slatesOf, before.Slates)
	same("/v1/tournaments/"+id, any(before.Tournament))
	// What waits for a reward or a judgment takes it.
	s.Do("POST", slatesOf+"/feedback", map[string]any{"slate_id": before.Recommended.Slates[1]["slate_id"], "rewards": []float64{0, 1}}).Want(200)
	var info struct{ Users, Slates int }
	if s.Do("GET", slatesOf, nil).Want(200).Into(&info); info.Users != 2 {
		t.Errorf("%+v", info)
	}
	order := []string{"good", "bad", "worse"}
	if len(before.Issued.Duels) != 1 {
		t.Fatalf("%+v", before.Issued)
	}
	d := before.Issued.Duels[0]
	var reported struct {
		Receipts []struct{ Status string }
	}
	s.Do("POST", "/v1/tournaments/"+id+"/report", []map[string]any{{"duel_id": d.ID, "a_won": slices.Index(order, d.A) < slices.Index(order, d.B)}}).Want(200).Into(&reported)
	if len(reported.Receipts) != 1 || reported.Receipts[0].Status != "accepted" {
		t.Errorf("%+v", reported)
	}
}
