package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"thresher/batch"
	"thresher/dataset"
	"thresher/jobs"
	"thresher/join"
	"thresher/tasks"
)

// readPairCounts decodes the counts of the rows before; nil are none.
func readPairCounts(totals []byte) (n tasks.PairCounts, err error) {
	if totals == nil {
		return n, nil
	}
	if err := json.Unmarshal(totals, &n); err != nil {
		return n, fmt.Errorf("totals of the former run: %w", err)
	}
	return n, nil
}

// find finds all pairs and writes the outputs.
func (p *pairing) find(ctx context.Context) error {
	fingerprint, err := p.fingerprint(ctx)
	if err != nil {
		return err
	}
	bar := p.NewProgress("pairing")
	defer bar.Done()
	begun := time.Now()
	spec := jobs.Spec{
		Progress: p.files.progress(), Outputs: []string{p.files.log()}, Fingerprint: fingerprint,
		Resume: p.flags.resume, Force: p.flags.force,
		Observe: func(at jobs.Progress) {
			found := p.search.Counts().Pairs
			bar.Retitle(fmt.Sprintf("pairing, %d pairs", found))
			bar.Set(at.Items, p.search.Total())
			p.Log.Debug("chunk is durable", "rows", at.Items, "pairs", found, "elapsed", at.Elapsed)
		},
	}
	foreseen := p.search.Expected()
	done, err := jobs.Run(ctx, spec, p.search, func(_ context.Context, b join.PairBlock, first int64, totals []byte) ([][]byte, []byte, error) {
		counts, err := readPairCounts(totals)
		if err != nil {
			return nil, nil, err
		}
		p.search.Resume(counts)
		if err := p.search.Add(&b, time.Since(begun)); err != nil {
			return nil, nil, &refusedError{p.tooMany(err)}
		}
		begun = time.Now()
		if expected := p.search.Expected(); expected != foreseen {
			foreseen = expected
			p.foresee(expected)
		}
		newTotals, err := json.Marshal(p.search.Counts())
		return [][]byte{join.AppendRun(nil, b.Pairs)}, newTotals, err
	})
	if err != nil {
		return stoppedJob(ctx, p.located(err), stopping{progress: spec.Progress, done: done.Items, items: "rows", resumed: p.flags.resume})
	}
	bar.Done()
	return p.finish(ctx, done)
}

// foresee tells how many pairs the first rows of --with let expect.
func (p *pairing) foresee(expected float64) {
	rows, about := p.search.Counts().Work.Rows, fmt.Sprintf("about %.2g", expected)
	p.Log.Info("pairs expected", "pairs", about, "sample", rows)
	if limit := p.flags.maxPairs; limit > 0 && expected > float64(limit) {
		p.Log.Warn("if the other rows are like the first, the run will stop at --max-pairs", "pairs", about, "rows", rows, "max_pairs", limit)
	}
}

// tooMany says in words of flags that the limit of pairs is exceeded.
func (p *pairing) tooMany(err error) error {
	var e *tasks.PairLimitError
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("--max-pairs %d: %d pairs %s among %s; move --%s, or raise --max-pairs and continue with --resume",
		e.Limit, e.Pairs, p.summary.Reach(), e.Among(), p.flags.limit.minFlag)
}

// finish merges the pairs into the output files and ends the job.
func (p *pairing) finish(ctx context.Context, done jobs.Summary) error {
	counts, err := readPairCounts(done.Totals)
	if err != nil {
		return err
	}
	if counts.Work.Rows == 0 {
		return fmt.Errorf("%s: no rows", p.in.with.name)
	}
	p.search.Resume(counts)
	if done.Delivered {
		return p.delivered(done)
	}
	begun := time.Now()
	table := dataset.PairTable{RowsA: int64(p.engine.atoms.N), RowsB: counts.Work.Rows, NamesA: p.engine.atoms.names, NamesB: p.engine.atoms.names, Count: counts.Pairs}
	if p.with == nil {
		table.RowsB = table.RowsA
	} else {
		if table.NamesB, err = p.namesWith(ctx); err != nil {
			return err
		}
	}
	shape, err := p.files.write(ctx, &table, p.with != nil)
	if err != nil {
		return err
	}
	if err := endJob(p.files.progress(), p.flags.resume); err != nil {
		return err
	}
	if err := removeIfThere(p.files.log()); err != nil {
		return err
	}
	p.summary.set(p.search, shape)
	p.summary.WriteSeconds = time.Since(begun).Seconds()
	p.summary.Resumed = done.Resumed
	p.summary.Output, p.summary.Components.Output = p.flags.out, p.flags.components
	return nil
}

// delivered reports a job that an earlier run had ended.
func (p *pairing) delivered(done jobs.Summary) error {
	if err := requireFiles(p.files.progress(), p.files.results()...); err != nil {
		return err
	}
	p.summary.set(p.search, nil)
	p.summary.Resumed = done.Resumed
	p.summary.Output = strings.Join(p.files.results(), ", ")
	return removeIfThere(p.files.log())
}

// namesWith reads the ids of the rows of --with; nil if it has none.
func (p *pairing) namesWith(ctx context.Context) (*dataset.IDs, error) {
	names, err := p.in.with.names(ctx, &dataset.Options{Column: p.flags.withColumn, IDs: p.flags.ids, FindIDs: true})
	if err != nil || names == nil {
		return nil, err
	}
	return names, p.in.with.checkIDs(names)
}

// located adds the file to an error of the join.
func (p *pairing) located(err error) error {
	var row *join.RowError
	var invalid *batch.RequestError
	switch {
	case errors.As(err, &row):
		in := p.in.atoms
		if p.with != nil {
			in = p.in.with
		}
		return &refusedError{fmt.Errorf("%s: row %d (0-based): %w", in.name, row.Row, row.Err)}
	case errors.As(err, &invalid):
		return &refusedError{fmt.Errorf("--%s: %w", strings.ReplaceAll(invalid.Field, "_", "-"), invalid.Err)}
	}
	if p.with != nil {
		return p.in.with.named(err)
	}
	return err
}

// fingerprint is a hash of everything that determines the pairs.
func (p *pairing) fingerprint(ctx context.Context) (string, error) {
	atoms, err := p.in.atoms.hash(ctx)
	if err != nil {
		return "", err
	}
	savedIDs, err := p.in.atoms.hashSavedIDs(ctx)
	if err != nil {
		return "", err
	}
	with := ""
	if p.with != nil {
		if with, err = p.in.with.hash(ctx); err != nil {
			return "", err
		}
	}
	var savedColumns string // with a filter
	if p.flags.filter.expr != nil {
		if savedColumns, err = p.in.atoms.hashSavedColumns(ctx); err != nil {
			return "", err
		}
	}
	o, err := p.buildOptions(p.options.Method)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.NewEncoder(&b).Encode(struct {
		Verb                    string
		Version                 int
		Atoms, With             string
		AtomsColumn, WithColumn string
		Method, Metric, Basis   string
		Delta, MinScore         float64
		Seed                    uint64
		Header                  string `json:",omitempty"`
		SavedIDs                string `json:",omitempty"`
		DType                   string `json:",omitempty"`
		Filter                  string `json:",omitempty"`
		SavedColumns            string `json:",omitempty"`
	}{
		"pairs", 1, atoms, with, p.flags.atomsColumn, p.flags.withColumn,
		string(p.options.Method), p.engine.atoms.Metric.String(), o.Basis.String(),
		p.options.Delta, p.options.MinScore, p.engine.atoms.Seed, p.reading.header, savedIDs, p.engine.atoms.wide(), p.flags.filter.text, savedColumns,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), nil
}
