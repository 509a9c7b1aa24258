package service

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"thresher/collection"
	"thresher/service/catalog"
	"thresher/service/wire"
	"thresher/tasks"
)

// shards are the descriptions of collections, as answers state them, by name.
type shards struct {
	mu sync.Mutex
	of map[string]describedShard
}

// describedShard describes one version of a collection, which its name alone does not tell from those before.
type describedShard struct {
	tag     string
	created time.Time
	shard   tasks.Shard
}

// shardOf describes the vectors of a version.
func (s *shards) shardOf(v *catalog.Version) tasks.Shard {
	info := v.Info()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.of[info.Name]; ok && known.tag == info.Tag() && known.created.Equal(info.CreatedAt) {
		return known.shard
	}
	if s.of == nil {
		s.of = map[string]describedShard{}
	}
	c := v.Collection()
	if c == nil { // of a version that changes, which has no vectors; others are searched as one collection
		c = &collection.Collection{Dim: v.Dim()}
	}
	shard := tasks.ShardOf(c, v.IDs().Text())
	s.of[info.Name] = describedShard{info.Tag(), info.CreatedAt, shard}
	return shard
}

// drop forgets a collection that is gone or replaced.
func (s *shards) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, name)
}

// covers returns what the answers to a search in a version cover, as JSON; nil if they do not state it.
func (s *Server) covers(v *catalog.Version, q *wire.Search) (json.RawMessage, error) {
	ownFilter := func(g wire.QueryGoal) bool { return g.Filter != nil }
	if q.Digest == nil || slices.ContainsFunc(q.Goals, ownFilter) { // answers to queries of different filters cover different vectors
		return nil, nil
	}
	filter, err := rowsOf(v, q.Filter, q.Called("filter"))
	if err != nil {
		return nil, err
	}
	exclude, err := rowsOf(v, q.Exclude, q.Called("exclude"))
	if err != nil {
		return nil, err
	}
	shard := s.shards.shardOf(v)
	if filter != nil || exclude != nil {
		shard = shard.Part(filter, exclude)
	}
	c, err := q.Coverage(v.Metric(), shard)
	if err != nil {
		return nil, err
	}
	return json.Marshal(c)
}
