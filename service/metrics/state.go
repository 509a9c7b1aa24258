package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ServerState is read from the server at every scrape.
type ServerState struct {
	// Memory returns the shares of the server's memory, in bytes, and what of each is in use, by
	// name; a share of 0 has no limit. nil if there are none.
	Memory func() (limits, used map[string]int64)
	// Jobs counts batches by status.
	Jobs func() map[string]int
	// Collections returns the state of each collection, by name, and Label the label of its
	// series; nil gives each a label of its own.
	Collections func() map[string]Collection
	Label       func(collection string) string
	// Waiting counts waiting requests, by what they wait for; nil if there are none.
	Waiting func() map[string]int
	// Version, Revision and Go describe the build.
	Version, Revision, Go string
	// Found counts differences between the data folder and the database at the start, by
	// kind; nil if there are none.
	Found func() map[string]int
	// Backups counts the backups since the start, by how they ended, and says when the newest one
	// without damage was made, the zero time if there is none; nil if the server makes none.
	Backups func() (ended map[string]int, newest time.Time)
	// Backend and Device name the backend that searches.
	Backend, Device string
}

// Collection is the state of a collection.
type Collection struct {
	Bytes int64  // memory
	State string // one of CollectionStates
}

// CollectionStates are the states of collections: those of the API; updating, ready while its
// next version is built; and stale, ready while its last change failed.
func CollectionStates() []string {
	return []string{"building", "loading", "ready", "updating", "stale", "failed"}
}

// Watch registers a collector of s with r.
func Watch(r prometheus.Registerer, s ServerState) error {
	return r.Register(&watcher{s, descriptions()})
}

type watcher struct {
	state ServerState
	desc  described
}

type described struct {
	jobs, bytes, states, state, waiting, found, backend, build, limit, used, backups, newest *prometheus.Desc
}

func descriptions() described {
	return described{
		jobs:    prometheus.NewDesc("thresher_jobs", "Batches by status.", []string{"status"}, nil),
		bytes:   prometheus.NewDesc("thresher_collection_bytes", "Memory of a collection.", []string{"collection"}, nil),
		states:  prometheus.NewDesc("thresher_collections", "Collections by state.", []string{"state"}, nil),
		state:   prometheus.NewDesc("thresher_collection_state", "The state of a collection; always 1, or how many of those that share the label are in it.", []string{"collection", "state"}, nil),
		waiting: prometheus.NewDesc("thresher_requests_waiting", "Requests that wait, by what for.", []string{"for"}, nil),
		build:   prometheus.NewDesc("thresher_build_info", "The build; always 1.", []string{"version", "revision", "goversion"}, nil),
		limit:   prometheus.NewDesc("thresher_memory_limit_bytes", "The shares of the server's memory.", []string{"share"}, nil),
		used:    prometheus.NewDesc("thresher_memory_used_bytes", "What is in use of each share of the server's memory.", []string{"share"}, nil),
		found:   prometheus.NewDesc("thresher_found", "What the data folder held at the start that the database did not know, by kind.", []string{"kind"}, nil),
		backups: prometheus.NewDesc("thresher_backups_total", "Backups by how they ended.", []string{"outcome"}, nil),
		newest:  prometheus.NewDesc("thresher_newest_backup_timestamp_seconds", "When the newest backup without damage was made; 0 if there is none.", nil, nil),
		backend: prometheus.NewDesc("thresher_backend_info", "What searches; always 1.", []string{"backend", "device"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (w *watcher) Describe(ch chan<- *prometheus.Desc) {
	ch <- w.desc.jobs
	ch <- w.desc.bytes
	ch <- w.desc.states
	ch <- w.desc.state
	ch <- w.desc.waiting
	ch <- w.desc.build
	ch <- w.desc.found
	ch <- w.desc.limit
	ch <- w.desc.used
	ch <- w.desc.backups
	ch <- w.desc.newest
	ch <- w.desc.backend
}

// Collect implements prometheus.Collector.
func (w *watcher) Collect(ch chan<- prometheus.Metric) {
	for status, n := range w.state.Jobs() {
		ch <- prometheus.MustNewConstMetric(w.desc.jobs, prometheus.GaugeValue, float64(n), status)
	}
	w.collections(ch)
	w.memory(ch)
	if w.state.Waiting != nil {
		for what, n := range w.state.Waiting() {
			ch <- prometheus.MustNewConstMetric(w.desc.waiting, prometheus.GaugeValue, float64(n), what)
		}
	}
	ch <- prometheus.MustNewConstMetric(w.desc.build, prometheus.GaugeValue, 1, w.state.Version, w.state.Revision, w.state.Go)
	if w.state.Found != nil {
		for kind, n := range w.state.Found() {
			ch <- prometheus.MustNewConstMetric(w.desc.found, prometheus.GaugeValue, float64(n), kind)
		}
	}
	if w.state.Backups != nil {
		ended, newest := w.state.Backups()
		for outcome, n := range ended {
			ch <- prometheus.MustNewConstMetric(w.desc.backups, prometheus.CounterValue, float64(n), outcome)
		}
		at := 0.
		if !newest.IsZero() {
			at = float64(newest.UnixMilli()) / 1000
		}
		ch <- prometheus.MustNewConstMetric(w.desc.newest, prometheus.GaugeValue, at)
	}
	ch <- prometheus.MustNewConstMetric(w.desc.backend, prometheus.GaugeValue, 1, w.state.Backend, w.state.Device)
}

// memory reports the shares of the memory that have a limit, and what is in use.
func (w *watcher) memory(ch chan<- prometheus.Metric) {
	if w.state.Memory == nil {
		return
	}
	limits, used := w.state.Memory()
	for share, n := range limits {
		if n > 0 {
			ch <- prometheus.MustNewConstMetric(w.desc.limit, prometheus.GaugeValue, float64(n), share)
		}
	}
	for share, n := range used {
		ch <- prometheus.MustNewConstMetric(w.desc.used, prometheus.GaugeValue, float64(n), share)
	}
}

// collections reports the state of each collection by its label, and the number of
// collections in each state.
func (w *watcher) collections(ch chan<- prometheus.Metric) {
	all := w.state.Collections()
	bytes, states := map[string]int64{}, map[[2]string]int{}
	count := map[string]int{}
	for _, state := range CollectionStates() {
		count[state] = 0
	}
	for _, name := range slices.Sorted(maps.Keys(all)) { // labels are assigned in this order
		label := name
		if w.state.Label != nil {
			label = w.state.Label(name)
		}
		bytes[label] += all[name].Bytes
		states[[2]string{label, all[name].State}]++
		count[all[name].State]++
	}
	for label, n := range bytes {
		ch <- prometheus.MustNewConstMetric(w.desc.bytes, prometheus.GaugeValue, float64(n), label)
	}
	for of, n := range states {
		ch <- prometheus.MustNewConstMetric(w.desc.state, prometheus.GaugeValue, float64(n), of[0], of[1])
	}
	for state, n := range count {
		ch <- prometheus.MustNewConstMetric(w.desc.states, prometheus.GaugeValue, float64(n), state)
	}
}
