package serve_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/serve"
	"thresher/choice/serve/choiceapi"
	"thresher/choice/serve/servetest"
	"thresher/service/extension"
	"thresher/store"
)

// judgedBy reads the lines of an export: the duels judged and who won them, and the last line.
func judgedBy(t *testing.T, lines []byte) (won map[uint64]bool, lost int64, end choiceapi.JudgmentsEnd) {
	t.Helper()
	won = map[uint64]bool{}
	for _, line := range bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n")) {
		var l struct {
			choiceapi.JudgmentsEnd
			Judged      []choiceapi.Judgment
			First, Last int64
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, j := range l.Judged {
			won[j.DuelID] = *j.AWon
		}
		if l.Object == "lost" {
			lost += l.Last - l.First + 1
		}
		end = l.JudgmentsEnd
	}
	if end.Object != "end" {
		t.Fatalf("the last line is %+v", end)
	}
	return won, lost, end
}

// TestJudgments: what was judged is sent while serving, and exported from the folder whichever sector of
// the database is bad; what is lost is named.
func TestJudgments(t *testing.T) {
	dir := t.TempDir()
	s := servetest.Start(t, dir, nil)
	var made struct{ ID string }
	s.Do("POST", "/v1/tournaments", `{"arms":["left","right","middle"],"mode":"online","horizon":1000000,"testing":"sweep"}`).Want(201).Into(&made)
	path := "/v1/tournaments/" + made.ID
	want := map[uint64]bool{}
	for range 40 {
		var issued choiceapi.Duels
		s.Do("POST", path+"/next", `{"count":3}`).Want(200).Into(&issued)
		var results []map[string]any
		for _, d := range issued.Duels {
			want[d.ID] = d.ID%3 == 0
			results = append(results, map[string]any{"duel_id": d.ID, "a_won": d.ID%3 == 0})
		}
		s.Do("POST", path+"/report", results).Want(200)
	}
	same := func(what string, won map[uint64]bool) {
		t.Helper()
		for id, is := range won {
			if was, ok := want[id]; !ok || was != is {
				t.Errorf("%s: duel %d was judged %t, %t, and is %t", what, id, was, ok, is)
			}
		}
	}
	sent := s.Do("GET", path+"/judgments", nil).Want(200)
	won, lost, end := judgedBy(t, sent.Body)
	if same("served", won); len(won) != len(want) || lost != 0 || end.Calls != 80 || end.Judgments != int64(len(want)) {
		t.Errorf("%d of %d, %d, %+v", len(won), len(want), lost, end)
	}
	if !strings.Contains(string(sent.Body), `"a":"left"`) || !strings.HasPrefix(string(sent.Body), `{"id":"`+made.ID) {
		t.Errorf("%.300s", sent.Body)
	}
	s.Do("GET", "/v1/tournaments/tournament_x/judgments", nil).Problem(404, "unknown-tournament")
	if _, err := serve.ExportJudgments(t.Context(), dir, made.ID, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), store.ErrInUse.Error()) {
		t.Error(err)
	}
	s.Stop()

	meta := filepath.Join(dir, extension.MetaName)
	whole, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for at := 0; at < len(whole); at += 4096 {
		broken := bytes.Clone(whole)
		clear(broken[at : at+min(512, len(broken)-at)])
		if err := os.WriteFile(meta, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		j, err := serve.ExportJudgments(t.Context(), dir, made.ID, &out)
		if err != nil {
			t.Fatalf("sector at %d: %v", at, err)
		}
		if len(j.Unread) > 0 {
			damaged++
		}
		won, lost, end := judgedBy(t, out.Bytes())
		if same("damaged", won); lost != end.Lost || lost != j.Lost || int64(len(won)) != j.Judgments || lost == 0 && len(won) < len(want) {
			t.Errorf("sector at %d: %d of %d judgments, %d lost, %+v", at, len(won), len(want), lost, end)
		}
	}
	if damaged < 2 {
		t.Errorf("the database was damaged %d times", damaged)
	}
	if err := os.Remove(meta); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if j, err := serve.ExportJudgments(t.Context(), dir, made.ID, &out); err != nil || j.Judgments != int64(len(want)) || len(j.Unread) != 1 {
		t.Errorf("without a database: %+v, %v", j, err)
	}
	if _, err := os.Stat(meta); err == nil {
		t.Error("a database was made")
	}
}
