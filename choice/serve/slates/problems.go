package slates

import (
	"net/http"

	"thresher/service/problem"
)

// UnknownSlate is the kind of problem that only slates have.
var UnknownSlate = problem.Declare("unknown-slate", http.StatusNotFound, "The slate is unknown or was evicted")
