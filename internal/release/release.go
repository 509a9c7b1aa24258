// Package release names the version of thresher. Whatever else states it (the Python packages, the
// API's description, the citation, the changelog) is compared with it by a test.
package release

// Version is that of the release to which this tree belongs, by semantic versioning, without a leading v.
const Version = "0.1.0"
