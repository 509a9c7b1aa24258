package command

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"thresher/choice/command/internal/ratings"
	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// ratingsFolder has three films: of 40 people, 32 prefer b to a and c, 4 do the opposite, 4
// rate them equally; 30 prefer a to c.
func ratingsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var table strings.Builder
	for user := range 40 {
		a, b, c := 3, 5, 2
		switch {
		case user < 4:
			b = 1
		case user < 8:
			b, c = 3, 3
		case user < 14:
			c = 4
		}
		fmt.Fprintf(&table, "%d,1,%d\n%d,2,%d\n%d,3,%d\n", user, a, user, b, user, c)
	}
	clitest.WriteFile(t, dir, "movies.dat", []byte("1::a::x\n2::b::x\n3::c::x\n4::d::x\n"))
	clitest.WriteFile(t, dir, "ratings.csv", []byte("user,movie,rating\n"+table.String()+"99,4,1\n"))
	return dir
}

func TestDuelRatings(t *testing.T) {
	films := ratingsFolder(t)
	state := filepath.Join(films, "films.duel")
	args := []string{"--ratings", films, "--most=3", "--horizon=1e5", "--state", state, "--testing=sweep"}
	r := duelRun(t, "", args...)
	r.WantCode(t, cli.ExitOK)
	for _, want := range []string{"winner     b\n", "one arm left", "36 to 36, of which", "10%, who rated both alike", "b wins against every other, with 88.9% or more; closest is "} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.Out)
		}
	}
	again := duelRun(t, "", args...)
	again.WantCode(t, cli.ExitOK)
	if again.Out != r.Out {
		t.Errorf("the same again\n%s\nwas\n%s", again.Out, r.Out)
	}
	// An interrupted run that is resumed ends like an uninterrupted one.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	args[5] = filepath.Join(films, "interrupted.duel")
	thresherWith(t, ctx, "", append([]string{"duel", "run"}, args...)...).WantCode(t, cli.ExitInterrupted)
	if r2 := duelRun(t, "", args...); r2.Out != r.Out {
		t.Errorf("interrupted\n%s\nwas\n%s", r2.Out, r.Out)
	}
	// Films that nobody compared are refused, and leave no state.
	arms := armsFile(t, films, "a", "b", "d")
	duelRun(t, "", "--ratings", films, "--arms", arms, "--horizon=1e5").WantError(t, `nobody rated "a" and "d" differently, nor 1 other pairs`)
	if clitest.Exists(arms + ".duel") {
		t.Error("a refused tournament left a state")
	}
}

// Judges are drawn in proportion to their numbers: a deviation of 6 standard deviations
// occurs once in 10^9 seeds.
func TestCrowdIsFair(t *testing.T) {
	c := crowdOf(t, ratingsFolder(t))
	const duels = 20000
	wins := 0
	for id := range uint64(duels) {
		if c.judge(duel.Duel{ID: id, A: 1, B: 0}).AWon {
			wins++
		}
	}
	const p = 32. / 36
	if off := (float64(wins) - duels*p) / math.Sqrt(duels*p*(1-p)); math.Abs(off) > 6 {
		t.Errorf("%d of %d, %.1f standard deviations off", wins, duels, off)
	}
}

func crowdOf(t *testing.T, folder string) *crowd {
	t.Helper()
	all, err := ratings.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCrowd(all, duel.Config{Arms: []string{"a", "b", "c"}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
