package jobs

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
)

// outputs are the open files of a job, in the order of Spec.Outputs.
type outputs struct {
	paths []string
	files []file
}

// openOutputs opens every output, truncates it to its recorded length, and checks that these bytes are
// those that were written. With fresh no output may exist yet, and on an error those it created are
// removed.
func openOutputs(ctx context.Context, st storage, spec *Spec, s *state, fresh bool) (outs *outputs, err error) {
	outs = &outputs{paths: spec.Outputs}
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, outs.close())
		if fresh {
			for _, path := range spec.Outputs[:len(outs.files)] {
				err = errors.Join(err, st.remove(path))
			}
		}
	}()

	for i, path := range spec.Outputs {
		length := s.Outputs[i].Length
		flag := 0
		if length == 0 {
			flag |= os.O_CREATE
		}
		if fresh {
			flag |= os.O_EXCL
		}
		f, err := st.output(path, flag)
		if errors.Is(err, fs.ErrNotExist) && length > 0 {
			return outs, fmt.Errorf("%s: %w: missing, %d bytes are recorded: %w", path, ErrDamaged, length, err)
		}
		if err != nil {
			return outs, fmt.Errorf("opening output: %w", err)
		}
		outs.files = append(outs.files, f)
		if err := checkBytes(ctx, path, f, &s.Outputs[i]); err != nil {
			return outs, err
		}
		if err := cut(path, f, length); err != nil {
			return outs, err
		}
	}
	return outs, nil
}

// checkStep is how many bytes are read at once, between two checks of the context.
const checkStep = 4 << 20

// checkBytes returns an error that wraps ErrDamaged unless an output begins with the bytes that were
// written to it. Nothing is changed.
func checkBytes(ctx context.Context, path string, f file, s *outputState) error {
	size, err := f.size()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if size < s.Length {
		return fmt.Errorf("%s: %w: %d bytes long, %d are recorded", path, ErrDamaged, size, s.Length)
	}
	if s.CRC == nil {
		return nil
	}
	var crc uint32
	buf := make([]byte, min(s.Length, checkStep))
	for at := int64(0); at < s.Length; at += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		buf = buf[:min(int64(len(buf)), s.Length-at)]
		if n, err := f.ReadAt(buf, at); n < len(buf) {
			return fmt.Errorf("%s: reading %d bytes at offset %d: %w", path, len(buf), at, err)
		}
		crc = crc32.Update(crc, castagnoli, buf)
	}
	if crc != *s.CRC {
		return fmt.Errorf("%s: %w: its first %d bytes are not those that were written (CRC-32C %08x, %08x is recorded)", path, ErrDamaged, s.Length, crc, *s.CRC)
	}
	return nil
}

// checkWhole is checkBytes for an output to which nothing may have been added.
func checkWhole(ctx context.Context, path string, f file, s *outputState) error {
	size, err := f.size()
	if err == nil && size > s.Length {
		err = fmt.Errorf("%w: %d bytes long, %d are recorded", ErrDamaged, size, s.Length)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return checkBytes(ctx, path, f, s)
}

func cut(path string, f file, length int64) error {
	size, err := f.size()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if size < length {
		return fmt.Errorf("%s: %w: %d bytes long, %d are recorded", path, ErrDamaged, size, length)
	}
	if size == length {
		return nil
	}
	if err := f.Truncate(length); err != nil {
		return fmt.Errorf("%s: cutting back from %d to %d bytes: %w", path, size, length, err)
	}
	return nil
}

// append writes out after the recorded lengths, flushes it and returns the new lengths. On an
// error it truncates the files to the recorded lengths as far as the disk allows.
func (o *outputs) append(at []outputState, out [][]byte) ([]outputState, error) {
	next := make([]outputState, len(at))
	copy(next, at)
	for i, p := range out {
		if len(p) == 0 {
			continue
		}
		off := at[i].Length
		n, err := o.files[i].WriteAt(p, off)
		if err == nil && n < len(p) {
			err = io.ErrShortWrite
		}
		if err != nil {
			err = fmt.Errorf("%s: writing %d bytes at offset %d, %d written: %w", o.paths[i], len(p), off, n, err)
			return nil, errors.Join(err, o.cutBack(at))
		}
		next[i].Length += int64(len(p))
		if crc := at[i].CRC; crc != nil {
			sum := crc32.Update(*crc, castagnoli, p)
			next[i].CRC = &sum
		}
	}
	for i, p := range out {
		if len(p) == 0 {
			continue
		}
		// Never retried: after a failed flush the kernel may have dropped the dirty pages and report
		// success the next time.
		if err := o.files[i].Sync(); err != nil {
			err = fmt.Errorf("%s: flushing %d bytes at offset %d: %w", o.paths[i], len(p), at[i].Length, err)
			return nil, errors.Join(err, o.cutBack(at))
		}
	}
	return next, nil
}

func (o *outputs) cutBack(to []outputState) error {
	var errs []error
	for i, f := range o.files {
		errs = append(errs, cut(o.paths[i], f, to[i].Length))
	}
	return errors.Join(errs...)
}

func (o *outputs) close() error {
	var errs []error
	for i, f := range o.files {
		if err := f.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing %s: %w", o.paths[i], err))
		}
	}
	return errors.Join(errs...)
}
