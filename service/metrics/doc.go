// Package metrics counts what the service does, in Prometheus' terms, behind a
// Registerer that is given to it.
//
// What is told on the way of a search touches atomic counters only; what can be
// asked at any time (collections, jobs, the backend) is asked when Prometheus does.
package metrics
