// Package metrics counts the service's work for Prometheus, in a Registerer that the caller
// provides.
//
// Events of a search update atomic counters only; figures that can be read at any time
// (collections, jobs, the backend) are read when Prometheus scrapes.
package metrics
