//go:build unix

package offline

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"thresher/service/files"
)

const (
	fullDir = "THRESHER_BATCHES_TEST_FULL" // set: this process is a server with little disk space
	// fullRoom is the longest file it can write: more than its databases need, less than the
	// outputs.
	fullRoom = 1 << 20
)

// fullSpec is its batch: some 7 MB of answers.
func fullSpec(file string) Spec {
	return Spec{InputFileID: file, Endpoint: films, Search: json.RawMessage(`{"k":150,"method":"exact"}`)}
}

func fullInput() string { return fvecs(gaussian(8, 1200)) }

// TestFullChild is the server with little disk space; it writes down the end of the batch.
func TestFullChild(t *testing.T) {
	dir := os.Getenv(fullDir)
	if dir == "" {
		t.Skip("not the child")
	}
	signal.Ignore(syscall.SIGXFSZ) // so that writing fails instead of killing the process
	b, err := runFull(dir, []time.Duration{1})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "became"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func runFull(dir string, retry []time.Duration) (Batch, error) {
	a, end, err := buildAtlas()
	if err != nil {
		return Batch{}, err
	}
	defer end()
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, nil)
	if err != nil {
		return Batch{}, err
	}
	defer db.Close()
	store, err := files.Open(filepath.Join(dir, "files"), db, nil)
	if err != nil {
		return Batch{}, err
	}
	ended := make(chan string, 1)
	o := Options{Chunk: 50, Retry: retry, ended: func(id string) { ended <- id }}
	m, err := open(filepath.Join(dir, "batches"), db, a, store, o)
	if err != nil {
		return Batch{}, err
	}
	defer m.Close(context.Background())
	f, err := store.Create(context.Background(), "q.fvecs", "batch", "in", strings.NewReader(fullInput()))
	if err != nil {
		return Batch{}, err
	}
	if os.Getenv(fullDir) != "" {
		limit := syscall.Rlimit{Cur: fullRoom, Max: fullRoom}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return Batch{}, err
		}
	}
	b, err := m.Create(context.Background(), fullSpec(f.ID), "", "")
	if err != nil {
		return Batch{}, err
	}
	<-ended
	return m.Get(b.ID)
}

// TestDiskFull: a batch without disk space for its answers fails with that reason, and
// delivers the complete chunks that were written.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	roomy := t.TempDir()
	want, err := runFull(roomy, nil)
	if err != nil || want.Status != Completed {
		t.Fatalf("%+v, %v", want, err)
	}
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestFullChild$")
	cmd.Env = append(os.Environ(), fullDir+"="+dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out, err := os.ReadFile(filepath.Join(dir, "became"))
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatal(err)
	}
	n := b.RequestCounts.Completed
	if b.Status != Failed || b.Errors == nil || b.Errors.Data[0].Code != "disk-full" || n < 50 || n%50 != 0 || n >= 1200 {
		t.Fatalf("%s", out)
	}
	got, whole := outputOf(t, dir, b), outputOf(t, roomy, want)
	if !strings.HasPrefix(whole, got) || int64(strings.Count(got, "\n")) != n {
		t.Errorf("%d bytes of %d answers are no beginning of the whole output", len(got), n)
	}
}

func outputOf(t *testing.T, dir string, b Batch) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "files", *b.OutputFileID))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
