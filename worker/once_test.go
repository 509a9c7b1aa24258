package worker

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/backend"
	"thresher/cpu"
)

// TestOnce builds codes of vectors that are searched once only where that pays, with the same answers.
func TestOnce(t *testing.T) {
	const n, dim, m, k = 2000, 32, 9, 5
	rows, queries := randomRows(1, n, dim), randomRows(2, m, dim)
	o := testOptions(t)
	device := "not asked for"
	o.Costs = func(_ context.Context, name string) (*backend.Costs, error) {
		device = name
		if name == "cuda" {
			return nil, nil
		}
		costs := backend.Describe(cpu.New(cpu.Options{Threads: 1})).Costs
		return &costs, nil
	}
	c := newClient(t, o)
	var want []byte
	for _, x := range []struct {
		once  any
		plain bool // no codes
	}{
		{nil, false},
		{object{"queries": m, "k": k, "method": "auto"}, true},
		{object{"queries": 1 << 40, "k": k, "method": "auto"}, false},
		{object{"queries": 1 << 40, "k": k, "method": "exact"}, true},
		{object{"queries": 1, "k": k, "method": "adaptive"}, false},
	} {
		var info about
		c.must(&info, "build", object{"metric": "ip", "device": "cpu", "once": x.once}, floats("vectors", n, dim, rows))
		var reply searched
		r := c.must(&reply, "search", object{"handle": info.Handle, "k": k, "method": "certain"}, floats("queries", m, dim, queries))
		if plain := slices.Equal(reply.Plans, []string{"dense, no building"}); plain != x.plain {
			t.Errorf("once %v: plans %q", x.once, reply.Plans)
		}
		if want == nil {
			want = r.bytes["ids"]
		}
		if d := cmp.Diff(want, r.bytes["ids"]); d != "" {
			t.Errorf("once %v: ids: %s", x.once, d)
		}
	}
	if device != "cpu" {
		t.Errorf("costs of device %q", device)
	}
	if r := c.call("build", object{"metric": "ip", "once": object{"queries": -1, "k": k, "method": "auto"}}, floats("vectors", n, dim, rows)); r.Error == nil || r.Error.Argument != "once" {
		t.Errorf("-1 queries: %+v", r.Error)
	}
}
