package fair

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestRate: in any interval a client gets no more queries than its burst and its rate allow,
// independently of other clients; a request at the time of RetryAfter succeeds.
func TestRate(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rate := float64(rapid.IntRange(1, 100).Draw(r, "rate"))
		burst := rapid.IntRange(1, 200).Draw(r, "burst")
		asks := rapid.SliceOfN(rapid.IntRange(1, burst), 1, 40).Draw(r, "asks")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 2000), 40, 40).Draw(r, "gaps")
		synctest.Test(t, func(t *testing.T) {
			l := NewLimits(LimitsOptions{Rate: rate, Burst: burst})
			began, given := time.Now(), 0
			for i, n := range asks {
				time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
				err := l.Ask("a", n)
				var late *LimitError
				if errors.As(err, &late) {
					if late.RetryAfter <= 0 || late.Limit != rate {
						t.Fatalf("%+v", late)
					}
					time.Sleep(late.RetryAfter + time.Microsecond)
					err = l.Ask("a", n)
				}
				if err != nil {
					t.Fatalf("as it was told to come: %v", err)
				}
				given += n
				if most := float64(burst) + rate*time.Since(began).Seconds() + 1e-3; float64(given) > most {
					t.Fatalf("given %d, the most is %g", given, most)
				}
			}
			if err := l.Ask("b", burst); err != nil {
				t.Errorf("another client: %v", err)
			}
			var never *LimitError
			if err := l.Ask("c", burst+1); !errors.As(err, &never) || never.RetryAfter >= 0 {
				t.Errorf("more than a burst: %v", err)
			}
		})
	})
}

// TestSearchesAtOnce: a client has a number of concurrent searches, and gets each back when
// it ends.
func TestSearchesAtOnce(t *testing.T) {
	l := NewLimits(LimitsOptions{Searches: 2})
	var ends []func()
	for range 2 {
		end, err := l.Begin("a")
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	var most *LimitError
	if _, err := l.Begin("a"); !errors.As(err, &most) || most.Limit != 2 {
		t.Errorf("a third: %v", err)
	}
	if _, err := l.Begin("b"); err != nil {
		t.Errorf("another client: %v", err)
	}
	ends[0]()
	ends[0]()
	if _, err := l.Begin("a"); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
	if _, err := l.Begin("a"); err == nil {
		t.Error("an end counts twice")
	}
}

// TestClientsAreForgotten: clients whose limits are unused are forgotten.
func TestClientsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimits(LimitsOptions{Rate: 1, Burst: 2})
		if err := l.Ask("late", 2); err != nil {
			t.Fatal(err)
		}
		for i := range 10 * minRemembered {
			if err := l.Ask(fmt.Sprint(i), 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(l.clients); n > 2*minRemembered {
			t.Errorf("%d clients are remembered", n)
		}
		if err := (&Limits{clients: map[string]*allowance{}}).Ask("a", 1<<30); err != nil {
			t.Errorf("without a rate: %v", err)
		}
	})
}
