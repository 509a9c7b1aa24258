package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestIdle frees a collection while a call is in progress and another begins soon after it: memory
// goes back once, a second after the last one ended.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []time.Duration
		began := time.Now()
		w := &idle{give: func() { given = append(given, time.Since(began)) }}
		defer w.close()
		w.freed(returnedBytes - 1) // too little
		time.Sleep(3 * time.Second)
		w.begin()
		w.freed(returnedBytes)
		time.Sleep(1500 * time.Millisecond)
		w.freed(returnedBytes)
		w.end()
		time.Sleep(900 * time.Millisecond)
		w.begin()
		w.end() // at 5.4 s
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := 6400 * time.Millisecond; len(given) != 1 || given[0] != want {
			t.Errorf("memory went back at %v; want once, at %v", given, want)
		}
		w.freed(returnedBytes)
		w.close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(given) != 1 {
			t.Errorf("memory went back at %v, after close", given)
		}
	})
}
