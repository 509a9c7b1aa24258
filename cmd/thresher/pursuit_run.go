package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"thresher/batch"
	"thresher/dataset"
	"thresher/internal/atomicfile"
	"thresher/internal/cli"
	"thresher/jobs"
	"thresher/tasks"
)

// progress is the path of the durable progress.
func (p *pursuing) progress() string { return p.flags.out + ".progress" }

// log is the path of the terms found so far.
func (p *pursuing) log() string { return p.flags.out + ".spool" }

// pursue finds the terms of all signals and writes them.
func (p *pursuing) pursue(ctx context.Context) error {
	bar := p.NewProgress("pursuing")
	defer bar.Done()
	src := newQueryChunks(p.in.signals, p.reader, p.Config.Chunk).forAtoms(p.engine.atoms)
	src.chunk = max(1, min(src.chunk, int(chunkBytes/p.pursuit.SignalBytes())))
	if err := p.boundMemory(src); err != nil {
		return err
	}
	if p.flags.out == cli.Stdio {
		return p.stream(ctx, src, func(done int64) { bar.Set(done, p.reader.Len()) })
	}
	fingerprint, err := p.fingerprint(ctx)
	if err != nil {
		return err
	}
	spec := jobs.Spec{
		Progress: p.progress(), Outputs: []string{p.log()}, Fingerprint: fingerprint, Resume: p.flags.resume, Force: p.flags.force,
		Observe: func(at jobs.Progress) {
			bar.Set(at.Items, p.reader.Len())
			p.Log.Debug("chunk is durable", "signals", at.Items, "elapsed", at.Elapsed)
		},
	}
	done, err := jobs.Run(ctx, spec, src, p.chunk)
	if err != nil {
		return stoppedJob(ctx, err, stopping{progress: spec.Progress, done: done.Items, items: "signals", resumed: p.flags.resume})
	}
	return p.finish(ctx, done)
}

// termBytes is the memory of a term, while those of a chunk are added to the log.
const termBytes = 4 * dataset.TermBytes

// boundMemory chooses how many signals are pursued together, at most src.chunk: so many that half of what is free is left to their searches,
// or what one takes at most. It refuses terms that do not fit, and signals of which one, with its search, does not.
func (p *pursuing) boundMemory(src *queryChunks) error {
	if err := cli.NeedMemory(fmt.Sprintf("%d terms of each of %d signals", p.flags.terms, src.chunk), termBytes*float64(src.chunk)*float64(p.flags.terms)); err != nil {
		return err
	}
	free := cli.SpareMemory()
	if free == 0 {
		return nil
	}
	one, err := p.engine.Footprint(p.options.Request(), 1)
	if err != nil {
		return p.located(err, 0)
	}
	each := p.pursuit.SignalBytes() + 2*one.Answers + termBytes*int64(p.flags.terms) // of both directions
	if err := cli.NeedMemory("a signal with a search for it", float64(each+one.Expected())); err != nil {
		return err
	}
	src.chunk = int(max(1, min(int64(src.chunk), max(free/2, free-one.Bytes())/each)))
	if int64(src.chunk)*each+one.Bytes() > free/2 {
		cli.GrowHeapBy(free)
	}
	return nil
}

// stream writes the terms as JSON lines to stdout, without durable progress.
func (p *pursuing) stream(ctx context.Context, src *queryChunks, observe func(done int64)) error {
	table := p.table()
	for done := int64(0); ; {
		rows, n, err := src.Next(ctx)
		if err == io.EOF {
			return p.refuseNone()
		}
		if err != nil {
			return err
		}
		terms, err := p.find(ctx, &rows)
		if err != nil {
			return p.located(err, done)
		}
		table.Count = int64(len(terms))
		if rows.ids != nil {
			first := done
			table.Signals = &dataset.RowIDs{Of: func(row int64) string { return rows.ids[row-first] }}
		}
		err = dataset.WriteTerms(p.Out, p.format, func(do func(m *dataset.Term) error) error {
			for i := range terms {
				if err := do(&terms[i]); err != nil {
					return err
				}
			}
			return nil
		}, table)
		if err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
		done += int64(n)
		observe(done)
	}
}

// find finds the terms of signals.
func (p *pursuing) find(ctx context.Context, rows *queryRows) ([]dataset.Term, error) {
	if rows.given != nil {
		return p.pursuit.SignalsFloat64(ctx, rows.given)
	}
	return p.pursuit.Signals(ctx, rows.values)
}

// chunk finds the terms of the next signals, numbered from first. It is a jobs.Work.
func (p *pursuing) chunk(ctx context.Context, rows queryRows, first int64, totals []byte) ([][]byte, []byte, error) {
	if err := p.resume(totals); err != nil {
		return nil, nil, err
	}
	terms, err := p.find(ctx, &rows)
	if err != nil {
		return nil, nil, p.located(err, first)
	}
	counts := p.pursuit.Counts()
	totals, err = json.Marshal(&counts)
	return [][]byte{dataset.AppendTerms(nil, terms)}, totals, err
}

// resume begins with the counts of the signals before; nil are none.
func (p *pursuing) resume(totals []byte) error {
	var counts tasks.PursuitCounts
	if totals != nil {
		if err := json.Unmarshal(totals, &counts); err != nil {
			return fmt.Errorf("totals of the former run: %w", err)
		}
	}
	p.pursuit.Resume(counts)
	return nil
}

// refuseNone is the error of a run without signals.
func (p *pursuing) refuseNone() error {
	if p.pursuit.Counts().Signals == 0 {
		return fmt.Errorf("%s: no signals", p.in.signals.name)
	}
	return nil
}

// finish writes the terms of the log to the output and ends the job.
func (p *pursuing) finish(ctx context.Context, done jobs.Summary) error {
	if err := p.resume(done.Totals); err != nil {
		return err
	}
	if err := p.refuseNone(); err != nil {
		return errors.Join(err, jobs.Finish(p.progress()), removeIfThere(p.log()))
	}
	p.resumed = done.Resumed
	if done.Delivered {
		if err := requireFiles(p.progress(), p.flags.out); err != nil {
			return err
		}
		return removeIfThere(p.log())
	}
	var err error
	if p.names, err = p.in.signals.names(ctx, p.signalOptions()); err != nil {
		return err
	}
	if err := p.writeLog(ctx); err != nil {
		return err
	}
	if err := endJob(p.progress(), p.flags.resume); err != nil {
		return err
	}
	return removeIfThere(p.log())
}

// writeLog writes the terms of the log to the output, which is complete when it returns.
func (p *pursuing) writeLog(ctx context.Context) error {
	log, err := os.Open(p.log())
	if err != nil {
		return err
	}
	defer log.Close()
	counts := p.pursuit.Counts()
	each, err := dataset.TermLog(log, counts.Terms*dataset.TermBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", p.log(), err)
	}
	out, err := atomicfile.Create(p.flags.out, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", p.flags.out, err)
	}
	defer out.Discard()
	table := p.table()
	table.Count, table.Signals = counts.Terms, dataset.RowIDsOf(p.names)
	err = dataset.WriteTerms(out, p.format, func(do func(m *dataset.Term) error) error {
		n := 0
		return each(func(m *dataset.Term) error {
			if n++; n%(1<<16) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			return do(m)
		})
	}, table)
	if err != nil {
		return fmt.Errorf("%s: %w; no terms are lost, and --resume writes the file", p.flags.out, err)
	}
	return out.Commit(true) // a crashed run may already have written it
}

// table describes terms, without their number and the ids of their signals.
func (p *pursuing) table() *dataset.TermTable {
	return &dataset.TermTable{Vectors: dataset.RowIDsOf(p.engine.atoms.names)}
}

// located adds the file and the row, or the flag, to an error; first is the row of query 0.
func (p *pursuing) located(err error, first int64) error {
	var e *batch.RequestError
	switch {
	case !errors.As(err, &e):
		return err
	case e.Field == "signals" && e.Query >= 0:
		return &refusedError{fmt.Errorf("%s: row %d (0-based): %w", p.in.signals.name, first+int64(e.Query), e.Err)}
	case e.Field == "vectors":
		return &refusedError{fmt.Errorf("%s: %w", p.in.atoms.name, e.Err)}
	}
	name := e.Field
	if option, ok := publishedFlag(name); ok {
		name = option
	}
	return &refusedError{fmt.Errorf("--%s: %w", name, e.Err)}
}

// fingerprint is everything that determines the terms.
func (p *pursuing) fingerprint(ctx context.Context) (string, error) {
	f, c := p.flags, p.Config
	s := jobSettings{}
	s.set("terms", strconv.Itoa(f.terms))
	s.set("nonnegative", strconv.FormatBool(f.nonnegative))
	s.set("method", string(p.options.Method))
	s.set("delta", strconv.FormatFloat(c.Delta, 'g', -1, 64))
	s.set("seed", strconv.FormatUint(p.engine.atoms.Seed, 10))
	s.set(vectorsColumnFlag, f.atomsColumn)
	s.set("signals-column", f.signalsColumn)
	s.set("ids", f.ids)
	s.set("header", p.reading.header)
	for _, name := range batch.PublishedNames() {
		s.set(name, p.options.Published.Shown(name))
	}
	o, err := p.buildOptions(p.options.Method)
	if err != nil {
		return "", err
	}
	s.set("basis", o.Basis.String())
	s.set("dtype", p.engine.atoms.wide())
	for _, in := range []input{p.in.atoms, p.in.signals} {
		hash, err := in.hash(ctx)
		if err != nil {
			return "", err
		}
		s.setFile("--"+in.flag, hash)
	}
	ids, err := p.in.atoms.hashSavedIDs(ctx)
	if err != nil {
		return "", err
	}
	s.setFile("the ids beside --vectors", ids)
	return s.fingerprint()
}
