package tasks

import (
	"fmt"

	"thresher/collection"
)

// LimitNames returns what doors call the limits of scores by a metric, that which lets the best scores through
// first: min_score and max_score of scores, max_distance and min_distance of distances.
func LimitNames(m collection.Metric) (near, far string) {
	if m.Differences() {
		return "max_distance", "min_distance"
	}
	return "min_score", "max_score"
}

// LimitNameError says that a limit of scores is given by the name which it has by other metrics.
type LimitNameError struct {
	Metric collection.Metric
	Right  string // its name by Metric, as LimitNames has it
}

func (e *LimitNameError) Error() string { return e.Say(e.Right) }

// Say is Error with the right name as a door has it.
func (e *LimitNameError) Say(right string) string {
	kind := "scores, the greatest of which are best"
	if e.Metric.Differences() {
		kind = "squared distances, the least of which are best"
	}
	return fmt.Sprintf("the metric is %s, which has %s: %s says it", e.Metric, kind, right)
}

// CheckLimitName refuses a limit that is given by the name which it has by other metrics, and names the right one.
// Names of nothing that LimitNames returns are left alone.
func CheckLimitName(name string, m collection.Metric) *LimitNameError {
	near, far := LimitNames(m)
	for _, limit := range []struct{ right, score, distance string }{{near, "min_score", "max_distance"}, {far, "max_score", "min_distance"}} {
		if name != limit.right && (name == limit.score || name == limit.distance) {
			return &LimitNameError{m, limit.right}
		}
	}
	return nil
}
