package api

// Readiness is what a server that is ready says of its backends.
type Readiness struct {
	Status   string   `json:"status"`         // "ready"
	Backends []string `json:"backends"`       // that search now
	Lost     []string `json:"lost,omitempty"` // since collections were loaded on them
	// GPUUnused says, in a sentence of each, why GPUs that are there do not search, or not all
	// collections, and what to do about it.
	GPUUnused []string `json:"gpu_unused,omitempty"`
	// Versions are those of the collections of a read-only server, by name, as the stores that they were fetched from tell them apart.
	Versions map[string]string `json:"versions,omitempty"`
}
