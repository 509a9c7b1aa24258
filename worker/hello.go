package worker

import (
	"context"
	"math"
	"os"

	"thresher/batch"
	"thresher/collection"
)

// notKnown stands for a figure that is not known.
var notKnown = math.NaN()

// hello says what the worker is, and refuses clients that speak another protocol.
func (c *call) hello(context.Context) (any, *reply, error) {
	var f struct {
		Protocol int `json:"protocol"`
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	if f.Protocol != Protocol {
		return nil, nil, wrong("protocol", "the client speaks version %d; the worker, thresher %s, version %d", f.Protocol, c.s.o.Version, Protocol).within(Protocol)
	}
	return struct {
		Protocol int      `json:"protocol"`
		Version  string   `json:"version"`
		PID      int      `json:"pid"`
		Devices  []Listed `json:"devices"`
		Metrics  []string `json:"metrics"`
		// MetricNames are all names of metrics, in plain form, and which each stands for.
		MetricNames  map[string]string     `json:"metric_names"`
		MetricChoice string                `json:"metric_choice"`
		Methods      []batch.Method        `json:"methods"`
		Guarantees   []batch.Guarantee     `json:"guarantees"`
		Laws         []batch.Law           `json:"laws"`
		Stops        []batch.Stop          `json:"stops"`
		Records      map[dtype][][2]string `json:"records"`
		// CompactArrays and CompactTypes are what the numbers in compact headers stand for.
		CompactArrays []string `json:"compact_arrays"`
		CompactTypes  []dtype  `json:"compact_types"`
	}{Protocol, c.s.o.Version, os.Getpid(), c.s.o.Devices(false), collection.Metrics(), metricNames(), collection.MetricChoice, batch.Methods(), batch.Guarantees(), batch.Laws(), stops(), layouts(), arrayNames, arrayTypes}, nil, nil
}

// Listed is a device as hello lists it.
type Listed struct {
	Name    string `json:"name"`
	Device  string `json:"device,omitempty"`
	Threads int    `json:"threads,omitempty"`
	Missing string `json:"missing,omitempty"` // why it cannot search
	// GPUUnused says of each GPU that is there and cannot be used why, and what to do about it.
	GPUUnused []string `json:"gpu_unused,omitempty"`
}

// devices lists what can search, after trying it.
func (c *call) devices(context.Context) (any, *reply, error) {
	if err := c.fields(&struct{}{}); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	return struct {
		Devices []Listed `json:"devices"`
	}{c.s.o.Devices(true)}, nil, nil
}

// memory says what one piece of work may take.
func (c *call) memory(context.Context) (any, *reply, error) {
	if err := c.fields(&struct{}{}); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	var spare int64
	if c.s.o.Spare != nil {
		spare = c.s.o.Spare()
	}
	return struct {
		Available int64 `json:"available,omitempty"`
	}{spare}, nil, nil
}

// metricNames returns the names of collection.MetricNames and what the metrics are called here.
func metricNames() map[string]string {
	names := map[string]string{}
	for name, m := range collection.MetricNames() {
		names[name] = m.String()
	}
	return names
}
