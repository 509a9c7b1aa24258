package catalog

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/service/problem"
)

// TestMemoryBeforeRows: rows to write are refused for their memory before they are read, with figures: those of a file that says how many
// it has at once, others as they arrive; what is bad about a later row is not found any more, and nothing stays reserved.
func TestMemoryBeforeRows(t *testing.T) {
	const dim = 64
	for _, dtype := range []string{"", "float64"} {
		f, ctx := newFolder(t, Options{Place: placer(t)}), context.Background()
		f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, dim, ints(1, 2, 3)), CreateOptions{Metric: "ip", DType: dtype}, ""))
		before := f.c.Memory()
		f.c.memory.most = before + 1<<20

		var npy bytes.Buffer
		rows := make([]float64, 20000*dim)
		rows[len(rows)-1] = 1e39
		if err := dataset.WriteNPY64(&npy, len(rows)/dim, dim, rows); err != nil {
			t.Fatal(err)
		}
		text := "id"
		for j := range dim {
			text += fmt.Sprint(",x", j)
		}
		lines := []string{text}
		for i := range 20000 {
			lines = append(lines, fmt.Sprint(100+i, strings.Repeat(",1", dim)))
		}
		lines = append(lines, fmt.Sprint(9, strings.Repeat(",y", dim)))
		for name, src := range map[string]Source{
			"npy":    {Body: bytes.NewReader(npy.Bytes()), Format: dataset.NPY},
			"csv":    {Body: strings.NewReader(strings.Join(lines, "\n")), Format: dataset.CSV},
			"memory": {Rows64: rows, Dim: dim},
		} {
			_, err := f.c.Append(ctx, "a", src, "")
			if p := problem.Of(err); p.Kind != problem.OutOfMemory || !strings.Contains(err.Error(), "rows of 64 columns to write need about") || !strings.Contains(err.Error(), fmt.Sprint("the memory budget is ", before+1<<20)) {
				t.Errorf("%s %s: %v", name, dtype, err)
			}
			if now := f.c.Memory(); now != before {
				t.Errorf("%s %s: %d bytes are reserved, %d before", name, dtype, now, before)
			}
		}
		if i, err := f.c.Append(ctx, "a", rowsOf(3, 50, dim, nil), ""); err != nil || i.Count != 53 {
			t.Errorf("%s: %+v, %v", dtype, i, err)
		}
		if names := f.files(); len(names) != 1 || !strings.HasSuffix(names[0], ".folder") {
			t.Errorf("%s: files %v", dtype, names)
		}
	}
}
