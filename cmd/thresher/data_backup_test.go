package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/cli/remote"
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
	t.Setenv(remote.ServerVariable, s.url)
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
		if got := okBody(t, c, request(t, "GET", s.url+"/v1/collections/films/rows/alien", nil)); !strings.Contains(string(got), `"alien"`) {
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
