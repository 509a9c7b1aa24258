package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"thresher/choice/serve"
	"thresher/choice/serve/choiceapi"
	"thresher/choice/serve/servetest"
	"thresher/service"
	"thresher/service/servicetest"
)

// judge decides duels in favour of the arm that comes first in a list.
func judge(order []string, duels []choiceapi.Duel) []choiceapi.DuelResult {
	var results []choiceapi.DuelResult
	for _, d := range duels {
		results = append(results, choiceapi.DuelResult{DuelID: d.ID, AWon: of(slices.Index(order, d.A) < slices.Index(order, d.B))})
	}
	return results
}

func of[T any](x T) *T { return &x }

// TestTournament plays one to its end through the client, over restarts of the server.
func TestTournament(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	ctx, order := context.Background(), []string{"good", "bad", "worse"}
	c := s.Choices()
	made, err := c.CreateTournament(ctx, choiceapi.TournamentSpec{Arms: order, Mode: "online", Algorithm: "beat-the-mean", Horizon: of(int64(100000)), Testing: "sweep"}, "")
	if err != nil || made.Done || made.Winner != nil || len(made.State.Active) != 3 || *made.Seed != 1 || *made.LeaseSeconds != 600 {
		t.Fatalf("%+v, %v", made, err)
	}
	for n := range 1000 {
		issued, err := c.NextDuels(ctx, made.ID, 2, "")
		if err != nil {
			t.Fatal(err)
		}
		if n%100 == 50 {
			s.Stop()
			s = servetest.Start(t, dir, nil)
			c = s.Choices()
		}
		if issued.Done {
			break
		}
		reported, err := c.ReportDuels(ctx, made.ID, judge(order, issued.Duels), false)
		if err != nil || len(reported.Receipts) != len(issued.Duels) || reported.Receipts[0].Status != "accepted" {
			t.Fatalf("%+v, %v", reported, err)
		}
		if reported.Done {
			break
		}
	}
	end, err := c.Tournament(ctx, made.ID)
	if err != nil || !end.Done || *end.Winner != "good" || end.State.Guarantee == nil {
		t.Fatalf("%+v, %v", end, err)
	}
	if out := end.State.Eliminated; len(out) != 2 || out[0].Arm != "worse" || out[0].At < 1 || out[0].P >= .5 || out[0].Radius <= 0 || out[1].Arm != "bad" {
		t.Errorf("%+v", out)
	}
	s.Do("POST", "/v1/tournaments/"+made.ID+"/next", map[string]int{"count": 2}).Problem(409, "tournament-ended")
	page, err := c.Tournaments(ctx, "", 1)
	if err != nil || len(page.Data) != 1 || !page.Data[0].Done || page.Data[0].ID != made.ID || page.Data[0].State != nil || page.HasMore {
		t.Errorf("%+v, %v", page, err)
	}
	text := string(s.Do("GET", "/metrics", nil).Body)
	for _, want := range []string{`thresher_tournaments{status="done"} 1`, `thresher_tournaments{status="running"} 0`, "thresher_duels_handed_out_total", `thresher_duel_results_total{status="accepted"}`, `thresher_duel_results_total{status="coin"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if log := s.Log(); strings.Contains(log, "worse") || !strings.Contains(log, made.ID+"/report") {
		t.Error("logs have names of arms, or lack requests")
	}
	s.Do("DELETE", "/v1/tournaments/"+made.ID, nil).Want(200)
	s.Do("GET", "/v1/tournaments/"+made.ID, nil).Problem(404, "unknown-tournament")
}

// TestBadTournaments asks for everything that cannot be: each has its status, kind,
// field, index and limit, and the state is untouched.
func TestBadTournaments(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), func(_ *service.Options, o *serve.Options) { o.Arms, o.Duels, o.Tournaments = 4, 5, 1 })
	const all = "/v1/tournaments"
	const good = `{"arms":["a","b","c"],"mode":"online","horizon":1000,"testing":"sweep"}`
	var made choiceapi.Tournament
	a := s.Do("POST", all, good, "Idempotency-Key", "first").Want(201)
	a.Into(&made)
	at := all + "/" + made.ID
	if a.Header.Get("Location") != at {
		t.Errorf("at %s", a.Header.Get("Location"))
	}
	var issued, again choiceapi.Duels
	s.Do("POST", at+"/next", `{"count":2}`, "Idempotency-Key", "k").Want(200).Into(&issued)
	s.Do("POST", at+"/next", `{"count":2}`, "Idempotency-Key", "k").Want(200).Into(&again)
	if fmt.Sprint(issued) != fmt.Sprint(again) || len(issued.Duels) == 0 {
		t.Fatalf("under one key: %v, then %v", issued, again)
	}
	id := issued.Duels[0].ID
	reported := fmt.Sprintf(`[{"duel_id":%d,"a_won":true}]`, id)
	s.Do("POST", at+"/report", reported).Want(200)
	before := string(s.Do("GET", at, nil).Want(200).Body)
	none := -1
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		problem, field           string
		index                    int
		limit                    string
	}{
		{"no arms", "POST", all, `{"mode":"online","horizon":1000}`, 400, "invalid-value", "arms", none, "[2 4]"},
		{"one arm", "POST", all, `{"arms":["a"],"mode":"online","horizon":1000}`, 400, "invalid-value", "arms", none, "[2 4]"},
		{"many arms", "POST", all, `{"arms":["a","b","c","d","e"],"mode":"online","horizon":1000}`, 400, "over-limit", "arms", none, "4"},
		{"an empty name", "POST", all, `{"arms":["a",""],"mode":"online","horizon":1000}`, 400, "invalid-value", "arms", 1, "[1 256]"},
		{"a name twice", "POST", all, `{"arms":["a","b","a"],"mode":"online","horizon":1000}`, 400, "invalid-value", "arms", 2, ""},
		{"arms that are no texts", "POST", all, `{"arms":[1,2],"mode":"online","horizon":1000}`, 400, "invalid-value", "arms", 0, ""},
		{"no mode", "POST", all, `{"arms":["a","b"]}`, 400, "invalid-value", "mode", none, "[online pac]"},
		{"no duels at all", "POST", all, `{"arms":["a","b"],"mode":"online","horizon":0}`, 400, "invalid-value", "horizon", none, ""},
		{"half a duel", "POST", all, `{"arms":["a","b"],"mode":"online","horizon":100.5}`, 400, "invalid-value", "horizon", none, ""},
		{"negative horizon", "POST", all, `{"arms":["a","b"],"mode":"online","horizon":-5}`, 400, "invalid-value", "horizon", none, ""},
		{"gamma", "POST", all, `{"arms":["a","b"],"mode":"online","horizon":1000,"gamma":0.5}`, 400, "invalid-value", "gamma", none, "[1, 1e6]"},
		{"delta of 0", "POST", all, `{"arms":["a","b"],"mode":"pac","epsilon":0.1,"delta":0}`, 400, "invalid-value", "delta", none, "(0, 1)"},
		{"delta of 1", "POST", all, `{"arms":["a","b"],"mode":"pac","epsilon":0.1,"delta":1}`, 400, "invalid-value", "delta", none, "(0, 1)"},
		{"a number beyond all", "POST", all, `{"arms":["a","b"],"mode":"pac","epsilon":1e400,"delta":0.1}`, 400, "invalid-value", "epsilon", none, ""},
		{"seed", "POST", all, `{"arms":["a","b"],"mode":"online","horizon":1000,"seed":-1}`, 400, "invalid-value", "seed", none, ""},
		{"field", "POST", all, `{"arms":["a","b"],"mode":"online","T":1000}`, 400, "unknown-field", "T", none, ""},
		{"half of it", "POST", all, `{"arms":["a","b"`, 400, "malformed-body", "arms", none, ""},
		{"two of it", "POST", all, good + good, 400, "malformed-body", "", none, ""},
		{"a list", "POST", all, `[]`, 400, "malformed-body", "", none, ""},
		{"one more", "POST", all, good, 400, "over-limit", "", none, "1"},
		{"another under the key", "POST", all, `{"arms":["a","b"],"mode":"online","horizon":1000}`, 422, "idempotency-key-reused", "Idempotency-Key", none, ""},
		{"page", "GET", all + "?limit=101", "", 400, "invalid-value", "limit", none, "[1 100]"},
		{"order", "GET", all + "?order=asc", "", 400, "unknown-field", "order", none, ""},
		{"page of none", "GET", all + "?after=tournament_x", "", 404, "unknown-tournament", "after", none, ""},
		{"none", "GET", all + "/tournament_x", "", 404, "unknown-tournament", "", none, ""},
		{"deletion of none", "DELETE", all + "/..%2Fmeta.db", "", 404, "unknown-tournament", "", none, ""},
		{"duels of none", "POST", all + "/x/next", `{"count":1}`, 404, "unknown-tournament", "", none, ""},
		{"no count", "POST", at + "/next", `{}`, 400, "invalid-value", "count", none, ""},
		{"count of 0", "POST", at + "/next", `{"count":0}`, 400, "invalid-value", "count", none, "[1 5]"},
		{"count of many", "POST", at + "/next", `{"count":6}`, 400, "over-limit", "count", none, "[1 5]"},
		{"count of halves", "POST", at + "/next", `{"count":1.5}`, 400, "invalid-value", "count", none, ""},
		{"another count under the key", "POST", at + "/next", `{"count":1}`, 422, "idempotency-key-reused", "Idempotency-Key", none, ""},
		{"results of none", "POST", all + "/x/report", reported, 404, "unknown-tournament", "", none, ""},
		{"no results", "POST", at + "/report", `[]`, 400, "invalid-value", "results", none, "[1 5]"},
		{"null", "POST", at + "/report", `null`, 400, "", "", none, ""},
		{"an object", "POST", at + "/report", `{"results":[]}`, 400, "malformed-body", "", none, ""},
		{"many results", "POST", at + "/report", "[" + strings.Repeat(reported[1:len(reported)-1]+",", 5) + reported[1:], 400, "over-limit", "results", none, "[1 5]"},
		{"a result of half", "POST", at + "/report", `[{"duel_id":1,"a_won":true},{"duel_id":1}]`, 400, "invalid-value", "a_won", 1, ""},
		{"a result of nothing", "POST", at + "/report", `[{"a_won":true}]`, 400, "invalid-value", "duel_id", 0, ""},
		{"a field of a result", "POST", at + "/report", `[{"duel_id":1,"winner":"a"}]`, 400, "unknown-field", "winner", 0, ""},
		{"a tie", "POST", at + "/report", `[{"duel_id":1,"a_won":0.5}]`, 400, "invalid-value", "a_won", 0, ""},
		{"lenience", "POST", at + "/report?lenient=perhaps", reported, 400, "invalid-value", "lenient", none, ""},
		{"a duel that never was", "POST", at + "/report", `[{"duel_id":900,"a_won":true}]`, 404, "unknown-duel", "duel_id", 0, ""},
		{"such a duel leniently", "POST", at + "/report?lenient", reported[:len(reported)-1] + `,{"duel_id":0,"a_won":true}]`, 404, "unknown-duel", "duel_id", 1, ""},
		{"the other result", "POST", at + "/report", strings.Replace(reported, "true", "false", 1), 409, "conflict", "duel_id", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.In(t)
			var body any
			var h []string
			if c.body != "" {
				body = c.body
			}
			if strings.Contains(c.name, "under the key") {
				h = []string{"Idempotency-Key", map[bool]string{true: "first", false: "k"}[c.path == all]}
			}
			a := s.Do(c.method, c.path, body, h...)
			if a.Status != c.status {
				t.Fatalf("status %d, want %d: %.400s", a.Status, c.status, a.Body)
			}
			var p servicetest.Refused
			if a.Into(&p); c.problem != "" {
				p = a.Problem(c.status, c.problem)
			}
			if p.Detail == "" || p.Field != c.field || (p.Index == nil) != (c.index < 0) || p.Index != nil && *p.Index != c.index {
				t.Errorf("%s", a.Body)
			}
			if got := fmt.Sprint(p.Limit); c.limit != "" && got != c.limit {
				t.Errorf("limit %s, want %s", got, c.limit)
			}
		})
	}
	s.Do("POST", at+"/next", []byte(`{"count":1}`), "Content-Type", "text/plain").Problem(415, "unsupported-media")
	s.Do("POST", at+"/report", strings.Repeat(" ", 1<<20+1)).Problem(413, "body-too-large")
	s.Do("PUT", at, `{}`).Problem(http.StatusMethodNotAllowed, "method-not-allowed")
	if after := string(s.Do("GET", at, nil).Want(200).Body); after != before {
		t.Errorf("the state was\n%s and is\n%s", before, after)
	}
	var lenient choiceapi.Reported
	s.Do("POST", at+"/report?lenient", strings.Replace(reported, "true", "false", 1)).Want(200).Into(&lenient)
	if lenient.Receipts[0].Status != "conflicting" {
		t.Errorf("%+v", lenient.Receipts)
	}
	if text := string(s.Do("GET", "/metrics", nil).Body); !strings.Contains(text, `{reason="internal"} 0`) {
		t.Error("the server counts failures of its own")
	}
}

// TestAnytimeTournament plays with the default algorithm, whose leader has a guarantee before
// the end, and with judges who prefer the arm shown first: the better arm wins, and they are
// found out.
func TestAnytimeTournament(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	var made choiceapi.Tournament
	s.Do("POST", "/v1/tournaments", `{"arms":["bad","good"],"mode":"pac","delta":0.001,"horizon":100000}`).Want(201).Into(&made)
	if made.Algorithm != "anytime" || made.Epsilon != nil || *made.Horizon != 100000 {
		t.Fatalf("%+v", made)
	}
	at, shown, early := "/v1/tournaments/"+made.ID, map[string]int{}, 0
	for n := range 10_000 {
		var issued choiceapi.Duels
		s.Do("POST", at+"/next", `{"count":1}`).Want(200).Into(&issued)
		d := issued.Duels[0]
		shown[d.A]++
		won := d.A == "good" || n%4 > 0 // the first place decides three times of four, and never against the good one
		var reported choiceapi.Reported
		s.Do("POST", at+"/report", fmt.Sprintf(`[{"duel_id":%d,"a_won":%t}]`, d.ID, won)).Want(200).Into(&reported)
		if g := reported.Guarantee; !reported.Done && g != nil && g.Failure > .001 && g.Failure <= .5 {
			early++
		}
		if !reported.Done {
			continue
		}
		l := reported.Lean
		if *reported.Winner != "good" || reported.Guarantee.Failure != .001 || l == nil || l.Duels != reported.Duels || !(0 < l.Low && l.Low < l.Estimate && l.Estimate < l.High) {
			t.Errorf("%+v, lean %+v", reported, l)
		}
		break
	}
	if early == 0 || shown["good"] < 10 || shown["bad"] < 10 {
		t.Errorf("%d guarantees before the end; shown first: %v", early, shown)
	}
}
