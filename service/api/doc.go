// Package api has the JSON objects of requests and answers, as the server and
// service/client both use them. docs and openapi.yaml describe the calls they belong to. It
// depends on the standard library alone.
package api
