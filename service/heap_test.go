package service

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestHeapIsReturned: what a process no longer uses is returned once, when it is at rest; what it
// goes on to use is no reason to try again.
func TestHeapIsReturned(t *testing.T) {
	const mib = 1 << 20
	var held, allocated, garbage int64
	freed, busy := 0, false
	h := &heap{
		read: func() (int64, int64) { return held, allocated },
		free: func() { freed++; held -= garbage; garbage = 0 },
		busy: func() bool { return busy },
		base: 100 * mib,
	}
	for _, step := range []struct {
		what                     string
		allocates, grows, unused int64 // MiB
		frees                    int   // so far
		busy                     bool
	}{
		{"at rest", 0, 100, 0, 0, false},
		{"a large request", 900, 900, 800, 0, false},
		{"and a second", 50, 0, 0, 0, false},
		{"whose answer is being read", 0, 0, 0, 0, true},
		{"at rest again", 0, 0, 0, 1, false},
		{"and again", 1, 0, 0, 1, false},
		{"a little is no reason", 0, 31, 31, 1, false},
		{"until it is much", 0, 1, 1, 2, false},
		{"a collection is loaded", 500, 500, 0, 2, false},
		{"it stays", 0, 0, 0, 3, false},
		{"nothing is new", 0, 0, 0, 3, false},
		{"the collection is deleted", 0, -600, 0, 3, false},
		{"another request", 200, 200, 200, 3, false},
		{"at rest at last", 0, 0, 0, 4, false},
	} {
		allocated += step.allocates * mib
		held += step.grows * mib
		garbage += step.unused * mib
		busy = step.busy
		if h.look(); freed != step.frees {
			t.Fatalf("%s: freed %d times, want %d", step.what, freed, step.frees)
		}
	}
	if held != 100*mib {
		t.Errorf("%d MiB are held, want what is in use", held/mib)
	}
}

// TestProcessReturnsMemory: the memory that a process has used is the system's again.
func TestProcessReturnsMemory(t *testing.T) {
	debug.FreeOSMemory()
	h := newHeap(func() bool { return false })
	const size = 256 << 20
	used := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		used[i] = 1
	}
	most, _ := h.read()
	runtime.KeepAlive(used)
	for range 2 { // the first look sees what was allocated
		h.look()
	}
	if least, _ := h.read(); most-least < size*9/10 {
		t.Errorf("%d bytes were held, and %d at rest", most, least)
	}
}
