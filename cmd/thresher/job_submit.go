package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service/api"
	"thresher/service/client"
)

// jobSubmit is one run of the verb.
type jobSubmit struct {
	waiting
	collection   string
	outputFormat string
	window       string
	key          string
	metadata     map[string]string
	minScore     float64
	hasMinScore  bool // --min-score was given
	maxScore     float64
	hasMaxScore  bool   // --max-score was given
	filter       string // expression
	certificates bool
	goals        jobGoals
	column       string
	wait         bool
	fetch        jobFetch
}

// searchKeys lists the settings that a server's search has too.
func searchKeys() []string { return []string{"k", "method", "delta", "epsilon"} }

func newJobSubmitCommand(a *app, f *serverFlags) *cobra.Command {
	s := &jobSubmit{waiting: waiting{serverFlags: f}, fetch: jobFetch{serverFlags: f, verb: "job submit"}}
	cmd := &cobra.Command{
		Use:   "submit FILE",
		Short: "Upload a file of queries and start a job",
		Long: `Upload a file of queries and start a job.

A matrix (.npy, .fvecs, .parquet, ..) has one query in each row; the flags say how to
search. A .jsonl file has one request on each line,

  {"custom_id":"a","method":"POST","url":"/v1/collections/films/search","body":{"queries":[[..]],"k":10}}

and needs no --collection. With search flags or --output-format it is read as a
matrix, with one array of numbers on each line.

--k-column, --min-score-column and --max-score-column name columns of a matrix with the k and
the least and the greatest score of each query, --filter-column one with the filter of each; --exclude and --candidates are files
with the vectors that each query may not return or scores first, which are uploaded too.

With --wait and --out (or --errors) the answers are fetched once the job is done, as
by job fetch; if writing them fails they are still on the server.`,
		Example: `  thresher job submit queries.npy --collection films -k 10 --output-format npz
  thresher job submit queries.jsonl --collection films -k 10 --wait --out answers.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("job submit: %d files named, wants one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.hasMinScore, s.hasMaxScore = cmd.Flags().Changed("min-score"), cmd.Flags().Changed("max-score")
			return a.runSubmit(cmd.Context(), s, args[0])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&s.collection, "collection", "", "`name` of the collection to search")
	fs.StringVar(&s.outputFormat, "output-format", "", "`format` of the answers to a matrix: jsonl, npz, csv or parquet (default jsonl)")
	fs.StringVar(&s.window, "window", "24h", "`time` after which the job expires")
	fs.StringVar(&s.key, "key", "", "idempotency `key`: submitting again with it returns the first job")
	fs.StringToStringVar(&s.metadata, "metadata", nil, "`name=text` to store with the job; may be repeated")
	fs.Float64Var(&s.minScore, "min-score", 0, "return all vectors that score at least this (distances: at most)")
	fs.Float64Var(&s.maxScore, "max-score", 0, "return only vectors that score at most this (distances: at least)")
	fs.StringVar(&s.filter, "filter", "", "only vectors for which this `expression` over columns of the collection is true")
	fs.BoolVar(&s.certificates, "certificates", false, "include the certificate of every answer")
	s.goals.add(fs)
	fs.StringVar(&s.column, "queries-column", "", columnHelp("the queries of a matrix"))
	a.reading.add(fs)
	fs.BoolVar(&s.wait, "wait", false, "wait until the job is done")
	s.addFlags(cmd)
	s.fetch.addFlags(cmd)
	addSettings(cmd, append(searchKeys(), batch.PublishedNames()...)...)
	return cmd
}

func (a *app) runSubmit(ctx context.Context, s *jobSubmit, path string) error {
	switch {
	case s.fetch.wanted() && !s.wait:
		return errors.New("job submit: --out and --errors need --wait: answers exist once the job is done")
	case s.fetch.force && !s.fetch.wanted():
		return errors.New("job submit: --overwrite is for the files of --out and --errors")
	case s.fetch.wanted():
		if err := s.fetch.check(); err != nil {
			return err
		}
	}
	spec, err := s.spec(a.Config, path, a.reading.header)
	if err != nil {
		return err
	}
	c, err := s.Connect()
	if err != nil {
		return err
	}
	b, err := a.submit(ctx, c, s, path, spec)
	if ctx.Err() != nil {
		return cli.Exit(cli.ExitInterrupted, errors.New("interrupted before the server answered; thresher job list shows whether the job exists"))
	}
	if err != nil {
		return remote.WithExitCode(err)
	}
	if s.wait {
		fmt.Fprintf(a.Err, "batch %s\n", b.ID)
		if !s.fetch.wanted() {
			return a.waitFor(ctx, c, &s.waiting, b.ID)
		}
		if b, err = a.awaited(ctx, c, &s.waiting, b.ID); err != nil {
			return err
		}
		return a.fetchAll(ctx, c, &s.fetch, b)
	}
	if s.json {
		return json.NewEncoder(a.Out).Encode(b)
	}
	fmt.Fprintln(a.Out, b.ID)
	return nil
}

// spec returns the request for a batch, without the file's id.
func (s *jobSubmit) spec(c *config.Config, path, header string) (api.BatchSpec, error) {
	spec := api.BatchSpec{CompletionWindow: s.window, Metadata: s.metadata, OutputFormat: s.outputFormat, Column: s.column, Header: header}
	format, _ := dataset.FormatOf(path)
	requests := format == dataset.JSONL && s.outputFormat == "" && !s.hasMinScore && !s.hasMaxScore && !s.certificates && s.filter == "" && s.goals == jobGoals{} && s.column == "" && header == ""
	for _, key := range append(searchKeys(), batch.PublishedNames()...) {
		requests = requests && c.Origin(key).Kind != config.FromFlag
	}
	if s.collection == "" && !requests {
		return spec, errors.New("job submit: --collection names the collection to search")
	}
	if s.collection == "" {
		var err error
		spec.Endpoint, err = firstEndpoint(path)
		return spec, err
	}
	spec.Endpoint = client.SearchPath(s.collection)
	if requests {
		return spec, nil
	}
	spec.Goals = s.goals.spec()
	options := s.options(c)
	published, err := publishedOptions(c)
	if err != nil {
		return spec, err
	}
	if published.String() != "" {
		options["published"] = &published
	}
	text, err := json.Marshal(options)
	spec.Search = text
	return spec, err
}

// options returns the settings that were given by any source; the server chooses the others.
func (s *jobSubmit) options(c *config.Config) map[string]any {
	options := map[string]any{}
	for key, value := range map[string]any{"k": c.K, "method": c.Method, "delta": c.Delta, "epsilon": c.Epsilon} {
		if c.Origin(key).Kind != config.FromDefault {
			options[key] = value
		}
	}
	if s.hasMinScore {
		options["min_score"] = s.minScore
	}
	if s.hasMaxScore {
		options["max_score"] = s.maxScore
	}
	if s.filter != "" {
		options["filter"] = s.filter
	}
	if s.certificates {
		options["include"] = []string{"certificate"}
	}
	return options
}

// maxFirstLine bounds the bytes read of a file of requests to find its collection.
const maxFirstLine = 64 << 20

// firstEndpoint returns the URL of the first request in a file.
func firstEndpoint(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	r := bufio.NewReader(io.LimitReader(f, maxFirstLine))
	for {
		text, err := r.ReadString('\n')
		if line := strings.TrimSpace(text); line != "" {
			var request struct {
				URL string `json:"url"`
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "\ufeff")), &request) != nil || request.URL == "" {
				return "", fmt.Errorf("job submit: %s: its first line is no request with a url; --collection names a collection", path)
			}
			return request.URL, nil
		}
		if err == io.EOF {
			return "", fmt.Errorf("job submit: %s: holds no request", path)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
	}
}

// submit uploads the files and creates the batch. All have idempotency keys derived from one,
// so that a retry has no further effect.
func (a *app) submit(ctx context.Context, c *client.Client, s *jobSubmit, path string, spec api.BatchSpec) (api.Batch, error) {
	type input struct {
		path, suffix string // suffix of the key
		id           *string
	}
	files := []input{{path, "", &spec.InputFileID}}
	if g := spec.Goals; g != nil {
		files = append(files, input{s.goals.exclude, "-exclude", &g.ExcludeFileID}, input{s.goals.candidates, "-candidates", &g.CandidatesFileID})
	}
	var uploaded []string
	for _, f := range files {
		if f.path == "" {
			continue
		}
		file, err := a.upload(ctx, c, f.path, s.key, f.suffix)
		if err != nil {
			a.deleteUploads(ctx, c, s.key, uploaded)
			return api.Batch{}, err
		}
		*f.id = file.ID
		uploaded = append(uploaded, file.ID)
	}
	b, err := c.CreateBatch(ctx, spec, s.key)
	var refused *client.Problem
	if errors.As(err, &refused) && refused.Status < 500 {
		a.deleteUploads(ctx, c, s.key, uploaded)
	}
	return b, err
}

// upload uploads a file for a batch, under a key of its own if there is one.
func (a *app) upload(ctx context.Context, c *client.Client, path, key, suffix string) (api.File, error) {
	up, err := client.UploadOf(path, "batch")
	if err != nil {
		return api.File{}, err
	}
	if key != "" {
		up.Key = key + suffix
	}
	p := a.NewProgress("uploading")
	defer p.Done()
	up.Sent = func(n int64) { p.Set(n, up.Size) }
	file, err := c.Upload(ctx, up)
	if err == nil {
		a.Log.Info("uploaded", "file", file.ID, "bytes", file.Bytes)
	}
	return file, err
}

// deleteUploads deletes files that are of no use without their batch. With a key they will be
// found again.
func (a *app) deleteUploads(ctx context.Context, c *client.Client, key string, ids []string) {
	if key != "" {
		return
	}
	for _, id := range ids {
		if err := c.DeleteFile(ctx, id); err != nil {
			a.Log.Warn("the uploaded file could not be deleted from the server", "file", id, "error", err)
		}
	}
}
