//go:build unix

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
	const n, dim, m, k = 4000, 256, 9, 5
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
			want = r.bytes["rows"]
		}
		if d := cmp.Diff(want, r.bytes["rows"]); d != "" {
			t.Errorf("once %v: ids: %s", x.once, d)
		}
	}
	for method, plain := range map[string]bool{"auto": true, "exact": true, "adaptive": false} {
		var reply searched
		r := c.must(&reply, "knn", object{"metric": "ip", "device": "cpu", "k": k, "method": method}, floats("vectors", n, dim, rows), floats("queries", m, dim, queries))
		if got := slices.Equal(reply.Plans, []string{"dense, no building"}); got != plain || reply.K != k || !reply.Complete {
			t.Errorf("knn by %s: %+v", method, reply)
		}
		if d := cmp.Diff(want, r.bytes["rows"]); d != "" {
			t.Errorf("knn by %s: ids: %s", method, d)
		}
	}
	for argument, bad := range map[string]object{"handle": {"k": k, "handle": 7}, "metric": {"k": k, "metric": "x"}, "k": {"k": -1}, "limit": {"k": k, "limit": 3}} {
		if _, given := bad["metric"]; !given {
			bad["metric"] = "ip"
		}
		bad["device"] = "cpu"
		if r := c.call("knn", bad, floats("vectors", n, dim, rows), floats("queries", m, dim, queries)); r.Error == nil || r.Error.Argument != argument {
			t.Errorf("knn of %v: %+v", bad, r.Error)
		}
	}
	if r := c.call("knn", object{"metric": "ip", "device": "cpu", "k": k}, floats("vectors", n, dim, rows), floats("queries", m, dim/2, queries[:m*dim/2])); r.Error == nil || r.Error.Argument != "queries" {
		t.Errorf("knn of short queries: %+v", r.Error)
	}
	if r := c.call("build", object{"metric": "ip", "once": object{"queries": -1, "k": k, "method": "auto"}}, floats("vectors", n, dim, rows)); r.Error == nil || r.Error.Argument != "once" {
		t.Errorf("-1 queries: %+v", r.Error)
	}
	c.finish()
	if len(c.child.registry.by) != 5 {
		t.Errorf("%d collections are left, 5 were built", len(c.child.registry.by))
	}
	if device != "cpu" {
		t.Errorf("costs of device %q", device)
	}
}
