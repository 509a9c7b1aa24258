package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/jobs"
	"thresher/join"
	"thresher/tasks"
)

// joining is one run of the command.
type joining struct {
	*app
	flags   *joinFlags
	left    joinSide
	right   joinSide
	rows    dataset.Reader // the left vectors
	table   *joinTable
	request batch.Request
	metric  collection.Metric
	files   pairFiles // out alone
	run     tasks.JoinRun
	threads int // of the CPU
	close   []func() error
	summary joinSummary
}

func (a *app) runJoin(ctx context.Context, f *joinFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	j := &joining{app: a, flags: f, files: pairFiles{out: f.out}}
	j.left.on, j.right.on = cmp.Or(f.leftOn, f.on), cmp.Or(f.rightOn, f.on)
	j.left.names, j.right.names = namesIn(f.leftColumns), namesIn(f.rightNames)
	if j.files.outFormat, err = tableFormat("out", f.out, dataset.ValuesWritten); err != nil {
		return err
	}
	if err := cli.RefuseFolders(f.out, j.files.log()); err != nil {
		return err
	}
	if err := refuseFormer(j.files.progress(), f.resume, f.force, f.out, j.files.log()); err != nil {
		return err
	}
	if err := j.ask(); err != nil {
		return err
	}
	defer func() {
		for _, do := range slices.Backward(j.close) {
			err = errors.Join(err, do())
		}
	}()
	if err := j.open(ctx); err != nil {
		return err
	}
	if err := j.readColumns(ctx); err != nil {
		return err
	}
	if j.left.empty || j.right.empty {
		j.loadNothing()
	} else if err := j.load(ctx); err != nil {
		return err
	}
	if err := j.find(ctx); err != nil {
		return err
	}
	return j.report()
}

// ask makes the request, and checks what of it needs no file.
func (j *joining) ask() error {
	c, f := j.Config, j.flags
	var err error
	if j.metric, err = givenMetric(c.Metric, "the tables have none of their own"); err != nil {
		return err
	}
	if err := f.limits.check(j.metric); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	j.request = batch.Request{K: c.K, Delta: c.Delta, Method: batch.Method(c.Method), MinScore: f.limits.minScore(), MaxScore: f.limits.maxScore()}
	if c.Origin("method").Kind == config.FromDefault {
		j.request.Method = batch.Certain
	}
	if f.limits.minScore() != nil && c.Origin("k").Kind == config.FromDefault {
		j.request.K = 0
	}
	if err := checkPublished("join", c, j.request.Method); err != nil {
		return err
	}
	return j.located((&join.RightOptions{Request: j.request}).Check())
}

// open opens both files and checks that their vectors fit each other.
func (j *joining) open(ctx context.Context) error {
	for _, side := range []struct {
		of         *joinSide
		flag, path string
	}{{&j.right, "right", j.flags.right}, {&j.left, "left", j.flags.left}} {
		in, err := j.openVectors(ctx, side.flag, side.path)
		if err != nil {
			return err
		}
		j.close = append(j.close, func() error { in.remove(); return nil })
		if in.isCollection() || in.folder != nil {
			return fmt.Errorf("--%s %s: has vectors prepared for searches; join reads tables alone: name the file that they were built from", side.flag, in.name)
		}
		in.except, in.idless = j.flags.keys(), true
		side.of.in = in
	}
	var err error
	if err := j.right.describe(); err != nil {
		return j.right.chosen(err, j.flags)
	}
	j.left.in.like = j.right.layout.Coordinates()
	if err := j.left.describe(); err != nil {
		return j.left.chosen(err, j.flags)
	}
	for _, side := range [][2]*joinSide{{&j.left, &j.right}, {&j.right, &j.left}} {
		if err := side[0].describeEmpty(side[1]); err != nil {
			return side[0].chosen(err, j.flags)
		}
	}
	if j.left.empty {
		j.rows = dataset.FromMemory(nil, 1, nil)
		return nil
	}
	if j.rows, err = j.left.in.open(&dataset.Options{Column: j.left.on, FindIDs: true}); err != nil {
		return j.left.chosen(err, j.flags)
	}
	j.close = append(j.close, j.rows.Close)
	if j.right.empty {
		return nil
	}
	return j.right.in.fits(&dataset.Options{Column: j.right.on}, j.left.in, j.rows.Dim())
}

// readColumns reads the columns beside the vectors, which are written, and the keys among them.
func (j *joining) readColumns(ctx context.Context) error {
	var err error
	for _, side := range []struct {
		of   *joinSide
		flag string
	}{{&j.left, "left"}, {&j.right, "right"}} {
		if err := side.of.read(ctx, j.app, side.flag, j.flags.keys()); err != nil {
			return err
		}
	}
	if j.flags.by != "" {
		if j.left.groups, j.right.groups, _, err = columns.Groups(j.left.columns, j.right.columns, j.flags.keys()); err != nil {
			return j.ofKey(err)
		}
	}
	j.left.dropLists(j.app, j.files.outFormat)
	j.right.dropLists(j.app, j.files.outFormat)
	j.table, err = newJoinTable(&j.left, &j.right, j.flags.keys(), j.flags.how == howLeft)
	if err != nil {
		return err
	}
	for _, c := range j.table.left {
		j.warnFiner(j.left.in, c)
	}
	for _, c := range j.table.right {
		j.warnFiner(j.right.in, c)
	}
	return j.table.fits(j.files.outFormat, j.left.in.name, j.right.in.name)
}

// ofKey adds the flag, and the file of a time, to an error of the keys.
func (j *joining) ofKey(err error) error {
	var finer *columns.FinerError
	if errors.As(err, &finer) {
		in := j.right.in
		if slices.Contains(j.left.columns.All(), finer.Column) {
			in = j.left.in
		}
		return fmt.Errorf("--by: %s: %w", in.name, err)
	}
	return fmt.Errorf("--by: %w", err)
}

// maxJoinBytes bounds the left vectors of a chunk, and what they find.
const maxJoinBytes = 64 << 20

// chunk is how many rows of the left table are joined at a time.
func (j *joining) chunk() int {
	rows := maxJoinBytes / (4 * j.rows.Dim())
	if j.request.K > 0 {
		rows = min(rows, 4*maxJoinBytes/(32*j.request.K))
	} else {
		rows = min(rows, 1024)
	}
	if j.Config.Origin("chunk").Kind != config.FromDefault {
		rows = min(rows, j.Config.Chunk)
	}
	return max(1, rows)
}

// find joins all rows and writes the output.
func (j *joining) find(ctx context.Context) error {
	fingerprint, err := j.fingerprint(ctx)
	if err != nil {
		return err
	}
	bar := j.NewProgress("joining")
	defer bar.Done()
	spec := jobs.Spec{
		Progress: j.files.progress(), Outputs: []string{j.files.log()}, Fingerprint: fingerprint, Resume: j.flags.resume, Force: j.flags.force,
		Observe: func(at jobs.Progress) {
			bar.Set(at.Items, j.rows.Len())
			j.Log.Debug("chunk is durable", "rows", at.Items, "pairs", j.run.Pairs, "elapsed", at.Elapsed)
		},
	}
	src := newQueryChunks(j.left.in, j.rows, j.chunk())
	done, err := jobs.Run(ctx, spec, src, func(ctx context.Context, rows queryRows, first int64, totals []byte) ([][]byte, []byte, error) {
		return j.match(ctx, rows, first, totals)
	})
	if err != nil {
		return stoppedJob(ctx, j.located(err), stopping{progress: spec.Progress, done: done.Items, items: "rows", resumed: j.flags.resume})
	}
	bar.Done()
	return j.finish(ctx, done)
}

// match joins the rows of a chunk.
func (j *joining) match(ctx context.Context, rows queryRows, first int64, totals []byte) ([][]byte, []byte, error) {
	if err := readJoinCounts(totals, &j.run.JoinCounts); err != nil {
		return nil, nil, err
	}
	left := join.LeftRows{Queries: rows.values, Changes: rows.changes, First: first}
	n := int64(len(rows.values) / j.rows.Dim())
	if have := int64(j.left.columns.Rows()); first+n > have {
		return nil, nil, &refusedError{fmt.Errorf("the columns of %s have %d rows, and there are more vectors", j.left.in.name, have)}
	}
	if j.left.groups != nil {
		left.Groups = j.left.groups[first : first+n]
	}
	var m *join.Matches
	var err error
	if j.right.empty {
		m = j.run.MatchNone(int(n))
	} else if m, err = j.run.Match(ctx, left); ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, j.located(err)
	}
	newTotals, err := json.Marshal(j.run.JoinCounts)
	return [][]byte{appendMatches(nil, m)}, newTotals, err
}

// readJoinCounts decodes the counts of the rows before; nil are none.
func readJoinCounts(totals []byte, into *tasks.JoinCounts) error {
	*into = tasks.JoinCounts{}
	if totals == nil {
		return nil
	}
	if err := json.Unmarshal(totals, into); err != nil {
		return fmt.Errorf("totals of the former run: %w", err)
	}
	return nil
}

// finish writes the output of what was found and ends the job.
func (j *joining) finish(ctx context.Context, done jobs.Summary) error {
	if err := readJoinCounts(done.Totals, &j.run.JoinCounts); err != nil {
		return err
	}
	begun := time.Now()
	j.summary.JoinSummary = *j.run.Summary(j.metric)
	j.summary.Resumed, j.summary.Output = done.Resumed, j.flags.out
	if done.Delivered {
		if err := requireFiles(j.files.progress(), j.flags.out); err != nil {
			return err
		}
		return removeIfThere(j.files.log())
	}
	facts, err := j.facts()
	if err != nil {
		return err
	}
	if err := j.table.write(ctx, &j.files, facts); err != nil {
		return err
	}
	if err := endJob(j.files.progress(), j.flags.resume); err != nil {
		return err
	}
	j.summary.WriteSeconds = time.Since(begun).Seconds()
	return removeIfThere(j.files.log())
}

// located adds the file, or the flag, to an error of the join.
func (j *joining) located(err error) error {
	var row *join.RowError
	var invalid *batch.RequestError
	switch {
	case errors.As(err, &row):
		return &refusedError{fmt.Errorf("%s: row %d (0-based): %w", j.left.in.name, row.Row, row.Err)}
	case errors.As(err, &invalid):
		return &refusedError{fmt.Errorf("--%s: %w", strings.ReplaceAll(invalid.Field, "_", "-"), invalid.Err)}
	}
	return j.left.in.named(err)
}

// fingerprint is a hash of everything that determines the output.
func (j *joining) fingerprint(ctx context.Context) (string, error) {
	left, err := j.left.in.hash(ctx)
	if err != nil {
		return "", err
	}
	right, err := j.right.in.hash(ctx)
	if err != nil {
		return "", err
	}
	score := func(limit *float64) uint64 {
		if limit == nil {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(*limit)
	}
	return digest(struct {
		Verb                     string
		Version                  int
		Left, Right              string
		LeftOn, RightOn          string
		By, How                  string
		LeftColumns, RightColumn string
		Metric, Method           string
		K                        int
		Delta                    float64
		MinScore, MaxScore       uint64
		Seed                     uint64
		Header                   string
	}{
		"join", 1, left, right, j.left.on, j.right.on, j.flags.by, j.flags.how, j.flags.leftColumns, j.flags.rightNames, j.metric.String(), string(j.request.Method),
		j.request.K, j.request.Delta, score(j.request.MinScore), score(j.request.MaxScore), j.Config.Seed, j.reading.header,
	})
}
