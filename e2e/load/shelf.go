//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// shelf is a writer of one collection: it creates, replaces, appends, upserts, deletes rows, and
// deletes the collection.
type shelf struct {
	name    string
	r       *rand.Rand
	now     rows
	pending *change
	last    *change // acknowledged; may be repeated
	keys    int
	count   map[string]int
}

// rows is the expected content of a collection; the zero value is no collection.
type rows struct {
	version int64
	writes  uint64 // changes by rows of the version
	vectors matrix
	ids     []int64
	next    int64   // the id of the next row
	gone    []int64 // ids that were deleted
}

func (c *change) String() string {
	if c == nil {
		return "nothing"
	}
	return c.what
}

// change is one of a collection's changes.
type change struct {
	what   string
	method string
	path   string
	body   *body
	after  rows    // except for the version
	answer *answer // once it is acknowledged
}

const shelfDim = 24

func newShelf(name string, seed uint64) *shelf {
	return &shelf{name: name, r: rand.New(rand.NewPCG(seed, 3)), count: map[string]int{}}
}

func (s *shelf) prepare(context.Context, *api) error { return nil }

func (s *shelf) path() string { return "/v1/collections/" + s.name }

// fresh returns n new rows.
func (s *shelf) fresh(n int) *matrix { return gaussian(n, shelfDim, s.r.Uint64()) }

// choose draws the next change.
func (s *shelf) choose() *change {
	s.keys++
	key := fmt.Sprintf("%s %d", s.name, s.keys)
	n := len(s.now.ids)
	switch at := s.r.IntN(10); {
	case n == 0 || at == 0:
		m := s.fresh(100 + s.r.IntN(1500))
		c := &change{what: "collections created", method: "PUT", path: s.path() + "?metric=ip", body: m.body(key), after: rows{vectors: *m}}
		if n > 0 {
			c.what, c.path = "collections replaced", c.path+"&replace=true"
		}
		for i := range m.rows() {
			c.after.ids = append(c.after.ids, int64(i))
		}
		c.after.next = int64(m.rows())
		return c
	case at == 1:
		return &change{what: "collections deleted", method: "DELETE", path: s.path()}
	case at < 4 && n > 50:
		return s.remove(key)
	case at < 6:
		return s.upsert(key)
	}
	m := s.fresh(1 + s.r.IntN(300))
	after := s.now
	after.vectors = matrix{shelfDim, slices.Concat(s.now.vectors.data, m.data)}
	after.ids = slices.Clone(s.now.ids)
	for range m.rows() {
		after.ids = append(after.ids, after.next)
		after.next++
	}
	return &change{what: "appends", method: "POST", path: s.path() + "/rows", body: m.body(key), after: after}
}

// remove returns a change that deletes some rows.
func (s *shelf) remove(key string) *change {
	after := rows{vectors: matrix{dim: shelfDim}, next: s.now.next, gone: slices.Clone(s.now.gone)}
	var ids []int64
	from, n := s.r.IntN(len(s.now.ids)), 1+s.r.IntN(20)
	for i, id := range s.now.ids {
		if i >= from && i < from+n {
			ids = append(ids, id)
			continue
		}
		after.ids = append(after.ids, id)
		after.vectors.data = append(after.vectors.data, s.now.vectors.row(i)...)
	}
	after.gone = append(after.gone, ids...)
	return &change{what: "deletions of rows", method: "DELETE", path: s.path() + "/rows", body: jsonBody(map[string]any{"ids": ids}, key), after: after}
}

// upsert returns a change that writes rows by id, of which most are there.
func (s *shelf) upsert(key string) *change {
	after := s.now
	after.ids, after.vectors.data = slices.Clone(s.now.ids), slices.Clone(s.now.vectors.data)
	var ids []int64
	var vectors [][]float32
	from, m := s.r.IntN(len(s.now.ids)), s.fresh(1+s.r.IntN(30))
	for i := range m.rows() {
		row := m.row(i)
		if at := from + i; at < len(s.now.ids) {
			ids = append(ids, after.ids[at])
			copy(after.vectors.row(at), row)
		} else {
			ids = append(ids, after.next)
			after.ids, after.vectors.data = append(after.ids, after.next), append(after.vectors.data, row...)
			after.next++
		}
		vectors = append(vectors, row)
	}
	content := map[string]any{"source": map[string]any{"vectors": vectors, "ids": ids}}
	return &change{what: "upserts", method: "PUT", path: s.path() + "/rows", body: jsonBody(content, key), after: after}
}

func (s *shelf) step(ctx context.Context, a *api) error {
	if s.pending == nil {
		s.pending = s.choose()
	}
	if err := s.send(ctx, a); err != nil {
		return err
	}
	if s.pending != nil || len(s.now.ids) == 0 || s.r.IntN(3) == 0 {
		return nil // a build may still be running
	}
	return s.compare(ctx, a, &s.now)
}

// send requests the pending change.
func (s *shelf) send(ctx context.Context, a *api) error {
	c := s.pending
	got, err := a.call(ctx, c.method, c.path, c.body)
	if err != nil {
		return err
	}
	if got.status == 409 {
		// A build is running, and must succeed.
		_, err := a.settled(ctx, s.name)
		return err
	}
	if c.body == nil { // the deletion of everything; an earlier attempt may have succeeded
		if err := got.into(nil, 204, 404); err != nil {
			return fmt.Errorf("%s: %s: %w", s.name, c.what, err)
		}
		s.now = rows{}
	} else {
		var err error
		if c.after.version, c.after.writes, err = stateOf(got); err != nil {
			return fmt.Errorf("%s: %s, row count %d: %w", s.name, c.what, len(s.now.ids), err)
		}
		c.answer, s.now = got, c.after
	}
	s.count[c.what]++
	s.pending, s.last = nil, c
	return nil
}

// stateOf returns the version that an acknowledged change made, and how many changes by rows that has had.
func stateOf(got *answer) (version int64, writes uint64, err error) {
	var info collectionInfo
	if err := got.into(&info, 200, 201, 202); err != nil {
		return 0, 0, err
	}
	if info.Next != 0 {
		return info.Next, 0, nil
	}
	return info.Version, info.writes(), nil
}

func (s *shelf) check(ctx context.Context, a *api) error {
	got, err := a.call(ctx, "GET", s.path(), nil)
	if err != nil {
		return err
	}
	should := &s.now
	if got.status == 200 {
		info, err := a.settled(ctx, s.name)
		if err != nil {
			return err
		}
		if s.pending != nil && (info.Version != s.now.version && !s.madeFolder(&info) || info.writes() != s.now.writes) {
			after := s.pending.after
			after.version, after.writes = info.Version, info.writes()
			should = &after
		}
	} else if s.pending != nil && len(s.pending.after.ids) == 0 {
		should = &s.pending.after
	}
	if err := s.compare(ctx, a, should); err != nil {
		return err
	}
	return s.again(ctx, a)
}

// madeFolder reports whether the collection has become one that changes by rows for a pending change, of which nothing is there yet.
func (s *shelf) madeFolder(info *collectionInfo) bool {
	if strings.HasSuffix(s.pending.path, "/rows") && info.Writes != nil && *info.Writes == 0 {
		s.now.version = info.Version
		return true
	}
	return false
}

// again repeats the last change, with its key, which must change nothing. One by rows has the answer that it had first.
func (s *shelf) again(ctx context.Context, a *api) error {
	if s.last == nil || s.last.body == nil || s.pending != nil {
		return nil
	}
	got, err := a.call(ctx, s.last.method, s.last.path, s.last.body)
	if err != nil {
		return err
	}
	version, writes, err := stateOf(got)
	switch {
	case err != nil:
	case strings.HasSuffix(s.last.path, "/rows") && !bytes.Equal(got.data, s.last.answer.data):
		err = fmt.Errorf("%s, the first time it was %s", got.data, s.last.answer.data)
	case version != s.now.version || writes != s.now.writes:
		err = fmt.Errorf("version %d-%d, the first time it was %d-%d", version, writes, s.now.version, s.now.writes)
	}
	if err != nil {
		return fmt.Errorf("%s: %s, asked for again: %w", s.name, s.last.what, err)
	}
	return nil
}

// compare checks that the collection is as expected.
func (s *shelf) compare(ctx context.Context, a *api, should *rows) error {
	got, err := a.call(ctx, "GET", s.path(), nil)
	if err != nil {
		return err
	}
	if len(should.ids) == 0 {
		if err := got.into(nil, 404); err != nil {
			return fmt.Errorf("collection %s was deleted: %w", s.name, err)
		}
		return nil
	}
	info, err := a.settled(ctx, s.name)
	if err != nil {
		return fmt.Errorf("collection %s: %w", s.name, err)
	}
	if info.State != "ready" || info.Error != "" || info.Version != should.version || info.writes() != should.writes || info.Count != int64(len(should.ids)) {
		return fmt.Errorf("collection %s is %s, acknowledged were version %d-%d and %d rows; pending is %v", s.name, got.data, should.version, should.writes, len(should.ids), s.pending)
	}
	if err := s.searches(ctx, a, should); err != nil {
		return fmt.Errorf("collection %s, version %d: %w", s.name, should.version, err)
	}
	return nil
}

// searches checks nearest neighbours, stored rows and deleted ids.
func (s *shelf) searches(ctx context.Context, a *api, should *rows) error {
	const k = 5
	queries := s.fresh(3)
	version, results, err := a.search(ctx, s.name, queries, k)
	if err != nil {
		return err
	}
	if version != should.version || len(results) != queries.rows() {
		return fmt.Errorf("%d answers of version %d", len(results), version)
	}
	for i, result := range results {
		if top := best(&should.vectors, should.ids, queries.row(i), k); !slices.Equal(top, result.IDs) {
			return fmt.Errorf("a search finds %v, which should be %v", result.IDs, top)
		}
	}
	for range 2 {
		i := s.r.IntN(len(should.ids))
		var row struct {
			Vector []float32 `json:"vector"`
		}
		if err := a.get(ctx, fmt.Sprintf("%s/rows/%d", s.path(), should.ids[i]), &row); err != nil {
			return err
		}
		if !slices.Equal(row.Vector, should.vectors.row(i)) {
			return fmt.Errorf("row %d is %v, which should be %v", should.ids[i], row.Vector, should.vectors.row(i))
		}
	}
	if n := len(should.gone); n > 0 {
		got, err := a.call(ctx, "GET", fmt.Sprintf("%s/rows/%d", s.path(), should.gone[s.r.IntN(n)]), nil)
		if err != nil {
			return err
		}
		return got.into(nil, 400, 404)
	}
	return nil
}

func (s *shelf) finish(ctx context.Context, a *api) error {
	for s.pending != nil {
		if err := s.send(ctx, a); err != nil {
			return err
		}
	}
	if err := s.compare(ctx, a, &s.now); err != nil {
		return err
	}
	got, err := a.call(ctx, "DELETE", s.path(), nil)
	if err != nil {
		return err
	}
	return got.into(nil, 204, 404)
}

func (s *shelf) done() map[string]int { return s.count }
