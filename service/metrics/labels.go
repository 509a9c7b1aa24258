package metrics

import "sync"

// mostLabels is how many collections have series of their own, unless it is said.
const mostLabels = 100

// labels are the collections that have series of their own: the first so many that are
// asked for. The others share those of the label "(other)", until one that has its own is
// forgotten.
type labels struct {
	mu   sync.RWMutex
	most int
	own  map[string]bool
}

// collectionLabel is the label of a collection.
func (l *labels) collectionLabel(collection string) string {
	l.mu.RLock()
	own := l.own[collection]
	l.mu.RUnlock()
	if own {
		return collection
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.own[collection] && len(l.own) >= l.most {
		return other
	}
	if l.own == nil {
		l.own = map[string]bool{}
	}
	l.own[collection] = true
	return collection
}

// forget frees the place of a collection, and reports whether it had one.
func (l *labels) forget(collection string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	had := l.own[collection]
	delete(l.own, collection)
	return had
}

// LimitLabels sets how many collections have series of their own; the others share those
// of the label "(other)". It is called before anything is counted.
func (m *Metrics) LimitLabels(most int) { m.labels.most = most }

// Label is the label of a collection: its name, or "(other)" where as many as may have
// series of their own.
func (m *Metrics) Label(collection string) string { return m.labels.collectionLabel(collection) }
