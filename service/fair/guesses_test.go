package fair

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"
)

// clocked returns guesses whose time stands still until it is moved.
func clocked(clients, uses int) (*Guesses, *time.Time) {
	now := time.Unix(1000, 0)
	return NewGuesses(GuessesOptions{Rate: 1, Burst: 3, Clients: clients, Uses: uses, Now: func() time.Time { return now }}), &now
}

func secret(name string) [sha256.Size]byte { return sha256.Sum256([]byte(name)) }

// TestGuessesAreSlowed: after a burst one wrong secret a second is looked at; meanwhile right
// ones pass only where they were right before.
func TestGuessesAreSlowed(t *testing.T) {
	g, now := clocked(10, 10)
	if ok, _ := g.Right("office", secret("known")); !ok {
		t.Error("the first secret is refused")
	}
	for i := range 3 {
		if ok, last, _ := g.Wrong("office"); !ok || last != (i == 2) {
			t.Errorf("wrong secret %d: looked at %v, the last %v", i, ok, last)
		}
	}
	if ok, _, retry := g.Wrong("office"); ok || retry != time.Second {
		t.Errorf("looked at %v, again in %s", ok, retry)
	}
	if ok, retry := g.Right("office", secret("guessed")); ok || retry != time.Second {
		t.Errorf("a right guess is accepted: %v, again in %s", ok, retry)
	}
	if ok, _ := g.Right("office", secret("known")); !ok {
		t.Error("the mistakes of others stop one who was there before")
	}
	if ok, _ := g.Right("home", secret("guessed")); !ok {
		t.Error("another client is stopped")
	}
	*now = now.Add(time.Second)
	if ok, last, _ := g.Wrong("office"); !ok || last {
		t.Errorf("a second later: looked at %v, told again that it was the last %v", ok, last)
	}
	*now = now.Add(time.Second)
	if ok, _ := g.Right("office", secret("guessed")); !ok {
		t.Error("a right secret is refused after the pause")
	}
	*now = now.Add(time.Minute)
	for i := range 3 {
		if ok, last, _ := g.Wrong("office"); !ok || last != (i == 2) {
			t.Errorf("after a long pause, wrong secret %d: looked at %v, the last %v", i, ok, last)
		}
	}
}

// TestGuessesAreBounded: clients beyond the number share a bucket, and are remembered once
// others have been quiet; right secrets are forgotten rather than kept without bound.
func TestGuessesAreBounded(t *testing.T) {
	g, now := clocked(2, 3)
	for i := range 5 {
		if ok, _, _ := g.Wrong(fmt.Sprint(i)); !ok {
			t.Errorf("client %d has to wait", i)
		}
	}
	if ok, _, _ := g.Wrong("new"); ok {
		t.Error("clients beyond the number have a bucket each")
	}
	if ok, _, _ := g.Wrong("0"); !ok {
		t.Error("a remembered client waits for others")
	}
	*now = now.Add(time.Minute)
	if ok, _, _ := g.Wrong("new"); !ok || g.wrong["new"] == nil || len(g.wrong) > 2 {
		t.Errorf("looked at %v, clients %v", ok, g.wrong)
	}
	for i := range 100 {
		g.Right("reader", secret(fmt.Sprint(i)))
	}
	if len(g.right) != 3 {
		t.Errorf("%d right secrets are kept", len(g.right))
	}
}
