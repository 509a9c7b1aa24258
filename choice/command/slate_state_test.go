package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// A state drops the oldest slates.
func TestSlateStateIsBounded(t *testing.T) {
	s, err := newSlateState(filepath.Join(t.TempDir(), "s"), []string{"x"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range maxOpen + maxAnswered + 5 {
		s.addSlate([]string{"a"}, []float64{1})
	}
	if len(s.Open) != maxOpen {
		t.Errorf("%d open slates", len(s.Open))
	}
	if _, err := s.reward(s.Last-maxOpen, []float64{1}); err == nil || !strings.Contains(err.Error(), "was evicted") {
		t.Error(err)
	}
	for range maxAnswered + 5 {
		if isNew, err := s.reward(s.addSlate([]string{"a"}, []float64{1}), []float64{1}); err != nil || !isNew {
			t.Fatal(err)
		}
	}
	if len(s.Answered) != maxAnswered || s.User.Observations() != maxAnswered+5 {
		t.Errorf("%d answered slates, %d observations", len(s.Answered), s.User.Observations())
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	if _, err := readSlateState(s.path); err != nil {
		t.Error(err)
	}
}

// Each feedback of concurrent processes is learned from once.
func TestSlateFeedbackAtOnce(t *testing.T) {
	dir := t.TempDir()
	films, state := filmsFile(t, dir), filepath.Join(dir, "ann.json")
	const count = 8
	for range count {
		recommended(t, "--items", films, "--state", state)
	}
	var wg sync.WaitGroup
	for i := range 2 * count { // each twice
		wg.Go(func() {
			r := thresher(t, "slate", "feedback", "--state", state, "--slate", fmt.Sprint(i/2+1), "--rewards", "1")
			if r.Code != cli.ExitOK {
				t.Error(r.Err)
			}
		})
	}
	wg.Wait()
	s, err := readSlateState(state)
	if err != nil || s.User.Observations() != count || len(s.Answered) != count {
		t.Errorf("%v: %+v", err, s)
	}
}

// Waiting for another process can be interrupted.
func TestSlateWaitIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "ann.json")
	recommended(t, "--items", filmsFile(t, dir), "--state", state)
	lock, err := lockFolder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	thresherWith(t, ctx, "", "slate", "feedback", "--state", state, "--slate", "1", "--rewards", "1").WantCode(t, cli.ExitInterrupted)
}

// A process that is killed while it writes leaves the old state or the new one, and repeating
// the feedback gives the same state, byte for byte.
func TestSlateKill(t *testing.T) {
	race.Skip(t, "one goroutine a process; TestSlateFeedbackAtOnce has several")
	dir := t.TempDir()
	state, whole := filepath.Join(dir, "ann.json"), filepath.Join(dir, "whole.json")
	var topics []string
	for i := range 300 {
		topics = append(topics, fmt.Sprint("topic ", i))
	}
	s, err := newSlateState(state, topics, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range maxOpen { // so that writing the file takes some time
		features := make([]float64, 3*len(topics))
		for i := range features {
			features[i] = float64(i%7) / 7
		}
		s.addSlate([]string{"a", "b", "c"}, features)
	}
	if err := s.save(); err != nil {
		t.Fatal(err)
	}
	begin := clitest.ReadFile(t, state)
	if err := os.WriteFile(whole, begin, 0o644); err != nil {
		t.Fatal(err)
	}
	rewards := clitest.WriteFile(t, dir, "rewards.jsonl", []byte(`{"slate":5,"rewards":[1,0,1]}`+"\n"+`{"slate":7,"rewards":[0,1]}`+"\n"))
	thresher(t, "slate", "feedback", "--state", whole, "--from", rewards).WantCode(t, cli.ExitOK)
	end := clitest.ReadFile(t, whole)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	killed, rounds := 0, 6
	if testing.Short() {
		rounds = 2
	}
	// On a busy machine a child may write and end before this process sees it write.
	for round := 0; round < rounds || killed == 0 && round < 50*rounds; round++ {
		if err := os.WriteFile(state, begin, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "slate", "feedback", "--state", state, "--from", rewards)
		cmd.Env = append(os.Environ(), clitest.ChildVariable+"=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan error, 1)
		go func() { exited <- cmd.Wait() }()
		for writing := false; !writing; {
			select {
			case err := <-exited:
				exited <- err
				writing = true
			default:
				writing = clitest.Exists(filepath.Join(dir, ".ann.json.new"))
			}
		}
		cmd.Process.Kill() // has no effect if it has ended
		if <-exited != nil {
			killed++
		}
		if got := clitest.ReadFile(t, state); !bytes.Equal(got, begin) && !bytes.Equal(got, end) {
			t.Fatalf("neither the old state nor the new one: %d bytes; %d and %d", len(got), len(begin), len(end))
		}
		thresher(t, "slate", "feedback", "--state", state, "--from", rewards).WantCode(t, cli.ExitOK)
		if !bytes.Equal(clitest.ReadFile(t, state), end) {
			t.Fatal("feedback after a kill ended elsewhere than without")
		}
		if clitest.Exists(filepath.Join(dir, ".ann.json.new")) {
			t.Fatal("what a kill left stays")
		}
	}
	if killed == 0 {
		t.Error("no child was killed while it wrote")
	}
}

// A state that is accepted can be used.
func FuzzSlateState(f *testing.F) {
	s, err := newSlateState("s", []string{"x", "y"}, 1)
	if err != nil {
		f.Fatal(err)
	}
	for range 3 {
		s.addSlate([]string{"a", "b"}, []float64{1, 0, .5, .25})
	}
	if _, err := s.reward(2, []float64{1}); err != nil {
		f.Fatal(err)
	}
	good, err := json.Marshal(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"topics":["x"],"last":-1,"open":[{"slate":0,"items":[],"features":[]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSlateState(b)
		if err != nil {
			return
		}
		id := s.addSlate([]string{"a"}, make([]float64, len(s.Topics)))
		if id < 1 {
			t.Fatalf("slate %d", id)
		}
		for _, o := range slices.Clone(s.Open) {
			if _, err := s.reward(o.Slate, []float64{1}); err != nil {
				t.Fatalf("slate %d: %v", o.Slate, err)
			}
		}
	})
}

// A changed character is detected anywhere, unless the numbers stay equal or it is in the
// name of the checksum; states of earlier releases, without a checksum, are accepted.
func TestSlateStateDamaged(t *testing.T) {
	dir := t.TempDir()
	films, path := filmsFile(t, dir), filepath.Join(dir, "ann.json")
	for range 2 {
		recommended(t, "--items", films, "--state", path)
	}
	thresher(t, "slate", "feedback", "--state", path, "--slate", "1", "--rewards", "1,0,1").WantCode(t, cli.ExitOK)
	sealed := clitest.ReadFile(t, path)
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		s, err := parseSlateState(bad)
		if err != nil {
			continue
		}
		if same, err := json.Marshal(s); err != nil || s.Checksum != "" && !bytes.Equal(same, bytes.TrimSpace(sealed)) {
			t.Fatalf("%q for %q at %d of %s is taken, %v", bad[i], sealed[i], i, sealed, err)
		}
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, sealed, "", "\t"); err != nil {
		t.Fatal(err)
	}
	old := append(bytes.Clone(sealed[:bytes.LastIndex(sealed, []byte(`,"crc32c"`))]), '}')
	for _, content := range [][]byte{spaced.Bytes(), old} {
		clitest.WriteFile(t, dir, "ann.json", content)
		if list := recommended(t, "--items", films, "--state", path); list.Slate != 3 {
			t.Errorf("%+v", list)
		}
	}
}
