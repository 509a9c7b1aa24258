//go:build (amd64 || arm64) && !noasm && !purego

package simd

// A scan of at least fetchingQueries queries computes long enough to prefetch the next
// panel meanwhile. A scan of fewer waits for memory. If it reads whole panels, the
// processor's own prefetching of the stream does as well; if it skips the last codes
// of each panel that stream breaks, and prefetching takes a third to a half off a
// search of one query (amd64). Panels of more than fetchedPanel bytes are not
// prefetched: they are made of rows, one after the other in the same memory.
const (
	fetchingQueries = 8
	fetchedPanel    = 1 << 14
)

// fetchAhead returns how far ahead, in bytes, a scan of n queries and all codes of each
// atom prefetches; 0 is not at all.
func fetchAhead(panel []uint8, all, n int) int {
	if len(panel) <= fetchedPanel && (n >= fetchingQueries || PanelLanes*all < len(panel)) {
		return len(panel)
	}
	return 0
}

// pointers returns the terms' first lanes; offsets is nil if there are none.
func (t *PanelTerms) pointers() (heads, rests, radii, offsets *float32) {
	if t.Offset != nil {
		offsets = &t.Offset[0]
	}
	return &t.Head[0], &t.Rest[0], &t.Radius[0], offsets
}
