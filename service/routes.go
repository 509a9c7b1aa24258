package service

import (
	"net/http"
	"slices"
)

// route is one method of one path.
type route struct {
	method, pattern string
	scope           scope
	handle          func(*request, http.ResponseWriter) error
	params          []string // permitted query parameters
	always          bool     // also answered while draining
}

// routes is the table of all routes; openapi.yaml describes them.
func (s *Server) routes() []route {
	const (
		get, put, post, del = http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete

		collections = "/v1/collections"
		collection  = collections + "/{name}"
		model       = "/v2/models/{name}"
		version     = model + "/versions/{version}"
	)
	metricsScope := someMetrics
	if s.o.OpenMetrics {
		metricsScope = open
	}
	page := []string{"after", "limit", "order"}
	return slices.Concat([]route{
		{method: get, pattern: collections, scope: read, handle: s.listCollections},
		{method: put, pattern: collection, scope: write, handle: s.putCollection, params: append(sourceParams(), createParams()...)},
		{method: get, pattern: collection, scope: read, handle: s.getCollection},
		{method: del, pattern: collection, scope: write, handle: s.deleteCollection},
		{method: post, pattern: collection + "/search", scope: read, handle: s.search, params: searchParams()},
		{method: post, pattern: collection + "/recall", scope: read, handle: s.recall},
		{method: post, pattern: collection + "/certify", scope: read, handle: s.certify},
		{method: post, pattern: collection + "/pursuit", scope: read, handle: s.pursuit, params: pursuitParams()},
		{method: post, pattern: collection + "/rows", scope: write, handle: s.appendRows, params: append(sourceParams(), "wait")},
		{method: put, pattern: collection + "/rows", scope: write, handle: s.putRows, params: append(sourceParams(), "wait")},
		{method: del, pattern: collection + "/rows", scope: write, handle: s.deleteRows, params: []string{"ids", "filter", "wait"}},
		{method: get, pattern: collection + "/rows", scope: read, handle: s.listRows, params: []string{"prefix", "id", "vectors", "after", "limit"}},
		{method: get, pattern: collection + "/rows/{id}", scope: read, handle: s.getRow},

		{method: post, pattern: "/v1/files", scope: write, handle: s.postFile},
		{method: get, pattern: "/v1/files", scope: read, handle: s.listFiles, params: append(page, "purpose")},
		{method: get, pattern: "/v1/files/{id}", scope: read, handle: s.getFile},
		{method: get, pattern: "/v1/files/{id}/content", scope: read, handle: s.getContent},
		{method: del, pattern: "/v1/files/{id}", scope: write, handle: s.deleteFile},

		{method: post, pattern: "/v1/batches", scope: write, handle: s.postBatch},
		{method: get, pattern: "/v1/batches", scope: read, handle: s.listBatches, params: page[:2]},
		{method: get, pattern: "/v1/batches/{id}", scope: read, handle: s.getBatch},
		{method: del, pattern: "/v1/batches/{id}", scope: write, handle: s.deleteBatch},
		{method: post, pattern: "/v1/batches/{id}/cancel", scope: write, handle: s.cancelBatch},

		{method: get, pattern: "/v1/version", scope: read, handle: s.getVersion},
		{method: get, pattern: "/healthz", scope: open, handle: s.healthz, always: true},
		{method: get, pattern: "/readyz", scope: open, handle: s.readyz, params: []string{"collections"}, always: true},
		{method: get, pattern: "/metrics", scope: metricsScope, handle: s.scrape, always: true},

		{method: get, pattern: "/v2", scope: read, handle: s.inferenceServer},
		{method: get, pattern: "/v2/health/live", scope: open, handle: s.inferenceLive, always: true},
		{method: get, pattern: "/v2/health/ready", scope: open, handle: s.inferenceReady, always: true},
		{method: post, pattern: "/v2/repository/index", scope: read, handle: s.repositoryIndex},
		{method: get, pattern: "/v2/models/stats", scope: read, handle: s.inferenceStatistics},
		{method: get, pattern: model, scope: read, handle: s.inferenceModel},
		{method: get, pattern: model + "/config", scope: read, handle: s.inferenceConfig},
		{method: get, pattern: model + "/stats", scope: read, handle: s.inferenceStatistics},
		{method: get, pattern: model + "/ready", scope: read, handle: s.inferenceModelReady},
		{method: post, pattern: model + "/infer", scope: read, handle: s.infer},
		{method: get, pattern: version, scope: read, handle: s.inferenceModel},
		{method: get, pattern: version + "/ready", scope: read, handle: s.inferenceModelReady},
		{method: get, pattern: version + "/config", scope: read, handle: s.inferenceConfig},
		{method: get, pattern: version + "/stats", scope: read, handle: s.inferenceStatistics},
		{method: post, pattern: version + "/infer", scope: read, handle: s.infer},

		{method: get, pattern: "/openapi.yaml", scope: open, handle: s.getDescription, always: true},
		{method: get, pattern: "/problems/{kind}", scope: open, handle: s.getProblem, always: true},
		{method: get, pattern: "/{$}", scope: open, handle: s.webPage, always: true},
		{method: get, pattern: "/web/{file}", scope: open, handle: s.webPage, always: true},
	}, s.extensionRoutes(), s.backupRoutes())
}
