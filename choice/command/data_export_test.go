package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/serve/choiceapi"
	"thresher/choice/serve/servetest"
	"thresher/internal/cli"
	"thresher/internal/cli/remote"
)

// TestDataExport: the command writes the same of a server and of its folder; it replaces no file unasked.
// A tournament whose snapshot is damaged goes on in another one, by its transcript.
func TestDataExport(t *testing.T) {
	dir, box := t.TempDir(), t.TempDir()
	s := servetest.Start(t, dir, nil)
	t.Setenv(remote.ServerVariable, s.URL)
	post := func(path, body string, into any) {
		t.Helper()
		a := s.Do("POST", path, body)
		if a.Into(into); a.Status/100 != 2 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	var made struct{ ID string }
	post("/v1/tournaments", `{"arms":["left","right"],"mode":"pac","delta":0.05}`, &made)
	var issued choiceapi.Duels
	post("/v1/tournaments/"+made.ID+"/next", `{"count":1}`, &issued)
	post("/v1/tournaments/"+made.ID+"/report", `[{"duel_id":1,"a_won":true,"judge":"ann"}]`, &struct{}{})
	served := thresher(t, "data", "export-judgments", "--data="+dir, "--tournament="+made.ID)
	if served.WantCode(t, cli.ExitOK); strings.Count(served.Out, "\n") != 4 || !strings.Contains(served.Out, `"a_won":true,"judge":"ann"`) {
		t.Error(served.Out)
	}
	thresher(t, "data", "export-judgments", "--server="+s.URL, "--tournament=x").WantError(t, `no tournament "x"`)
	thresher(t, "data", "export-judgments", "--data="+dir).WantError(t, "--tournament is missing")
	s.Stop()
	out := filepath.Join(box, "judged.jsonl")
	for _, force := range []string{"--overwrite=false", "--overwrite"} {
		thresher(t, "data", "export-judgments", "--data="+dir, "--tournament="+made.ID, "--out="+out, force).WantCode(t, cli.ExitOK)
		text, err := os.ReadFile(out)
		if err != nil || string(text) != served.Out {
			t.Errorf("%v: %s, from the server: %s", err, text, served.Out)
		}
	}
	thresher(t, "data", "export-judgments", "--data="+dir, "--tournament="+made.ID, "--out="+out).WantError(t, out+" exists", "--overwrite")

	thresher(t, "data", "continue-tournament", "--data="+dir, "--tournament="+made.ID).WantError(t, "can be played")
	thresher(t, "data", "continue-tournament", "--data="+dir).WantError(t, "--tournament is missing")
	path := filepath.Join(dir, "meta.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(whole, []byte(`"event":2,`), []byte(`"event":1,`)), 0o600); err != nil {
		t.Fatal(err)
	}
	went := thresher(t, "data", "continue-tournament", "--data="+dir, "--tournament="+made.ID)
	next, said, _ := strings.Cut(went.Out, " ")
	if went.WantCode(t, cli.ExitOK); said != "goes on from "+made.ID+" after call 2 of 2\n" {
		t.Error(went.Out, went.Err)
	}
	s = servetest.Start(t, dir, nil)
	t.Setenv(remote.ServerVariable, s.URL)
	post("/v1/tournaments/"+next+"/next", `{"count":1}`, &issued)
	if len(issued.Duels) != 1 || issued.Duels[0].ID != 2 {
		t.Errorf("%+v", issued)
	}
	if on := thresher(t, "data", "export-judgments", "--data="+dir, "--tournament="+next); !strings.Contains(on.Out, `"a_won":true,"judge":"ann"`) {
		t.Error(on.Out)
	}
	thresher(t, "data", "continue-tournament", "--data="+dir, "--tournament="+made.ID).WantError(t, "in use")
	s.Stop()
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}

	// Without its transcript the calls before the snapshot that the end of the server wrote are lost.
	if err := os.Remove(filepath.Join(dir, "tournaments", made.ID+".calls")); err != nil {
		t.Fatal(err)
	}
	r := thresher(t, "data", "export-judgments", "--data="+dir, "--tournament="+made.ID)
	if r.WantCode(t, cli.ExitWrong); !strings.Contains(r.Out, `{"object":"lost","first":1,"last":2,`) || !strings.Contains(r.Err, "2 calls are lost") {
		t.Error(r.Out, r.Err)
	}
}
