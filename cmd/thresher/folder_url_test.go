package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// bucket is an object store on loopback, with a bucket box that s3:// reaches.
type bucket struct {
	t       *testing.T
	backend *s3mem.Backend
	got     atomic.Int64 // objects that were fetched
}

// openBucket starts one.
func openBucket(t *testing.T) *bucket {
	t.Helper()
	s := &bucket{t: t, backend: s3mem.New()}
	if err := s.backend.CreateBucket("box"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(s.backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Count(r.URL.Path, "/") > 2 { // no list
			s.got.Add(1)
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(t.TempDir(), "none"), "AWS_CONFIG_FILE": filepath.Join(t.TempDir(), "none"),
		"THRESHER_CACHE": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	return s
}

// upload copies the files of a folder to the bucket, under its name, and removes what is there else.
func (s *bucket) upload(folder string) {
	s.t.Helper()
	prefix := gofakes3.NewFolderPrefix(folder + "/")
	there, err := s.backend.ListBucket("box", &prefix, gofakes3.ListBucketPage{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range there.Contents {
		if _, err := s.backend.DeleteObject("box", o.Key); err != nil {
			s.t.Fatal(err)
		}
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = s.backend.PutObject("box", filepath.ToSlash(path), map[string]string{"Last-Modified": "Mon, 02 Jan 2006 15:04:05 GMT"}, strings.NewReader(string(text)), int64(len(text)), nil)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestFolderURL: a folder in an object store is fetched once and searched from segment to segment, and judged, as the folder here is; once
// it has changed there, as it is then. What is damaged there is named by its URL.
func TestFolderURL(t *testing.T) {
	race.Skip(t, "takes a minute")
	t.Chdir(t.TempDir())
	s := openBucket(t)
	run := func(args ...string) string {
		t.Helper()
		got := thresher(t, args...)
		got.WantCode(t, cli.ExitOK)
		return got.Out + got.Err
	}
	const dim = 32
	number := func(i int) string { return fmt.Sprint(i) }
	clitest.WriteFile(t, ".", "gone.txt", []byte("10\n13\n16\n"))
	asked := []string{"--queries", "q.jsonl", "--queries-column", "vector"}
	for _, dtype := range []string{"float32", "float64"} {
		drawn := func(seed uint64, ids []int) []byte {
			lines := drawnLines(seed, dim, ids, number)
			if dtype == "float64" {
				return far(t, lines)
			}
			return lines
		}
		put := func(name string, lines []byte) {
			clitest.WriteFile(t, ".", name, lines)
			run("rows", "put", "--collection", dtype, "--vectors", name, "--vectors-column", "vector")
		}
		clitest.WriteFile(t, ".", "a.jsonl", drawn(1, everyThird(7, 4500)))
		clitest.WriteFile(t, ".", "q.jsonl", drawn(3, everyThird(0, 12)))
		run("build", "--vectors", "a.jsonl", "--metric", "l2", "--vectors-column", "vector", "--columns", "year", "--dtype", dtype, "--out", dtype+"/")
		put("b.jsonl", drawn(2, everyThird(7+3*4200, 900)))
		run("rows", "delete", "--collection", dtype, "--ids", "gone.txt")
		for version := range 2 {
			if version == 1 { // of which each is the nearest to a query
				put("more.jsonl", drawn(3, everyThird(100_000, 12)))
			}
			there := "s3://box/" + dtype
			answered := func(vectors string, args ...string) string {
				t.Helper()
				run(slices.Concat(args, asked, []string{"--vectors", vectors, "-k", "5", "--out", "o.jsonl", "--overwrite"})...)
				return foundIn(t, "o.jsonl")
			}
			clitest.WriteFile(t, ".", dtype+"/verified.json", []byte("{}")) // as those who search a copied folder write it, here and in the cache
			s.upload(dtype)
			for i, args := range [][]string{{"search", "--method", "exact"}, {"search", "--method", "adaptive"}, {"search", "--filter", "year < 1993"}, {"truth"}, {"search"}} {
				if got, want := answered(there+"/", args...), answered(dtype, args...); got != want || got == "" {
					t.Errorf("%s, version %d, %v: at the URL\n%.600s\nhere\n%.600s", dtype, version, args, got, want)
				}
				if got := s.got.Swap(0); (got > 0) != (i == 0) {
					t.Errorf("%s, version %d, %v: %d objects were fetched", dtype, version, args, got)
				}
			}
			answered(there, "search")
			if walked := string(read(t, "o.jsonl")); !strings.Contains(walked, `"plan":"merged"`) {
				t.Errorf("%s is not walked: %.600s", there, walked)
			}
			for _, c := range []struct{ args, want string }{
				{"verify --answers o.jsonl", "wrong      0"}, {"recall --answers o.jsonl", "1.0000"}, {"certify --answers o.jsonl --out c.jsonl --overwrite", "corrected  0"},
				{"report --answers o.jsonl --out r.html --overwrite", "100% of the true 5"},
			} {
				if got := run(slices.Concat(strings.Fields(c.args), asked, []string{"--vectors", there})...); !strings.Contains(got, c.want) {
					t.Errorf("%s %s: %s", c.args, there, got)
				}
			}
		}
	}
	segment, err := filepath.Glob("float64/*.thresher")
	if err != nil || len(segment) == 0 {
		t.Fatal(segment, err)
	}
	b := read(t, segment[0])
	b[len(b)/2] ^= 1
	clitest.WriteFile(t, ".", segment[0], b)
	s.upload("float64")
	for range 2 {
		got := thresher(t, slices.Concat([]string{"search", "--vectors", "s3://box/float64/", "-k", "1", "--out", "o.jsonl", "--overwrite"}, asked)...)
		got.WantError(t, "s3://box/"+filepath.ToSlash(segment[0]))
	}
}
