package service

import (
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"thresher/service/extension"
)

// TestDivide: the shares are the memory, limits bound them, and collections have what is left.
func TestDivide(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	shared := func(notes, tallies int64) []extension.Share {
		return []extension.Share{{Name: "notes", Limit: notes}, {Name: "tallies", Limit: tallies}}
	}
	for _, x := range []struct {
		what       string
		memory     int64
		limits     Limits
		extensions Extensions
		want       Shares
		unused     int64
	}{
		{"1 GiB", gib, Limits{}, extensions(), Shares{448 * mib, 64 * mib, 128 * mib, 128 * mib, shared(64*mib, 64*mib), 128 * mib}, 0},
		{"16 GiB", 16 * gib, Limits{}, extensions(), Shares{10752 * mib, 512 * mib, 256 * mib, 2 * gib, shared(256*mib, 512*mib), 2 * gib}, 0},
		{"a terabyte", 1024 * gib, Limits{}, extensions(), Shares{1024*gib - 7680*mib, 512 * mib, 256 * mib, 4 * gib, shared(256*mib, 512*mib), 2 * gib}, 0},
		{"what limits leave goes to collections", gib, Limits{Answers: mib}, Extensions{&notes{}, &tallies{memory: 2 * mib}}, Shares{637 * mib, 64 * mib, mib, 128 * mib, shared(64*mib, 2*mib), 128 * mib}, 0},
		{"unless they have a limit", gib, Limits{Memory: 100 * mib}, extensions(), Shares{100 * mib, 64 * mib, 128 * mib, 128 * mib, shared(64*mib, 64*mib), 128 * mib}, 348 * mib},
		{"limits above their shares", gib, Limits{Memory: 2 * gib, Bodies: gib}, extensions(), Shares{448 * mib, 64 * mib, 128 * mib, 128 * mib, shared(64*mib, 64*mib), 128 * mib}, 0},
	} {
		got, sum := Divide(x.memory, x.limits, x.extensions), int64(0)
		if !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s: %+v, want %+v", x.what, got, x.want)
		}
		for _, n := range got.Names() {
			sum += n
		}
		if sum != x.memory-x.unused {
			t.Errorf("%s: the shares sum up to %d", x.what, sum)
		}
	}
	if s := Divide(0, Limits{Memory: 7, Answers: 9}, nil); s.Collections != 7 || s.Answers != 9 {
		t.Errorf("without memory: %+v", s)
	}
}

// TestMemoryDecides: what exceeds a share of the memory is refused with the setting that makes the
// share larger, and nothing is larger than its share.
func TestMemoryDecides(t *testing.T) {
	s := start(t, func(o *Options) { o.Memory = 16 << 20 })
	s.fill()
	row := "[" + strings.Repeat("1,", dim-1) + "1],"
	p := s.do("POST", searchFilms, `{"queries":[`+strings.TrimSuffix(strings.Repeat(row, 400), ",")+`],"method":"exact","k":300}`).problem(400, "over-limit")
	if !strings.Contains(p.Detail, "(memory)") || p.Limit != 2.*(1<<20) {
		t.Errorf("%+v", p)
	}
	if p := s.do("POST", searchFilms, strings.Repeat(" ", 1<<20+1)).problem(413, "body-too-large"); p.Limit != 1.*(1<<20) {
		t.Errorf("%+v", p)
	}
	if text := string(s.do("GET", "/metrics", nil).want(200).body); !strings.Contains(text, `thresher_memory_limit_bytes{share="answers"} 2.097152e+06`) ||
		!strings.Contains(text, `thresher_memory_used_bytes{share="answers"} 0`) || strings.Contains(text, `thresher_memory_used_bytes{share="collections"} 0`) {
		t.Errorf("%s", text)
	}
}

// TestSearchesWaitForMemoryToCompute: a large search waits for the memory of its run, up to the
// timeout of searches; a small one does not; and all is given back.
func TestSearchesWaitForMemoryToCompute(t *testing.T) {
	large := npy(gaussian(2, 100*dim), dim)
	search := func(s *site) *answer {
		return s.do("POST", searchFilms+"?k=300&method=exact", large, "Content-Type", npyType)
	}
	s := start(t, func(o *Options) { o.Memory = 64 << 20 })
	s.fill()
	all := s.o.shares.Computing
	other := s.computing.Hold("address 127.0.0.1", all, nil)
	for _, n := range []int64{512 << 10, all} { // the floor of the client, too
		if err := other.Grow(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Settle(); err != nil {
		t.Fatal(err)
	}
	inTime(t, func(deadline time.Duration) (late bool) {
		s.o.Timeouts.Search = deadline
		p := search(s).problem(504, "deadline")
		return !strings.Contains(p.Detail, "memory to compute") || p.Limit != float64(all)
	})
	s = start(t, func(o *Options) { o.Memory = 64 << 20 })
	s.fill()
	done := make(chan *answer, 1)
	begun, release := s.held()
	defer release()
	go func() { done <- search(s) }()
	<-begun
	if s.computing.Used() == 0 {
		t.Error("a search computes in no memory")
	}
	release()
	(<-done).want(http.StatusOK)
	for s.computing.Used()+s.answers.Used()+s.bodies.Used() > 0 {
		runtime.Gosched()
	}
}
