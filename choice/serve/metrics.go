package serve

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"thresher/service/metrics"
)

// Metrics count what both extensions do. They implement tournaments.Watch.
type Metrics struct {
	label       func(collection string) string
	seconds     *prometheus.HistogramVec // collection, algo
	slates      *prometheus.CounterVec   // collection, algo
	evaluations *prometheus.CounterVec   // collection, algo
	feedback    *prometheus.CounterVec   // collection
	rewards     *prometheus.CounterVec   // collection
	duelsIssued prometheus.Counter
	results     *prometheus.CounterVec // status

	states gauges
}

// NewMetrics registers the metrics with r. Their collections have the labels of m, which forgets them.
// It fails if r already has some of the names.
func NewMetrics(r prometheus.Registerer, m *metrics.Metrics) (*Metrics, error) {
	of := []string{"collection", "algo"}
	own := &Metrics{
		label: m.Label,
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "thresher_slate_seconds", Help: "Time of requests for slates, without what they waited.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 2.5, 12), // to 24 s
		}, of),
		slates:      counter("thresher_slates_total", "Slates issued.", of...),
		evaluations: counter("thresher_slate_evaluations_total", "Items scored for slates.", of...),
		feedback:    counter("thresher_slate_observations_total", "Rewards of items that were taken.", "collection"),
		rewards:     counter("thresher_slate_rewards_total", "Sum of the rewards that were taken.", "collection"),
		duelsIssued: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "thresher_duels_handed_out_total", Help: "Issued duels of tournaments, counted each time they are issued.",
		}),
		results: counter("thresher_duel_results_total", "Results of duels, by what became of them.", "status"),
		states:  newGauges(),
	}
	m.OnForget(own.forget)
	var err error
	for _, c := range []prometheus.Collector{own.seconds, own.slates, own.evaluations, own.feedback, own.rewards, own.duelsIssued, own.results, &own.states} {
		err = errors.Join(err, r.Register(c))
	}
	return own, err
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// forget removes the series of a collection.
func (m *Metrics) forget(collection string) {
	gone := prometheus.Labels{"collection": collection}
	m.seconds.DeletePartialMatch(gone)
	for _, v := range []*prometheus.CounterVec{m.slates, m.evaluations, m.feedback, m.rewards} {
		v.DeletePartialMatch(gone)
	}
}

// slated counts an answered request for slates.
func (m *Metrics) slated(collection, algo string, took time.Duration, slates, evaluations int) {
	collection = m.label(collection)
	m.seconds.WithLabelValues(collection, algo).Observe(took.Seconds())
	m.slates.WithLabelValues(collection, algo).Add(float64(slates))
	m.evaluations.WithLabelValues(collection, algo).Add(float64(evaluations))
}

// rewarded counts accepted rewards and adds up their values.
func (m *Metrics) rewarded(collection string, rewards int, sum float64) {
	collection = m.label(collection)
	m.feedback.WithLabelValues(collection).Add(float64(rewards))
	m.rewards.WithLabelValues(collection).Add(sum)
}

// DuelsIssued counts issued duels.
func (m *Metrics) DuelsIssued(duels int) { m.duelsIssued.Add(float64(duels)) }

// Reported counts results of duels with a status.
func (m *Metrics) Reported(status string, results int) {
	m.results.WithLabelValues(status).Add(float64(results))
}

// watchTournaments has scrapes call counts, which returns the number of tournaments in each status.
func (m *Metrics) watchTournaments(counts func() map[string]int) {
	m.states.tournaments.Store(&counts)
}

// watchSlates has scrapes call bytes, which returns the bytes in memory for slates.
func (m *Metrics) watchSlates(bytes func() int64) { m.states.slates.Store(&bytes) }

// gauges are read at every scrape; there are none before the stores are open.
type gauges struct {
	tournaments atomic.Pointer[func() map[string]int]
	slates      atomic.Pointer[func() int64]

	byStatus, memory *prometheus.Desc
}

func newGauges() gauges {
	return gauges{
		byStatus: prometheus.NewDesc("thresher_tournaments", "Tournaments by status.", []string{"status"}, nil),
		memory:   prometheus.NewDesc("thresher_slate_memory_bytes", "Memory of users' states and of items prepared for slates.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.byStatus
	ch <- g.memory
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(ch chan<- prometheus.Metric) {
	if counts := g.tournaments.Load(); counts != nil {
		for status, n := range (*counts)() {
			ch <- prometheus.MustNewConstMetric(g.byStatus, prometheus.GaugeValue, float64(n), status)
		}
	}
	if bytes := g.slates.Load(); bytes != nil {
		ch <- prometheus.MustNewConstMetric(g.memory, prometheus.GaugeValue, float64((*bytes)()))
	}
}
