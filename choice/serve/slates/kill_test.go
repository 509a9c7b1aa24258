package slates

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"thresher/internal/crashtest"
)

const (
	lastDeed   = 24
	killUsers  = 2
	killLogged = 3 // states are written often
)

// deed asks for a slate for a user under a key and gives feedback for it, the same in every
// process.
func deed(s *Store, n int) error {
	u := fmt.Sprint("u", n%killUsers)
	if forgets(n) {
		return s.Forget(context.Background(), "films", []ID{{Name: u, Text: true}})
	}
	body := fmt.Sprintf(`{"users":[%q],"k":3}`, u)
	req, err := DecodeRequest([]byte(body), Limits{})
	if err != nil {
		return err
	}
	a, err := s.Recommend(context.Background(), "films", films(1, 30), req, fmt.Sprint("key ", n), body)
	if err != nil {
		return err
	}
	_, err = s.Feedback(context.Background(), "films", []Feedback{{ID: a.Slates[0].ID, Rewards: rewardsOf(n)}})
	return err
}

// forgets reports whether a deed forgets its user.
func forgets(n int) bool { return n%9 == 8 }

// rewardsOf returns the one to three rewards of a deed.
func rewardsOf(n int) []float64 {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	all := make([]float64, 1+r.IntN(3))
	for i := range all {
		all[i] = r.Float64()
	}
	return all
}

// childhood runs deeds from 1 on until all are done or the process is killed.
func childhood(c *crashtest.Child) error {
	first, err := strconv.Atoi(c.Args[1])
	if err != nil {
		return err
	}
	s, err := Open(c.Args[0], &Options{Logged: killLogged, noSync: true, step: func(step string) error { c.Print(step); return nil }})
	if err != nil {
		return err
	}
	defer s.Close()
	for n := first; n < lastDeed; n++ {
		if err := deed(s, n); err != nil {
			return fmt.Errorf("deed %d: %w", n, err)
		}
		c.Print(fmt.Sprint(crashtest.StepDone, n))
	}
	return nil
}

// TestKill kills a process again and again at random steps, half of the time at an exact one.
// Everything acknowledged exists afterwards, bit for bit, and repeated deeds count once: in
// the end the states are those of a process that was never killed.
func TestKill(t *testing.T) {
	most := 60
	if testing.Short() {
		most = 8
	}
	whole := open(t, Options{Logged: killLogged})
	want := make([][]int64, 1, lastDeed+1) // number of observations of each user after so many deeds
	want[0] = make([]int64, killUsers)
	for n := range lastDeed {
		if err := deed(whole.Store, n); err != nil {
			t.Fatal(err)
		}
		next := append([]int64(nil), want[n]...)
		if next[n%killUsers] += int64(len(rewardsOf(n))); forgets(n) {
			next[n%killUsers] = 0
		}
		want = append(want, next)
	}
	r := rand.New(rand.NewPCG(6, 1))
	f := &folder{t: t, path: whole.path + ".killed", o: Options{Logged: killLogged, noSync: true}}
	at := map[string]int{}
	kills, did := 0, 0
	for ; did < lastDeed && kills < most; kills++ {
		life := crashtest.Run(t, 1+r.IntN(14), r.IntN(2) == 0, f.path, fmt.Sprint(did))
		did = life.NextStep(did)
		at[strings.TrimRight(life.Last(), " 0123456789")]++
		if r.IntN(3) == 0 {
			continue // the next process finds what this one left
		}
		f.Store = nil
		f.reopen()
		got := f.observations(t)
		if fmt.Sprint(got) != fmt.Sprint(want[did]) && (did == lastDeed || fmt.Sprint(got) != fmt.Sprint(want[did+1])) {
			t.Fatalf("killed at %q after %d deeds: %v observations, want %v", life.Last(), did, got, want[did])
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
	if got, want := fmt.Sprint(f.info()), fmt.Sprint(whole.info()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
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

// bytesOf returns the encoded state of a user.
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
