package service

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"thresher/service/api"
	"thresher/service/catalog"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// collectionOf returns the description of a collection for clients.
func (s *Server) collectionOf(info catalog.Info) api.Collection {
	c := info.Collection
	c.Texts = s.encoders.encoderOf(c.Name, c.Dim) != nil
	return c
}

func (s *Server) listCollections(r *request, w http.ResponseWriter) error {
	list := api.Collections{Object: "list", Data: []api.Collection{}}
	for _, info := range s.catalog.List() {
		list.Data = append(list.Data, s.collectionOf(info))
	}
	return writeJSON(w, http.StatusOK, list)
}

func (s *Server) getCollection(r *request, w http.ResponseWriter) error {
	info, err := s.catalog.Get(r.PathValue("name"))
	if err != nil {
		return err
	}
	if info.State == catalog.Ready {
		w.Header().Set("ETag", versionTag(info))
	}
	return writeJSON(w, http.StatusOK, s.collectionOf(info))
}

func (s *Server) deleteCollection(r *request, w http.ResponseWriter) error {
	name := r.PathValue("name")
	// The users' states are deleted last, so that a failed deletion loses nothing. If
	// deleting them fails, they are deleted at the next start, or before another collection
	// of the name is created.
	ctx, cancel := s.within(r.Context())
	defer cancel()
	if err := s.o.Extensions.drop(ctx, name, func() error { return s.catalog.Delete(name) }); err != nil {
		return s.explainWait(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// dropLeftovers deletes what extensions left behind by the deletion of a collection, so that a new
// collection of the same name does not get them.
func (s *Server) dropLeftovers(ctx context.Context, name string) error {
	ctx, cancel := s.within(ctx)
	defer cancel()
	if _, err := s.catalog.Get(name); err == nil {
		return nil // without waiting for requests that hold them
	}
	errThere := errors.New("it was made meanwhile")
	err := s.o.Extensions.drop(ctx, name, func() error {
		if _, err := s.catalog.Get(name); err == nil {
			return errThere
		}
		return nil
	})
	if errors.Is(err, errThere) {
		return nil
	}
	return s.explainWait(err)
}

// createParams lists the parameters of creating a collection other than those of its source.
func createParams() []string {
	return []string{"metric", "basis", "dtype", "seed", "id_kind", "overwrite", "replace", "wait"}
}

// createBody is the JSON body that creates a collection of vectors stored elsewhere. Every
// member but source may also be a parameter.
type createBody struct {
	metric, basis, dtype, kind string
	seed                       *uint64
	overwrite, replace         *bool // replace is the former name
}

func (b *createBody) members() jsonbody.Members {
	return jsonbody.Members{
		"metric":    jsonbody.Optional(jsonbody.Text("metric", &b.metric)),
		"basis":     jsonbody.Optional(jsonbody.Text("basis", &b.basis)),
		"dtype":     jsonbody.Optional(jsonbody.Text("dtype", &b.dtype)),
		"id_kind":   jsonbody.Optional(jsonbody.Text("id_kind", &b.kind)),
		"seed":      jsonbody.Pointer("seed", &b.seed, jsonbody.Integer[uint64]),
		"overwrite": jsonbody.Pointer("overwrite", &b.overwrite, jsonbody.Bool),
		"replace":   jsonbody.Pointer("replace", &b.replace, jsonbody.Bool),
	}
}

func (s *Server) putCollection(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	var body createBody
	src, err := s.source(r, body.members())
	if err != nil {
		return err
	}
	o, err := createOptions(r, &body)
	if err != nil {
		return err
	}
	wait, err := wantsToWait(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	if err := s.dropLeftovers(r.Context(), name); err != nil {
		return err
	}
	info, err := s.catalog.Create(ifMatch(r), name, src, o, key)
	if err != nil {
		return err
	}
	s.encoders.dropEncoder(name) // of the replaced collection
	s.shards.drop(name)
	return s.answerChange(r, w, info, wait, http.StatusCreated)
}

// createOptions returns the options of the body, completed by the parameters.
func createOptions(r *request, body *createBody) (catalog.CreateOptions, error) {
	p := r.params
	o := catalog.CreateOptions{}
	var kind string
	for _, t := range []struct {
		name string
		dst  *string
		body string
	}{{"metric", &o.Metric, body.metric}, {"basis", &o.Basis, body.basis}, {"dtype", &o.DType, body.dtype}, {"id_kind", &kind, body.kind}} {
		if err := p.either(t.name, t.body, t.dst); err != nil {
			return o, err
		}
	}
	o.IDs = catalog.Kind(kind)
	seed, err := p.parseText("seed")
	switch {
	case err != nil:
		return o, err
	case body.seed != nil && p.Has("seed"):
		return o, twice("seed")
	case body.seed != nil:
		o.Seed = *body.seed
	case p.Has("seed"):
		if o.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
			return o, problem.New(problem.InvalidValue, "seed is %q", seed).In("seed").Within("a whole number in [0, 2^64)")
		}
	}
	o.Drawn = body.seed == nil && !p.Has("seed")
	switch {
	case body.replace != nil && body.overwrite != nil:
		return o, problem.New(problem.InvalidValue, "replace and overwrite are one field, whose name is overwrite").In("replace")
	case body.replace != nil:
		r.deprecate()
		o.Replace = *body.replace
	case body.overwrite != nil:
		o.Replace = *body.overwrite
	}
	overwrite, err := r.parseRenamed("overwrite", "replace")
	o.Replace = o.Replace || overwrite
	return o, err
}

// wantsToWait reports whether the answer should wait until the version is ready.
func wantsToWait(r *request) (bool, error) {
	wait, err := r.params.parseBool("wait")
	return wait || r.Header.Get("Prefer") == "wait", err
}

// answerChange answers a request that made a version: accepted, or done if it was waited for.
func (s *Server) answerChange(r *request, w http.ResponseWriter, info catalog.Info, wait bool, done int) error {
	w.Header().Set("Location", "/v1/collections/"+info.Name)
	status := http.StatusAccepted
	if wait && info.Writes == nil {
		var err error
		if info, err = s.await(r.Context(), info); err != nil {
			return err
		}
	}
	if info.State == catalog.Ready && info.Next == 0 {
		status = done
	}
	if info.State == catalog.Ready {
		w.Header().Set("ETag", versionTag(info)) // of the state that the change made
	}
	return writeJSON(w, status, info)
}

// await returns a version once it is ready, or the error of its build. When the server shuts
// down it returns at once, and builds continue at the next start.
func (s *Server) await(ctx context.Context, made catalog.Info) (catalog.Info, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	info, err := s.catalog.Wait(ctx, made.Name, versionOf(made))
	switch {
	case err != nil && s.draining.Err() != nil:
		return info, errDraining()
	case err != nil:
		return info, err
	case info.State == catalog.Failed && info.Failure != nil:
		return info, info.Failure
	case info.State == catalog.Failed:
		return info, problem.New(problem.Internal, "%s", info.Error)
	}
	return info, nil
}

// versionOf returns the version that a change made.
func versionOf(info catalog.Info) int64 {
	if info.Next != 0 {
		return info.Next
	}
	return info.Version
}

// ifMatch returns the context of a change: with If-Match, restricted to the version it names.
// A tag that no version has matches none.
func ifMatch(r *request) context.Context {
	text := r.Header.Get("If-Match")
	if text == "" || text == "*" {
		return r.Context()
	}
	tag, opened := strings.CutPrefix(text, `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	tag, counted, changes := strings.Cut(tag, "-")
	version, ok := plainInteger(tag)
	var writes *uint64
	if changes {
		n, isNumber := plainInteger(counted)
		ok = ok && isNumber && n >= 0
		so := uint64(n)
		writes = &so
	}
	if !ok || version < 1 || !opened || !closed {
		version, writes = catalog.NoVersion, nil
	}
	return catalog.OnlyOn(r.Context(), version, writes)
}

// versionTag is the ETag of a version.
func versionTag(info catalog.Info) string { return `"` + info.Tag() + `"` }

// whole returns a version in use as one collection: what does not go from segment to segment needs it. It is made in the turn of the request. The
// caller releases both.
func (s *Server) whole(ctx context.Context, t *turn, v *catalog.Version) (*catalog.Version, error) {
	if !v.Stands() {
		if err := t.compute(ctx, v.Len()*v.Dim(), codingCoordinate); err != nil {
			return nil, err
		}
	}
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	whole, err := s.catalog.Whole(ctx, v)
	return whole, s.explainWait(err)
}

// codingCoordinate is the time to read and code a coordinate of a vector, in ns of one core.
const codingCoordinate = 10
