// Package api has the JSON objects of requests and answers, which the server and
// service/client both use. openapi.yaml describes the calls they belong to. The package
// depends on the standard library alone.
package api
