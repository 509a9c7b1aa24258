package metrics

import "sync"

// maxLabels is the default number of collections with series of their own.
const maxLabels = 100

// labels are the collections with series of their own: the first maxLabels ones. The others
// share the label "(other)" until one of the first is forgotten.
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

// forget frees the label of a collection, and reports whether it had one.
func (l *labels) forget(collection string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	had := l.own[collection]
	delete(l.own, collection)
	return had
}

// LimitLabels sets the number of collections with series of their own; the others share the
// label "(other)". It must be called before anything is counted.
func (m *Metrics) LimitLabels(most int) { m.labels.most = most }

// Label returns the label of a collection: its name, or "(other)" if the number of labels is
// exhausted.
func (m *Metrics) Label(collection string) string { return m.labels.collectionLabel(collection) }
