package oip

// The states of a model.
const (
	StateReady       = "READY"
	StateLoading     = "LOADING"
	StateUnavailable = "UNAVAILABLE"
)

// ModelIndex is a model in the answer to POST /v2/repository/index.
type ModelIndex struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"`
	Reason  string `json:"reason"` // why it is not ready; "" if it is
}
