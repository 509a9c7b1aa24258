package slates

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

const (
	childPath  = "THRESHER_SLATES_TEST_PATH"  // set: this process is the child
	childFirst = "THRESHER_SLATES_TEST_FIRST" // the first deed to do
	childStep  = "THRESHER_SLATES_TEST_STEP"  // set: wait for a byte after every step
)

const (
	lastDeed   = 24
	killUsers  = 2
	killLogged = 3 // so that states are written often
)

// deed asks for a slate for a user under a key and gives feedback for it, the same in
// every life.
func deed(s *Store, n int) error {
	u := fmt.Sprint("u", n%killUsers)
	body := fmt.Sprintf(`{"users":[%q],"k":3}`, u)
	req, err := DecodeRequest([]byte(body), Limits{})
	if err != nil {
		return err
	}
	a, err := s.Recommend(context.Background(), "films", films(1, 30), req, fmt.Sprint("key ", n), body)
	if err != nil {
		return err
	}
	_, err = s.Feedback("films", []Feedback{{a.Slates[0].ID, rewardsOf(n)}})
	return err
}

// rewardsOf are those of a deed: one to three.
func rewardsOf(n int) []float64 {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	all := make([]float64, 1+r.IntN(3))
	for i := range all {
		all[i] = r.Float64()
	}
	return all
}

// child does deeds until all are done or it is killed, and prints a line at every step
// and after every deed.
func child(path string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	firstDeed, err := strconv.Atoi(os.Getenv(childFirst))
	if err != nil {
		return fail(err)
	}
	ack := make([]byte, 1)
	say := func(line string) {
		fmt.Println(line)
		if os.Getenv(childStep) != "" {
			os.Stdin.Read(ack) // fails when the parent is gone
		}
	}
	s, err := Open(path, &Options{Logged: killLogged, noSync: true, step: func(step string) error { say(step); return nil }})
	if err != nil {
		return fail(err)
	}
	defer s.Close()
	for n := firstDeed; n < lastDeed; n++ {
		if err := deed(s, n); err != nil {
			return fail(fmt.Errorf("deed %d: %w", n, err))
		}
		say(fmt.Sprint("did ", n))
	}
	return 0
}

// live runs a child from a deed on and kills it when it prints its last line, unless it
// is done before. It returns how many deeds are done.
func live(t *testing.T, path string, from, lines int, step bool) (did int, last string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childPath+"="+path, fmt.Sprint(childFirst, "=", from))
	if step {
		cmd.Env = append(cmd.Env, childStep+"=1")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	did, killed := from, false
	for s := bufio.NewScanner(out); s.Scan(); { // what was printed before the kill counts
		last = s.Text()
		if n, ok := strings.CutPrefix(last, "did "); ok {
			if did, err = strconv.Atoi(n); err != nil {
				t.Fatal(err)
			}
			did++
		}
		if lines--; lines == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed = true
		} else if step && !killed {
			in.Write([]byte{'.'}) // fails when the child has failed, which Wait tells
		}
	}
	if err := cmd.Wait(); err != nil && !killed {
		t.Fatalf("child: %v: %s", err, &stderr)
	}
	return did, last
}

// TestKill kills a process again and again at random steps, half of the times at an
// exact one. What was acknowledged is there then, to the bit, and what is done again
// counts once: in the end the states are those of a process that was never killed.
func TestKill(t *testing.T) {
	most := 60
	if testing.Short() {
		most = 8
	}
	whole := open(t, Options{Logged: killLogged})
	want := make([][]int64, 1, lastDeed+1) // observations of each user after so many deeds
	want[0] = make([]int64, killUsers)
	for n := range lastDeed {
		if err := deed(whole.Store, n); err != nil {
			t.Fatal(err)
		}
		next := append([]int64(nil), want[n]...)
		next[n%killUsers] += int64(len(rewardsOf(n)))
		want = append(want, next)
	}
	r := rand.New(rand.NewPCG(6, 1))
	f := &folder{t: t, path: whole.path + ".killed", o: Options{Logged: killLogged, noSync: true}}
	at := map[string]int{}
	kills, did := 0, 0
	for ; did < lastDeed && kills < most; kills++ {
		var last string
		did, last = live(t, f.path, did, 1+r.IntN(14), r.IntN(2) == 0)
		at[strings.TrimRight(last, " 0123456789")]++
		if r.IntN(3) == 0 {
			continue // and the next life finds what it left
		}
		f.Store = nil
		f.reopen()
		got := f.observations(t)
		if fmt.Sprint(got) != fmt.Sprint(want[did]) && (did == lastDeed || fmt.Sprint(got) != fmt.Sprint(want[did+1])) {
			t.Fatalf("killed at %q after %d deeds: %v observations, want %v", last, did, got, want[did])
		}
		f.Close()
	}
	t.Logf("%d kills, at %v", kills, at)
	if did < lastDeed {
		return
	}
	f.Store = nil
	f.reopen()
	defer f.Close()
	for u := range killUsers {
		a, b := whole.bytesOf(t, fmt.Sprint("u", u)), f.bytesOf(t, fmt.Sprint("u", u))
		if !bytes.Equal(a, b) {
			t.Errorf("user %d is known differently", u)
		}
	}
}

func (f *folder) observations(t *testing.T) []int64 {
	t.Helper()
	var all []int64
	for u := range killUsers {
		st, err := f.state("films", fmt.Sprint("u", u), model{dim, 1})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, st.estimator.Observations())
	}
	return all
}

// bytesOf is the state of a user as it is written.
func (f *folder) bytesOf(t *testing.T, user string) []byte {
	t.Helper()
	st, err := f.state("films", user, model{dim, 1})
	if err != nil {
		t.Fatal(err)
	}
	text, err := st.estimator.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
