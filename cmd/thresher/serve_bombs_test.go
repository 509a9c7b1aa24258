package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"thresher/internal/race"
)

// bomb is a body that takes far more memory than its bytes if it is decoded before it is refused.
type bomb struct {
	name, path, kind string
	zipped           bool
	body             []byte
	statuses         []int
}

// zippedText returns head and a unit, repeated, in gzip.
func zippedText(t *testing.T, head, unit string, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, head); err != nil {
		t.Fatal(err)
	}
	block := []byte(strings.Repeat(unit, 1<<16))
	for ; n > 0; n -= 1 << 16 {
		if _, err := z.Write(block[:min(n, 1<<16)*len(unit)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// longIDs returns a Parquet file of vectors that have one id of 1 MB.
func longIDs(t *testing.T, rows int) []byte {
	t.Helper()
	type row struct {
		ID  string    `parquet:"id,dict"`
		Vec []float32 `parquet:"vec,list"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(&parquet.Zstd))
	id := strings.Repeat("x", 1_000_000)
	for range rows {
		if _, err := w.Write([]row{{id, make([]float32, 4)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zeroBatch returns an Arrow stream of one batch of zeros in lz4.
func zeroBatch(t *testing.T, rows, dim int) []byte {
	t.Helper()
	kind := arrow.FixedSizeListOf(int32(dim), arrow.PrimitiveTypes.Float32)
	schema := arrow.NewSchema([]arrow.Field{{Name: "vec", Type: kind}}, nil)
	zeros := array.NewData(arrow.PrimitiveTypes.Float32, rows*dim, []*memory.Buffer{nil, memory.NewBufferBytes(make([]byte, 4*rows*dim))}, nil, 0, 0)
	list := array.MakeFromData(array.NewData(kind, rows, []*memory.Buffer{nil}, []arrow.ArrayData{zeros}, 0, 0))
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema), ipc.WithLZ4())
	if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{list}, int64(rows))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bombs returns bodies of every format whose reader once took memory before it refused them.
func bombs(t *testing.T) []bomb {
	const collection, csv, lines, object = "/v1/collections/bomb?replace=true&wait=true&metric=ip", "text/csv", "application/x-ndjson", "application/json"
	refused := []int{400, 413, 507}
	put := func(name, kind string, zipped bool, body []byte) bomb {
		return bomb{name, collection, kind, zipped, body, refused}
	}
	const many = 20_000_000
	return []bomb{
		put("csv: a line of 40 MB", csv, true, zippedText(t, "1", ",1", many)),
		put("csv: a header of 40 MB", csv, true, zippedText(t, "b", ",a", many)),
		put("csv: a field of 40 MB", csv, true, zippedText(t, `"`, "xx", many)),
		put("jsonl: a vector of 40 MB", lines, true, zippedText(t, "[1", ",1", many)),
		put("jsonl: a string of 40 MB", lines, true, zippedText(t, `{"id":"`, "aa", many)),
		put("parquet: 300 ids of 1 MB, by dictionary", "application/vnd.apache.parquet", false, longIDs(t, 300)),
		put("arrow: 512 MB of zeros in lz4", "application/vnd.apache.arrow.stream", false, zeroBatch(t, 1<<19, 256)),
		put("safetensors: a header of 90 MB", "application/x-safetensors", true, zippedText(t, "\x80\x4a\x5d\x05\x00\x00\x00\x00"+`{"a":"`, "x", 90_000_000)),
		put("json: vectors of 60 MB", object, true, zippedText(t, `{"metric":"ip","source":{"vectors":[[1`, ",1", 30_000_000)),
		put("json: ids of 60 MB", object, true, zippedText(t, `{"metric":"ip","source":{"ids":["a"`, `,"a"`, 15_000_000)),
		{"search: a query of 60 MB", "/v1/collections/small/search", object, true, zippedText(t, `{"queries":[[1`, ",1", 30_000_000), refused},
	}
}

// residentOf returns a figure of a process, in bytes; 0 where the system does not tell.
func residentOf(t *testing.T, pid int, field string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if figure, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(figure)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	return 0
}

// TestServeBombs: small bodies that claim or expand to much are refused before they take memory, whatever their
// format; what they took is given back, so that a second later the process is about as large as before.
func TestServeBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("sends bodies of up to 90 MB")
	}
	all := bombs(t)
	cmd, url, said := serveChild(t, "--listen=127.0.0.1:0", "--data="+filepath.Join(t.TempDir(), "data"), "--backend=cpu", "--threads=1",
		"--limits-memory=64MiB", "--limits-upload=4GiB", "--drain-lame-duck=0s")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: soon}
	send := func(b *bomb, method string) (int, string) {
		t.Helper()
		headers := []string{"Content-Type", b.kind}
		if b.zipped {
			headers = append(headers, "Content-Encoding", "gzip")
		}
		resp, err := client.Do(request(t, method, url+b.path, b.body, headers...))
		if err != nil {
			t.Fatalf("%s: %v: %s", b.name, err, said)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	small := bomb{name: "small", path: "/v1/collections/small?wait=true", kind: "application/json", body: []byte(`{"metric":"ip","source":{"vectors":[[1,2],[3,4]]}}`)}
	if status, text := send(&small, http.MethodPut); status/100 != 2 {
		t.Fatal(status, text)
	}
	const mega = 1_000_000
	rest := residentOf(t, cmd.Process.Pid, "VmRSS")
	for i := range all {
		b := &all[i]
		method := http.MethodPut
		if strings.Contains(b.path, "search") {
			method = http.MethodPost
		}
		status, text := send(b, method)
		if !slices.Contains(b.statuses, status) {
			t.Errorf("%s: %d, want one of %v: %.300s", b.name, status, b.statuses, text)
		}
		if peak := residentOf(t, cmd.Process.Pid, "VmHWM"); peak-rest > 400*mega && !race.Enabled {
			t.Fatalf("%s: %d bytes took %d MB: %d %.300s", b.name, len(b.body), (peak-rest)/mega, status, text)
		}
		for began := time.Now(); residentOf(t, cmd.Process.Pid, "VmRSS")-rest > 100*mega && !race.Enabled; runtime.Gosched() {
			if time.Since(began) > soon {
				t.Fatalf("%s: %d MB above rest have not been given back", b.name, (residentOf(t, cmd.Process.Pid, "VmRSS")-rest)/mega)
			}
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
