package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// slates holds the metrics of slates.
type slates struct {
	seconds      *prometheus.HistogramVec // collection, algo
	slates       *prometheus.CounterVec   // collection, algo
	evaluations  *prometheus.CounterVec   // collection, algo
	observations *prometheus.CounterVec   // collection
	rewards      *prometheus.CounterVec   // collection
}

func newSlates() slates {
	of := []string{"collection", "algo"}
	return slates{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "thresher_slate_seconds", Help: "Time of requests for slates, without what they waited.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 2.5, 12), // to 24 s
		}, of),
		slates:       counter("thresher_slates_total", "Slates issued.", of...),
		evaluations:  counter("thresher_slate_evaluations_total", "Items scored for slates.", of...),
		observations: counter("thresher_slate_observations_total", "Rewards of items that were taken.", "collection"),
		rewards:      counter("thresher_slate_rewards_total", "Sum of the rewards that were taken.", "collection"),
	}
}

func (s *slates) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.seconds, s.slates, s.evaluations, s.observations, s.rewards}
}

// forget removes the series of a collection.
func (s *slates) forget(gone prometheus.Labels) {
	s.seconds.DeletePartialMatch(gone)
	for _, v := range []*prometheus.CounterVec{s.slates, s.evaluations, s.observations, s.rewards} {
		v.DeletePartialMatch(gone)
	}
}

// Slated counts an answered request for slates.
func (m *Metrics) Slated(collection, algo string, took time.Duration, slates, evaluations int) {
	collection = m.labels.collectionLabel(collection)
	m.slates.seconds.WithLabelValues(collection, algo).Observe(took.Seconds())
	m.slates.slates.WithLabelValues(collection, algo).Add(float64(slates))
	m.slates.evaluations.WithLabelValues(collection, algo).Add(float64(evaluations))
}

// Rewarded counts accepted rewards and adds up their values.
func (m *Metrics) Rewarded(collection string, rewards int, sum float64) {
	collection = m.labels.collectionLabel(collection)
	m.slates.observations.WithLabelValues(collection).Add(float64(rewards))
	m.slates.rewards.WithLabelValues(collection).Add(sum)
}
