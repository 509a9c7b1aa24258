package service

import (
	"thresher/service/extension"
	"thresher/service/problem"
)

// deprecate tells the client that the request has names which are former ones.
func (r *request) deprecate() { r.x.w.Header().Set("Deprecation", extension.DeprecatedSince) }

// parseRenamed returns a boolean parameter that had another name before, which is taken, but not beside the present
// one.
func (r *request) parseRenamed(name, former string) (bool, error) {
	if !r.params.Has(former) {
		return r.params.parseBool(name)
	}
	if r.params.Has(name) {
		return false, problem.New(problem.InvalidValue, "%s and %s are one parameter, whose name is %s", former, name, name).In(former)
	}
	r.deprecate()
	return r.params.parseBool(former)
}
