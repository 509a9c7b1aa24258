package metrics

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"thresher/batch"
)

// rounds is the number of looks with labels of their own; published methods have hundreds,
// and the last label is for all further looks.
const rounds = 8

// Metrics are the counters of one server. They are safe for concurrent use.
type Metrics struct {
	seconds     *prometheus.HistogramVec // collection, method
	queries     *prometheus.CounterVec   // collection, method, guarantee
	pulls       *prometheus.CounterVec   // collection, method
	densePulls  *prometheus.CounterVec   // collection, method
	rescored    *prometheus.CounterVec   // collection, method
	partial     *prometheus.CounterVec   // collection, method
	stated      *prometheus.CounterVec   // collection, outcome
	statedAtoms *prometheus.CounterVec   // the same
	batchSize   *prometheus.HistogramVec // collection
	queue       *prometheus.HistogramVec // collection
	turns       *prometheus.HistogramVec // class
	rejected    *prometheus.CounterVec   // reason
	wrongTokens *prometheus.CounterVec   // outcome
	expired     *prometheus.CounterVec   // kind
	survivors   [rounds]prometheus.Observer
	requests    requests
	labels      labels
	onForget    []func(collection string)

	mu   sync.RWMutex
	byOf map[key]*counters
}

// NewRegistry returns a new registry with the collectors of Go and of the process.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler writes the metrics of g in the format that the scraper requests.
func Handler(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// New registers metrics with r. It fails if r already has some of the names.
func New(r prometheus.Registerer) (*Metrics, error) {
	search := []string{"collection", "method"}
	m := &Metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "thresher_search_seconds", Help: "Time of searches, without what they waited.",
			Buckets: prometheus.ExponentialBuckets(100e-6, 2.5, 14), // to 15 s
		}, search),
		queries:    counter("thresher_queries_total", "Queries answered.", "collection", "method", "guarantee"),
		pulls:      counter("thresher_pulls_total", "Coordinates of vectors read.", search...),
		densePulls: counter("thresher_dense_pulls_total", "Coordinates that dense scans would have read for the same answers.", search...),
		rescored:   counter("thresher_rescored_rows_total", "Rows scored in full.", search...),
		partial:    counter("thresher_partial_answers_total", "Queries whose search was stopped before its end.", search...),
		stated:     counter("thresher_stated_vectors_total", "Best vectors of queries that answers of other programs had, or lacked.", "collection", "outcome"),
		// Its name of before, for one release.
		statedAtoms: counter("thresher_stated_atoms_total", "The former name of thresher_stated_vectors_total.", "collection", "outcome"),
		batchSize: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "thresher_batch_size", Help: "Queries that ran together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11), // to 1,024
		}, []string{"collection"}),
		queue: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "thresher_queue_seconds", Help: "Time that searches waited before they began.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10), // to 2.6 s
		}, []string{"collection"}),
		turns: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "thresher_turn_seconds", Help: "Time that a part of a search, or other work, waited for its turn at the processor.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 11), // to 10 s
		}, []string{"class"}),
		rejected:    counter("thresher_rejected_total", "Requests that failed, by kind of problem.", "reason"),
		wrongTokens: counter("thresher_wrong_tokens_total", "Wrong tokens, and tokens that were not looked at because of earlier wrong ones of their address.", "outcome"),
		expired:     counter("thresher_expired_total", "What was removed because it had been kept long enough, by kind.", "kind"),
		requests:    newRequests(), labels: labels{most: maxLabels},
		byOf: map[key]*counters{},
	}
	ratio := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "thresher_round_survivor_ratio", Help: "Share of the vectors seen by a look that a query kept.",
		Buckets: prometheus.ExponentialBuckets(1e-5, 10, 6), // to 1
	}, []string{"round"})
	for i := range m.survivors {
		label := strconv.Itoa(i + 1)
		if i == rounds-1 {
			label += "+"
		}
		m.survivors[i] = ratio.WithLabelValues(label)
	}
	var err error
	all := []prometheus.Collector{m.seconds, m.queries, m.pulls, m.densePulls, m.rescored, m.partial, m.stated, m.statedAtoms, m.batchSize, m.queue, m.turns, m.rejected, m.wrongTokens, m.expired, ratio}
	for _, c := range slices.Concat(all, m.requests.collectors()) {
		err = errors.Join(err, r.Register(c))
	}
	if err != nil {
		return nil, err
	}
	// A series that appears with its first event shows Prometheus no increase: these begin at 0.
	for _, outcome := range []string{tokenRefused, tokenUnchecked} {
		m.wrongTokens.WithLabelValues(outcome)
	}
	return m, nil
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// key identifies the counters of a search.
type key struct {
	collection string // its label
	method     batch.Method
}

// counters are those of one key, which saves a label lookup for each search.
type counters struct {
	seconds                              prometheus.Observer
	pulls, densePulls, rescored, partial prometheus.Counter
	promised                             map[batch.Guarantee]prometheus.Counter
}

// countersOf returns the counters of a key.
func (m *Metrics) countersOf(k key) *counters {
	m.mu.RLock()
	c := m.byOf[k]
	m.mu.RUnlock()
	if c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.byOf[k]; c != nil {
		return c
	}
	name, method := k.collection, string(k.method)
	promised := map[batch.Guarantee]prometheus.Counter{}
	for _, g := range batch.Guarantees() {
		promised[g] = m.queries.WithLabelValues(name, method, string(g))
	}
	c = &counters{
		seconds: m.seconds.WithLabelValues(name, method),
		pulls:   m.pulls.WithLabelValues(name, method), densePulls: m.densePulls.WithLabelValues(name, method),
		rescored: m.rescored.WithLabelValues(name, method), partial: m.partial.WithLabelValues(name, method),
		promised: promised,
	}
	m.byOf[k] = c
	return c
}

// Answered counts a response to a search with the requested method.
func (m *Metrics) Answered(collection string, method batch.Method, resp *batch.Response) {
	if method == "" {
		method = batch.Auto
	}
	c := m.countersOf(key{m.labels.collectionLabel(collection), method})
	c.seconds.Observe(resp.Took.Seconds())
	c.pulls.Add(float64(resp.Stats.Pulls))
	c.densePulls.Add(float64(resp.Stats.DensePulls))
	c.rescored.Add(float64(resp.Stats.RowsScored))
	c.partial.Add(float64(resp.Stats.Unfinished))
	promised := map[batch.Guarantee]int{}
	for i := range resp.Answers {
		cert := &resp.Answers[i].Certificate
		promised[cert.Guarantee]++
		for j := range cert.Looks {
			if l := &cert.Looks[j]; l.Seen > 0 {
				m.survivors[min(j, rounds-1)].Observe(float64(l.Survivors) / float64(l.Seen))
			}
		}
	}
	for g, n := range promised {
		c.promised[g].Add(float64(n))
	}
}

// Compared counts the best vectors of queries that answers of other programs had, and lacked.
func (m *Metrics) Compared(collection string, found, missed int) {
	collection = m.labels.collectionLabel(collection)
	for _, stated := range []*prometheus.CounterVec{m.stated, m.statedAtoms} {
		stated.WithLabelValues(collection, "found").Add(float64(found))
		stated.WithLabelValues(collection, "missed").Add(float64(missed))
	}
}

// Waited records how long work of a class, small or large, waited for its turn.
func (m *Metrics) Waited(class string, d time.Duration) {
	m.turns.WithLabelValues(class).Observe(d.Seconds())
}

// Expired counts n things of a kind that were removed because they had been kept long enough.
func (m *Metrics) Expired(kind string, n int) { m.expired.WithLabelValues(kind).Add(float64(n)) }

// Rejected counts a request that failed with a kind of problem.
func (m *Metrics) Rejected(kind string) { m.rejected.WithLabelValues(kind).Inc() }

// Expect makes the series of rare kinds of problems begin at 0, so that Prometheus sees the first as an
// increase.
func (m *Metrics) Expect(kinds ...string) {
	for _, kind := range kinds {
		m.rejected.WithLabelValues(kind)
	}
}

// The outcomes of wrong tokens.
const (
	tokenRefused   = "refused"
	tokenUnchecked = "unchecked"
)

// WrongToken counts a request with a wrong token, or one with a token that was not looked at
// because its address sends wrong ones.
func (m *Metrics) WrongToken(looked bool) {
	outcome := tokenUnchecked
	if looked {
		outcome = tokenRefused
	}
	m.wrongTokens.WithLabelValues(outcome).Inc()
}

// OnForget has Forget call forget with the label of a collection whose series are removed. It must be called
// before anything is counted.
func (m *Metrics) OnForget(forget func(collection string)) { m.onForget = append(m.onForget, forget) }

// Forget removes the series of a deleted collection.
func (m *Metrics) Forget(collection string) {
	if !m.labels.forget(collection) {
		return // it was counted in the shared series
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.byOf {
		if k.collection == collection {
			delete(m.byOf, k)
		}
	}
	gone := prometheus.Labels{"collection": collection}
	for _, forget := range m.onForget {
		forget(collection)
	}
	for _, v := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{m.seconds, m.queries, m.pulls, m.densePulls, m.rescored, m.partial, m.stated, m.statedAtoms, m.batchSize, m.queue} {
		v.DeletePartialMatch(gone)
	}
}

// Runs returns an observer of the Coalescer of a collection.
func (m *Metrics) Runs(collection string) batch.RunObserver {
	label := m.labels.collectionLabel(collection)
	return runs{m.queue.WithLabelValues(label), m.batchSize.WithLabelValues(label)}
}

type runs struct{ queue, size prometheus.Observer }

func (r runs) Waited(d time.Duration)      { r.queue.Observe(d.Seconds()) }
func (r runs) Began(searches, queries int) { r.size.Observe(float64(queries)) }
