package service

import (
	"testing"
)

// tourney is a tournament as clients see it.
type tourney struct {
	ID     string
	Done   bool
	Winner *string
	State  standing
}

type standing struct {
	Duels      int
	Open       int
	Active     []string
	Eliminated []struct {
		Arm    string
		At     int
		P      float64
		Radius float64
	}
	Done     bool
	Winner   *string
	Receipts []struct {
		ID     uint64 `json:"duel_id"`
		Status string
	}
}

type handed struct {
	Duels []struct {
		ID   uint64 `json:"duel_id"`
		A, B string
	}
	Done bool
}

// TestTournament plays one to its end.
func TestTournament(t *testing.T) {
	s := start(t, nil)
	spec := map[string]any{"arms": []string{"good", "bad", "worse"}, "mode": "online", "horizon": 100000, "testing": "sweep"}
	var made tourney
	a := s.do("POST", "/v1/tournaments", spec).want(201)
	a.into(&made)
	at := "/v1/tournaments/" + made.ID
	if a.header.Get("Location") != at || made.Done || made.Winner != nil || len(made.State.Active) != 3 {
		t.Fatalf("at %s, %+v", a.header.Get("Location"), made)
	}
	rank := map[string]int{"good": 0, "bad": 1, "worse": 2}
	var last standing
	for range 1000 {
		var h handed
		s.do("POST", at+"/next", map[string]int{"count": 2}).want(200).into(&h)
		if h.Done {
			break
		}
		var results []map[string]any
		for _, d := range h.Duels {
			results = append(results, map[string]any{"duel_id": d.ID, "a_won": rank[d.A] < rank[d.B]})
		}
		s.do("POST", at+"/report", results).want(200).into(&last)
		if last.Done {
			break
		}
	}
	s.do("GET", at, nil).want(200).into(&made) // a coin may have ended it
	last = made.State
	if !last.Done || last.Winner == nil || *last.Winner != "good" || len(last.Eliminated) != 2 || last.Eliminated[0].Arm != "worse" {
		t.Fatalf("%+v", last)
	}
	s.do("POST", at+"/next", map[string]int{"count": 2}).problem(409, "tournament-ended")
	var page struct{ Data []tourney }
	s.do("GET", "/v1/tournaments?limit=1", nil).want(200).into(&page)
	if len(page.Data) != 1 || !page.Data[0].Done || page.Data[0].ID != made.ID || !made.Done || *made.Winner != "good" {
		t.Errorf("%+v, %+v", page, made)
	}
	s.do("DELETE", at, nil).want(200)
	s.do("GET", at, nil).problem(404, "unknown-tournament")
}
