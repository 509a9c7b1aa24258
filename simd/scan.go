package simd

// PanelTerms are the linear test's terms for the 64 atoms of a panel. Offset may be
// nil, which stands for zeros.
type PanelTerms struct {
	Head, Rest, Radius, Offset *[PanelLanes]float32
}

// ScanQuery is a query's part of the linear test: the value of one step of its head
// codes and of its rest codes, the factors of Radius and Offset, the bound to reach
// (Cut), and 128 times the sums of its head codes and of its rest codes up to the
// scan's width. Assembly relies on this layout of 32 bytes.
type ScanQuery struct {
	Head, Rest, Radius, Offset float32
	Cut                        float32
	HeadBias, RestBias         int32
	_                          int32
}

// MaxScan is the greatest number of head or of rest codes whose sums fit int32.
const MaxScan = 1 << 16

// ScanScratch is memory for scans, which rearrange a panel once for many queries. The
// zero value is ready; concurrent scans need one each.
type ScanScratch struct {
	words, wide []int64
	dh, dr      [PanelLanes]int32
	panel       []uint8    // ScanRows: the rows, transposed
	sums        []RowSums8 // ScanRows: 64 of each query
	codes       []int8     // ScanRows: those of fewer queries than a tile has
}

// Scan tests the 64 atoms of a panel against queries. The panel holds head codes of
// the head and then width of the rest for each atom, laid out as in panel.go; codes
// holds the queries' codes in the same order, one query every stride bytes. head,
// width and stride are multiples of 4, head and width at most MaxScan. With dh and dr
// the exact products of the unbiased head and rest codes, lane i of query q has the
// value
//
//	t.Head_i q.Head dh + t.Rest_i q.Rest dr + t.Radius_i q.Radius + t.Offset_i q.Offset
//
// in float32, with an error of at most eight roundings of the terms' magnitudes,
// independent of the number of queries in the call. Scan sets values[64 q + i] to it,
// and bit i of masks[q] if it is at least q.Cut; a NaN clears the bit. AVX2, AVX512 and
// NEON agree bit for bit. If the panel has at most 16 KiB the next one is expected
// right after it, and is prefetched by calls that have many queries or skip the
// panel's last codes.
func (kern Kernels) Scan(w *ScanScratch, panel []uint8, head, width int, codes []int8, stride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	kern.scan(w, panel, fetchAhead(panel, head+width, len(queries)), head, width, codes, stride, queries, t, masks, values)
}

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

// wordsFrom is the number of queries from which expanding a panel (panel.go) pays.
const wordsFrom = 8

func scanGeneric(w *ScanScratch, panel []uint8, head, width int, codes []int8, stride int, queries []ScanQuery,
	t *PanelTerms, masks []uint64, values []float32) {
	all := head + width
	spread := len(queries) >= wordsFrom
	if spread {
		if len(w.words) < wordsLen(all) {
			w.words = make([]int64, wordsLen(all))
		}
		if len(w.wide) < all {
			w.wide = make([]int64, all)
		}
		expand(w.words, panel, all)
	}
	for j := range queries {
		q, x := &queries[j], codes[j*stride:][:all]
		if spread {
			for c, v := range x {
				w.wide[c] = int64(v)
			}
			panelDots(w.words, all, 0, head, w.wide, &w.dh)
			panelDots(w.words, all, head, all, w.wide, &w.dr)
		} else {
			panelDotsDirect(panel, 0, head, x, &w.dh)
			panelDotsDirect(panel, head, all, x, &w.dr)
		}
		masks[j] = panelTest(&w.dh, &w.dr, t, q, (*[PanelLanes]float32)(values[j*PanelLanes:]))
	}
}

// Test is Scan for one query and the first len(sums) <= 64 lanes, from the sums that
// Rows8 made of their rows: values and mask are those of Scan with the same kernels, bit
// for bit. len(values) >= 64; values of lanes without sums are undefined, and their
// bits are clear.
func (kern Kernels) Test(sums []RowSums8, t *PanelTerms, q *ScanQuery, values []float32) uint64 {
	return kern.test(sums, t, q, values)
}

func testGeneric(sums []RowSums8, t *PanelTerms, q *ScanQuery, values []float32) uint64 {
	var dh, dr [PanelLanes]int32
	for i, s := range sums {
		dh[i], dr[i] = s.Head-q.HeadBias, s.Rest-q.RestBias
	}
	return panelTest(&dh, &dr, t, q, (*[PanelLanes]float32)(values)) & laneMask(len(sums))
}

// laneMask sets the bits of the first n <= 64 lanes.
func laneMask(n int) uint64 { return 1<<n - 1 }

func panelTest(dh, dr *[PanelLanes]int32, t *PanelTerms, q *ScanQuery, out *[PanelLanes]float32) uint64 {
	for i := range out {
		out[i] = t.Head[i]*(q.Head*float32(dh[i])) + t.Rest[i]*(q.Rest*float32(dr[i])) + t.Radius[i]*q.Radius
	}
	if t.Offset != nil {
		for i := range out {
			out[i] += t.Offset[i] * q.Offset
		}
	}
	var mask uint64
	for i, v := range out {
		if v >= q.Cut {
			mask |= 1 << i
		}
	}
	return mask
}

// Transpose writes the first width codes of n <= 64 rows, stride bytes apart, into a
// panel; lanes from n on get the code of zero. width is a multiple of 4. The next 64
// rows are prefetched if rows extends to them.
func (kern Kernels) Transpose(panel []uint8, rows []uint8, stride, n, width int) {
	kern.transpose(panel, rows, stride, n, width)
}

// transposeGeneric is Transpose for lanes from and up; from lane n on they get zeros.
func transposeGeneric(panel []uint8, rows []uint8, stride, from, n, width int) {
	for i := from; i < PanelLanes; i++ {
		for c := 0; c < width; c += 4 {
			dst := (*[4]uint8)(panel[c*PanelLanes+4*i:])
			if i < n {
				*dst = *(*[4]uint8)(rows[i*stride+c:])
			} else {
				*dst = [4]uint8{Bias, Bias, Bias, Bias}
			}
		}
	}
}

// Select copies the entries with lo <= bound < hi, in order, to the front of toIDs and
// toBounds and returns their number. toIDs and toBounds may be ids and bounds
// themselves. All four have room for len(ids) entries, all of which may be overwritten.
func (kern Kernels) Select(toIDs []uint32, toBounds []float32, ids []uint32, bounds []float32, lo, hi float32) int {
	return kern.selects(toIDs, toBounds, ids, bounds, lo, hi)
}

func selectGeneric(toIDs []uint32, toBounds []float32, ids []uint32, bounds []float32, lo, hi float32) int {
	n := 0
	bounds = bounds[:len(ids)]
	for k, i := range ids {
		if b := bounds[k]; b >= lo && b < hi {
			toIDs[n], toBounds[n] = i, b
			n++
		}
	}
	return n
}
