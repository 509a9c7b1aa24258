package serve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"thresher/choice/serve/choiceapi"
	"thresher/choice/serve/choiceclient"
	"thresher/choice/serve/servetest"
	"thresher/service/servicetest"
)

// play judges duels in favour of the arm that comes first in order, until the end.
func play(t *testing.T, c *choiceclient.Client, id string, order []string) choiceapi.Tournament {
	t.Helper()
	for range 5000 {
		issued, err := c.NextDuels(context.Background(), id, 4, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(issued.Duels) == 0 {
			t.Fatalf("no duels: %+v", issued)
		}
		reported, err := c.ReportDuels(context.Background(), id, judge(order, issued.Duels), true)
		if err != nil {
			t.Fatal(err)
		}
		if reported.Done {
			break
		}
	}
	end, err := c.Tournament(context.Background(), id)
	if err != nil || !end.Done {
		t.Fatalf("%+v, %v", end, err)
	}
	return end
}

// TestRankedTournaments: arms in order, the top ones, and those that beat the most others. Every
// answer fits the description.
func TestRankedTournaments(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	c := s.Choices()
	order := []string{"first", "second", "third", "last"}
	for name, spec := range map[string]string{
		"order":    `{"arms":["last","third","first","second"],"mode":"pac","delta":0.01,"algorithm":"rank"}`,
		"top":      `{"arms":["last","third","first","second"],"mode":"pac","delta":0.01,"algorithm":"rank","top":2,"testing":"sweep"}`,
		"copeland": `{"arms":["last","third","first","second"],"mode":"pac","delta":0.01,"epsilon":0.2,"algorithm":"copeland","horizon":10000}`,
	} {
		var made choiceapi.Tournament
		s.Do("POST", "/v1/tournaments", spec).Want(201).Into(&made)
		end := play(t, c, made.ID, order)
		s.Do("GET", "/v1/tournaments/"+made.ID, nil).Want(200)
		st := end.State
		switch name {
		case "order", "top":
			r := st.Ranking
			if r == nil || len(r.Places) != 4 || r.Safe != r.Pairs || r.Failure != .01 || st.End != "places decided" || (made.Top != nil) != (name == "top") {
				t.Fatalf("%s: %+v", name, st)
			}
			for i, p := range r.Places {
				if name == "order" && (p.Arm != order[i] || p.First != i+1 || p.Last != i+1) || i < 2 && p.Last > 2 {
					t.Errorf("%s: place %d is %+v", name, i, p)
				}
			}
		case "copeland":
			if c := st.Copeland; c == nil || !c.Known || len(c.Winners) != 1 || c.Winners[0] != "first" || c.Circle || st.End != "scores decided" {
				t.Errorf("%+v", st.Copeland)
			}
		}
		if end.Winner == nil || *end.Winner != "first" && name != "top" {
			t.Errorf("%s: winner %v", name, end.Winner)
		}
	}
}

// TestUndoTournament takes back judgments and a winner, under a key and of a named duel.
func TestUndoTournament(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	ctx := context.Background()
	c := s.Choices()
	made, err := c.CreateTournament(ctx, choiceapi.TournamentSpec{Arms: []string{"a", "b"}, Mode: "pac", Delta: of(.2)}, "")
	if err != nil || len(made.State.Undoable) != 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	at := "/v1/tournaments/" + made.ID
	s.Do("POST", at+"/undo", `{}`).Problem(409, "conflict")
	end := play(t, c, made.ID, []string{"a", "b"})
	last := end.State.Undoable
	if len(last) == 0 || *end.Winner != "a" {
		t.Fatalf("%+v", end)
	}
	if p := s.Do("POST", at+"/undo", fmt.Sprintf(`{"duel_id":%d}`, last[0]+1000)).Problem(409, "conflict"); p.Field != "duel_id" {
		t.Errorf("%+v", p)
	}
	for range 2 { // the second changes nothing
		undone, err := c.UndoDuel(ctx, made.ID, last[0], "one key")
		if err != nil || undone.Done || undone.Winner != nil || undone.Undone != 1 || undone.Duels >= end.State.Duels || fmt.Sprint(undone.UndoneDuels) != fmt.Sprint(last) {
			t.Fatalf("%+v, %v", undone, err)
		}
		s.Stop()
		s = servetest.Start(t, dir, nil)
		c = s.Choices()
	}
	s.Do("POST", at+"/report", fmt.Sprintf(`[{"duel_id":%d,"a_won":true}]`, last[0])).Problem(409, "duel-withdrawn")
	s.Do("POST", at+"/undo", `{}`).Want(200)
	for body, field := range map[string]string{`{"duel_id":0}`: "duel_id", `{"duel_id":-1}`: "duel_id", `{"duel_id":"7"}`: "duel_id", `{"last":7}`: "last"} {
		a := s.Do("POST", at+"/undo", body)
		var p servicetest.Refused
		if a.Into(&p); a.Status != 400 || p.Field != field {
			t.Errorf("%s: %s", body, a.Body)
		}
	}
	s.Do("POST", "/v1/tournaments/x/undo", `{}`).Problem(404, "unknown-tournament")
	if again := play(t, c, made.ID, []string{"b", "a"}); *again.Winner == "" || again.State.Undone != 2 {
		t.Errorf("%+v", again)
	}
	if text := string(s.Do("GET", "/metrics", nil).Body); !strings.Contains(text, `thresher_duel_results_total{status="undone"}`) {
		t.Error("metrics lack undone results")
	}
}

// TestJudgesOfTournaments: names have the limit of the command line, and the records of judges fit
// the description.
func TestJudgesOfTournaments(t *testing.T) {
	s := servetest.Start(t, t.TempDir(), nil)
	var made choiceapi.Tournament
	s.Do("POST", "/v1/tournaments", `{"arms":["a","b"],"mode":"pac","delta":0.000001}`).Want(201).Into(&made)
	at, longest := "/v1/tournaments/"+made.ID, strings.Repeat("é", 256)
	for i, name := range []string{longest, "bob", longest, "bob", longest, "bob", longest, "bob"} {
		var issued choiceapi.Duels
		s.Do("POST", at+"/next", fmt.Sprintf(`{"count":1,"judge":%q}`, name)).Want(200).Into(&issued)
		won := (issued.Duels[0].A < issued.Duels[0].B) == (i%3 > 0)
		s.Do("POST", at+"/report", fmt.Sprintf(`[{"duel_id":%d,"a_won":%t,"judge":%q}]`, issued.Duels[0].ID, won, name)).Want(200)
	}
	s.Do("GET", at, nil).Want(200).Into(&made)
	if j := made.State.Judges; j == nil || len(j.Judges) != 2 || j.Judges[0].Judge != longest || j.Judges[0].Judgments != 4 || j.Judges[0].Agreement == nil || len(j.Disputed) == 0 {
		t.Errorf("%+v", j)
	}
	for _, body := range []string{`{"count":1,"judge":%q}`, `[{"duel_id":1,"a_won":true,"judge":%q}]`} {
		path := at + "/next"
		if body[0] == '[' {
			path = at + "/report"
		}
		a := s.Do("POST", path, fmt.Sprintf(body, longest+"x"))
		var p servicetest.Refused
		if a.Into(&p); a.Status != 400 || p.Field != "judge" || fmt.Sprint(p.Limit) != "256" {
			t.Errorf("%s", a.Body)
		}
	}
}
