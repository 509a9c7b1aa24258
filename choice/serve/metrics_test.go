package serve

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"thresher/service/metrics"
)

// counted returns metrics of both extensions, and those of a server that has at most two labels of collections.
func counted(t *testing.T) (*prometheus.Registry, *metrics.Metrics, *Metrics) {
	t.Helper()
	r := prometheus.NewRegistry()
	of, err := metrics.New(r)
	if err != nil {
		t.Fatal(err)
	}
	of.LimitLabels(2)
	m, err := NewMetrics(r, of)
	if err != nil {
		t.Fatal(err)
	}
	return r, of, m
}

// TestNames fixes the names of metrics, on which dashboards depend.
func TestNames(t *testing.T) {
	r, _, m := counted(t)
	m.watchTournaments(func() map[string]int { return map[string]int{"running": 3, "done": 0} })
	m.watchSlates(func() int64 { return 512 })
	m.DuelsIssued(4)
	m.Reported("accepted", 3)
	m.slated("movies", "afsm", 2*time.Millisecond, 3, 500)
	m.rewarded("movies", 4, 2.5)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		if name := f.GetName(); strings.Contains(name, "slate") || strings.Contains(name, "duel") || strings.Contains(name, "tournament") {
			got[name] = strings.Join(labels, " ")
		}
	}
	want := map[string]string{
		"thresher_tournaments": "status", "thresher_duels_handed_out_total": "", "thresher_duel_results_total": "status",
		"thresher_slate_seconds": "algo collection", "thresher_slates_total": "algo collection", "thresher_slate_evaluations_total": "algo collection",
		"thresher_slate_observations_total": "collection", "thresher_slate_rewards_total": "collection", "thresher_slate_memory_bytes": "",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v %v", problems, err)
	}
	const text = `
# HELP thresher_duel_results_total Results of duels, by what became of them.
# TYPE thresher_duel_results_total counter
thresher_duel_results_total{status="accepted"} 3
# HELP thresher_duels_handed_out_total Issued duels of tournaments, counted each time they are issued.
# TYPE thresher_duels_handed_out_total counter
thresher_duels_handed_out_total 4
# HELP thresher_tournaments Tournaments by status.
# TYPE thresher_tournaments gauge
thresher_tournaments{status="done"} 0
thresher_tournaments{status="running"} 3
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(text), "thresher_duel_results_total", "thresher_duels_handed_out_total", "thresher_tournaments"); err != nil {
		t.Error(err)
	}
}

// TestLabels: collections share the labels of the server's metrics, which forget them.
func TestLabels(t *testing.T) {
	r, of, m := counted(t)
	for i := range 5 {
		m.slated(fmt.Sprint("c", i), "afsm", time.Millisecond, 1, 1)
		m.rewarded(fmt.Sprint("c", i), 1, 1)
	}
	const head = "# HELP thresher_slate_rewards_total Sum of the rewards that were taken.\n# TYPE thresher_slate_rewards_total counter\n"
	want := head + `thresher_slate_rewards_total{collection="(other)"} 3
thresher_slate_rewards_total{collection="c0"} 1
thresher_slate_rewards_total{collection="c1"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "thresher_slate_rewards_total"); err != nil {
		t.Error(err)
	}
	of.Forget("c4") // which has no series of its own
	of.Forget("c0")
	want = strings.Replace(want, `thresher_slate_rewards_total{collection="c0"} 1`+"\n", "", 1)
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "thresher_slate_rewards_total"); err != nil {
		t.Error(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.Metric {
			for _, l := range series.Label {
				if l.GetName() == "collection" && l.GetValue() == "c0" {
					t.Errorf("%s still has a series of c0", f.GetName())
				}
			}
		}
	}
}
