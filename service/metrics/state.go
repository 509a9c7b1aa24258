package metrics

import "github.com/prometheus/client_golang/prometheus"

// State is what is asked of a server when its metrics are.
type State struct {
	// Jobs counts batches by status.
	Jobs func() map[string]int
	// Tournaments counts tournaments by status; nil for none.
	Tournaments func() map[string]int
	// Collections gives the bytes of each collection in memory, by name.
	Collections func() map[string]int64
	// SlateMemory gives the bytes of what is in memory for slates; nil for none.
	SlateMemory func() int64
	// Found counts what the data folder held at the start that the database did not know, by
	// kind; nil for none.
	Found func() map[string]int
	// Backend and Device name what searches.
	Backend, Device string
}

// Watch has r ask for s.
func Watch(r prometheus.Registerer, s State) error { return r.Register(&watcher{s, descriptions()}) }

type watcher struct {
	state State
	desc  described
}

type described struct{ jobs, tournaments, bytes, slates, found, backend *prometheus.Desc }

func descriptions() described {
	return described{
		jobs:        prometheus.NewDesc("thresher_jobs", "Batches by status.", []string{"status"}, nil),
		tournaments: prometheus.NewDesc("thresher_tournaments", "Tournaments by status.", []string{"status"}, nil),
		bytes:       prometheus.NewDesc("thresher_collection_bytes", "Memory of a collection.", []string{"collection"}, nil),
		slates:      prometheus.NewDesc("thresher_slate_memory_bytes", "Memory of users' states and of items prepared for slates.", nil, nil),
		found:       prometheus.NewDesc("thresher_found", "What the data folder held at the start that the database did not know, by kind.", []string{"kind"}, nil),
		backend:     prometheus.NewDesc("thresher_backend_info", "What searches; always 1.", []string{"backend", "device"}, nil),
	}
}

// Describe implements prometheus.Collector.
func (w *watcher) Describe(ch chan<- *prometheus.Desc) {
	ch <- w.desc.jobs
	ch <- w.desc.tournaments
	ch <- w.desc.bytes
	ch <- w.desc.slates
	ch <- w.desc.found
	ch <- w.desc.backend
}

// Collect implements prometheus.Collector.
func (w *watcher) Collect(ch chan<- prometheus.Metric) {
	for status, n := range w.state.Jobs() {
		ch <- prometheus.MustNewConstMetric(w.desc.jobs, prometheus.GaugeValue, float64(n), status)
	}
	if w.state.Tournaments != nil {
		for status, n := range w.state.Tournaments() {
			ch <- prometheus.MustNewConstMetric(w.desc.tournaments, prometheus.GaugeValue, float64(n), status)
		}
	}
	for name, b := range w.state.Collections() {
		ch <- prometheus.MustNewConstMetric(w.desc.bytes, prometheus.GaugeValue, float64(b), name)
	}
	if w.state.SlateMemory != nil {
		ch <- prometheus.MustNewConstMetric(w.desc.slates, prometheus.GaugeValue, float64(w.state.SlateMemory()))
	}
	if w.state.Found != nil {
		for kind, n := range w.state.Found() {
			ch <- prometheus.MustNewConstMetric(w.desc.found, prometheus.GaugeValue, float64(n), kind)
		}
	}
	ch <- prometheus.MustNewConstMetric(w.desc.backend, prometheus.GaugeValue, 1, w.state.Backend, w.state.Device)
}
