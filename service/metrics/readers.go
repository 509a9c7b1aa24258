package metrics

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Pages are the two forms of the metrics.
type Pages struct {
	all, readers http.Handler
}

// NewPages returns the forms of the metrics that g gathers.
func NewPages(g prometheus.Gatherer) *Pages {
	return &Pages{Handler(g), Handler(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := g.Gather()
		return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return withheld(f.GetName()) }), err
	}))}
}

// All answers with all metrics.
func (p *Pages) All() http.Handler { return p.all }

// Readers answers without the metrics from which a client would learn, by scrapes before and
// after its query, what certificates withhold from it because it depends on the rotation: how
// much was read, kept by looks, and scored.
func (p *Pages) Readers() http.Handler { return p.readers }

// withheld reports whether readers do not see a metric.
func withheld(name string) bool {
	switch name {
	case "thresher_pulls_total", "thresher_dense_pulls_total", "thresher_rescored_rows_total", "thresher_round_survivor_ratio":
		return true
	}
	// The bytes that a search allocates depend on how many atoms its looks keep.
	return strings.HasPrefix(name, "go_memstats_")
}
