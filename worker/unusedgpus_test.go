//go:build unix

package worker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
)

// TestUnusedGPUs: a client learns why GPUs do not search, from what it may ask for and from each collection,
// which stays on the fallback for a reason of its own.
func TestUnusedGPUs(t *testing.T) {
	o := testOptions(t)
	device := o.Device
	o.Device = func(ctx context.Context, name string, threads int, c *collection.Collection) (*Device, error) {
		d, err := device(ctx, name, threads, c)
		d.Engine = &batch.Options{Fallback: d.Backend}
		d.Backend = full{d.Backend}
		d.Unused = func(instead error) []string { return []string{"device 1: old", instead.Error()} }
		return d, err
	}
	o.Devices = func(probe bool) []Listed {
		if probe {
			return []Listed{{Name: "cuda", Missing: "full", GPUUnused: []string{"device 0: full"}}}
		}
		return []Listed{{Name: "cuda", Device: "device 0"}}
	}
	c := newClient(t, o)
	var known, tried struct {
		Devices []Listed `json:"devices"`
	}
	c.must(&known, "hello", object{"protocol": Protocol})
	c.must(&tried, "devices", object{})
	if known.Devices[0].Device != "device 0" || known.Devices[0].GPUUnused != nil || tried.Devices[0].Missing != "full" || !slices.Equal(tried.Devices[0].GPUUnused, []string{"device 0: full"}) {
		t.Errorf("known %+v, tried %+v", known, tried)
	}
	var made about
	c.must(&made, "build", object{"metric": "ip"}, floats("vectors", 100, 32, randomRows(1, 100, 32)))
	if len(made.GPUUnused) != 2 || made.GPUUnused[0] != "device 1: old" || !strings.Contains(made.GPUUnused[1], backend.ErrMemory.Error()) || made.Device != "cpu" {
		t.Errorf("%+v", made)
	}
	if r := c.call("devices", object{"probe": true}); r.Error == nil || r.Error.Kind != badInput || r.Error.Argument != "probe" {
		t.Errorf("%+v", r)
	}
}

// full is a backend that can hold nothing.
type full struct{ backend.Backend }

func (full) Load(context.Context, *collection.Collection) (backend.Resident, error) {
	return nil, backend.ErrMemory
}
