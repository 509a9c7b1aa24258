package worker

import (
	"context"

	"thresher/batch"
	"thresher/tasks"
	"thresher/verify"
)

// verify checks answers against scores recomputed in float64.
func (c *call) verify(ctx context.Context) (any, *sheet, error) {
	var f searching
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	h, err := c.hunt(&f, false)
	if err != nil {
		return nil, nil, err
	}
	defer h.v.release()
	resp, err := h.stated()
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	o, err := verify.NewOracle(h.v.Rows, h.v.Dim, h.v.Metric, c.s.o.Threads)
	if err != nil {
		return nil, nil, err
	}
	req := h.req
	req.Queries, req.Goals = h.queries, h.w.Queries(0, h.m)
	claims := func(yield func(*tasks.Claims, error) bool) {
		yield(&tasks.Claims{Request: &req, Answers: resp.Answers}, nil)
	}
	wrongs, gaps := make([]byte, h.m), make([]float64, h.m)
	found, err := tasks.Verify(ctx, o, claims, func(query int64, f *verify.Finding) {
		wrongs[query], gaps[query] = flag(f.Malformed != "" || len(f.Missed) > 0), f.Gap
	})
	if err != nil {
		return nil, nil, h.w.located(err, 0)
	}
	found.K, found.Metric = h.k, h.v.Metric.String()
	m := int64(h.m)
	out, err := columnsOf(c.s.link.passes(), []column{{"wrong", bools, []int64{m}}, {"gaps", float64s, []int64{m}}}, wrongs, bytesOf(gaps))
	return struct {
		Report *tasks.VerifySummary `json:"report"`
	}{found}, out, err
}

// stated reads the answers to verify. Without certificates they claim to be exact.
func (h *hunt) stated() (*batch.Response, error) {
	ids, m, width, err := h.c.integers("ids")
	if err != nil {
		return nil, err
	}
	if m != h.m {
		return nil, wrong("ids", "%d rows for %d queries", m, h.m).within(h.m)
	}
	var scores []float32
	states, err := h.c.get("scores", float32s)
	if err != nil {
		return nil, err
	}
	if states != nil {
		if len(states.Shape) != 2 || states.Shape[0] != int64(m) || states.Shape[1] != int64(width) {
			return nil, wrong("scores", "shape %v; that of ids, [%d %d], is wanted", states.Shape, m, width)
		}
		b, err := states.read()
		if err != nil {
			return nil, err
		}
		scores = elements[float32](b)
	}
	records, err := h.c.get("certificates", certificates)
	if err != nil {
		return nil, err
	}
	var record []byte
	if records != nil {
		if len(records.Shape) != 1 || records.Shape[0] != int64(m) {
			return nil, wrong("certificates", "shape %v; [%d] is wanted", records.Shape, m)
		}
		if record, err = records.read(); err != nil {
			return nil, err
		}
	}
	resp := &batch.Response{Answers: make([]batch.Answer, m)}
	for j := range resp.Answers {
		a := &resp.Answers[j]
		a.Certificate = batch.Certificate{Method: batch.Exact, Guarantee: batch.GuaranteeExact, StoppedBy: batch.Done, Exact: true}
		if record != nil {
			a.Certificate = readCertificate(record[j*certificateBytes:])
		}
		for at := range width {
			if id := ids[j*width+at]; id != -1 { // padding
				a.IDs = append(a.IDs, id)
				if scores != nil {
					a.Scores = append(a.Scores, scores[j*width+at])
				}
			}
		}
	}
	return resp, nil
}
