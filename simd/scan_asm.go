//go:build (amd64 || arm64) && !noasm && !purego

package simd

// A scan of at least fetchingQueries queries has the time to fetch the panel
// after its own. One of fewer waits for memory: where it reads whole panels the
// processor's own prefetching of one stream is ahead of it, where it skips the
// last codes of each that stream breaks off, and fetching takes a third to a half
// off a search of one query, on amd64. Panels beyond fetchedPanel bytes have none
// after them: they are made of rows, one after the other in the same place.
const (
	fetchingQueries = 8
	fetchedPanel    = 1 << 14
)

// fetchAhead is how far on a scan of n queries and all codes of a panel fetches.
func fetchAhead(panel []uint8, all, n int) int {
	if len(panel) <= fetchedPanel && (n >= fetchingQueries || panelLanes*all < len(panel)) {
		return len(panel)
	}
	return 0
}

// pointers are those of the terms' lanes; offsets is nil where there are none.
func (t *PanelTerms) pointers() (heads, rests, radii, offsets *float32) {
	if t.Offset != nil {
		offsets = &t.Offset[0]
	}
	return &t.Head[0], &t.Rest[0], &t.Radius[0], offsets
}
