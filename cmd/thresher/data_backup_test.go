package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/serve/choiceapi"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/service/api"
)

// backupOf returns the one backup that data backup --json prints.
func backupOf(t *testing.T, r clitest.Result) api.Backup {
	t.Helper()
	var b api.Backup
	if err := json.Unmarshal([]byte(r.Out), &b); err != nil {
		t.Fatalf("%v: %s%s", err, r.Out, r.Err)
	}
	return b
}

// filmed puts a collection of one row.
func filmed(t *testing.T, s *served) {
	t.Helper()
	put := request(t, "PUT", s.url+"/v1/collections/films?metric=ip&ids=id&wait=true", []byte(`{"id":"alien","vector":[1,0]}`+"\n"))
	put.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := http.DefaultClient.Do(put)
	if err != nil || resp.StatusCode != 201 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

// TestDataBackup: the command has the server that uses the folder make the backup, in the server's folder
// alone; without a server it makes it itself. Both are restored with what was stored.
func TestDataBackup(t *testing.T) {
	dir, to, own := t.TempDir(), filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "own")
	c := &http.Client{}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s := serve(t, dir, "--backup-folder="+to)
	t.Setenv(serverVariable, s.url)
	filmed(t, s)

	r := thresher(t, "data", "backup", "--data="+dir, "--to="+to)
	if r.WantCode(t, cli.ExitOK); !strings.HasPrefix(r.Out, filepath.Join(to, "backup-")) || !strings.Contains(r.Out, "shared with the backup before") {
		t.Error(r.Out)
	}
	served := backupOf(t, thresher(t, "data", "backup", "--server="+s.url, "--json"))
	if served.Status != api.BackupCompleted || served.BytesLinked == 0 {
		t.Errorf("%+v", served)
	}
	thresher(t, "data", "backup", "--data="+dir, "--to="+own).WantError(t, "writes backups to "+to, "backup.folder", "--to "+own)
	thresher(t, "data", "backup", "--data="+dir, "--keep=1").WantError(t, "--keep", "backup.keep")
	other := serve(t, t.TempDir())
	thresher(t, "data", "backup", "--server="+other.url).WantError(t, "backup.folder")
	thresher(t, "data", "backup", "--server="+s.url, "--data="+t.TempDir()).WantError(t, "uses "+dir)
	s.stop().WantCode(t, cli.ExitOK)
	other.stop().WantCode(t, cli.ExitOK)

	thresher(t, "data", "backup", "--data="+dir).WantError(t, "--to is missing")
	thresher(t, "data", "backup", "--data="+dir, "--to="+own, "--keep=-1").WantError(t, "--keep -1")
	thresher(t, "data", "backup", "--data="+t.TempDir(), "--to="+own).WantError(t, "not the data folder of a server", "meta.db")
	for range 2 {
		thresher(t, "data", "backup", "--data="+dir, "--to="+own, "--keep=1").WantCode(t, cli.ExitOK)
	}
	kept, err := filepath.Glob(filepath.Join(own, "*"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	for _, from := range []string{kept[0], filepath.Join(to, served.Name)} {
		back := filepath.Join(t.TempDir(), "data")
		r := thresher(t, "data", "restore", "--from="+from, "--to="+back)
		if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out, back+" is as it was at ") || !strings.Contains(r.Out, " 0 damaged, 0 missing, 0 unknown") {
			t.Error(r.Out)
		}
		s := serve(t, back)
		s.ready(t)
		if got := fetch(t, c, request(t, "GET", s.url+"/v1/collections/films/rows/alien", nil)); !strings.Contains(string(got), `"alien"`) {
			t.Errorf("%s", got)
		}
		s.stop().WantCode(t, cli.ExitOK)
		thresher(t, "data", "restore", "--from="+from, "--to="+back).WantError(t, back, "there is something already")
	}
	thresher(t, "data", "restore", "--from="+dir).WantError(t, "--from and --to")
	thresher(t, "data", "restore", "--from="+dir, "--to="+filepath.Join(t.TempDir(), "x")).WantError(t, dir+" is no backup")
}

// TestDataBackupOfDamage: the backup of damaged data is complete, and the exit code and the output say what
// is damaged, as those of its restoring do.
func TestDataBackupOfDamage(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backups")
	s := serve(t, dir)
	filmed(t, s)
	s.stop().WantCode(t, cli.ExitOK)
	vectors, err := filepath.Glob(filepath.Join(dir, "collections", "*.thresher"))
	if err != nil || len(vectors) != 1 {
		t.Fatal(vectors, err)
	}
	if err := os.Truncate(vectors[0], 100); err != nil {
		t.Fatal(err)
	}
	r := thresher(t, "data", "backup", "--data="+dir, "--to="+to)
	if r.WantCode(t, cli.ExitWrong); !strings.Contains(r.Out, "damaged: collection films is damaged: version 1") {
		t.Error(r.Out, r.Err)
	}
	made, err := filepath.Glob(filepath.Join(to, "backup-*"))
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	r = thresher(t, "data", "restore", "--from="+made[0], "--to="+filepath.Join(t.TempDir(), "data"))
	if r.WantCode(t, cli.ExitWrong); !strings.Contains(r.Out, "damaged  collection films") {
		t.Error(r.Out, r.Err)
	}
}

// TestDataExport: the command writes the same of a server and of its folder; it replaces no file unasked.
// A tournament whose snapshot is damaged goes on in another one, by its transcript.
func TestDataExport(t *testing.T) {
	dir, box := t.TempDir(), t.TempDir()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s := serve(t, dir)
	t.Setenv(serverVariable, s.url)
	post := func(path, body string, into any) {
		t.Helper()
		req := request(t, "POST", s.url+path, []byte(body))
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode/100 != 2 {
			t.Fatal(resp.Status, err)
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
	thresher(t, "data", "export-judgments", "--server="+s.url, "--tournament=x").WantError(t, `no tournament "x"`)
	thresher(t, "data", "export-judgments", "--data="+dir).WantError(t, "--tournament is missing")
	s.stop().WantCode(t, cli.ExitOK)
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
	s = serve(t, dir)
	t.Setenv(serverVariable, s.url)
	post("/v1/tournaments/"+next+"/next", `{"count":1}`, &issued)
	if len(issued.Duels) != 1 || issued.Duels[0].ID != 2 {
		t.Errorf("%+v", issued)
	}
	if on := thresher(t, "data", "export-judgments", "--data="+dir, "--tournament="+next); !strings.Contains(on.Out, `"a_won":true,"judge":"ann"`) {
		t.Error(on.Out)
	}
	thresher(t, "data", "continue-tournament", "--data="+dir, "--tournament="+made.ID).WantError(t, "in use")
	s.stop().WantCode(t, cli.ExitOK)
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
