package dataset

// openNPYResults reads a matrix of ids.
func openNPYResults(src *source) (ResultReader, error) {
	h, err := readNPYHeader(src.r)
	if err != nil {
		return nil, fail(src.name, "%w", err)
	}
	if len(h.shape) == 1 {
		return nil, fail(src.name, "array of shape (%d,) may be one answer or one id a query; save it as (m, k), a row a query", h.shape[0])
	}
	ids, err := newNPZColumn(src.name, h, 2, idTypes, src.budget)
	if err != nil {
		return nil, err
	}
	if src.size >= 0 {
		if err := checkSize(src.name, h.shape[0], ids.cols, ids.size, src.size-h.length); err != nil {
			return nil, err
		}
	}
	ids.r = src.r
	return &npzResults{source: src, ids: ids, cols: ids.cols, rows: h.shape[0]}, nil
}
