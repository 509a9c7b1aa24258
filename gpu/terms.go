//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"

	"thresher/backend"
	"thresher/backend/looks"
)

// look is a compiled look with its terms on the device, one Terms for the kernels.
type look struct {
	*looks.Compiled
	table *Buffer[terms]
}

// tableKey is what a look's table depends on.
type tableKey struct {
	panels bool
	stage  int
	kind   looks.Kind
}

// look compiles l and uploads its terms, which stay on the device for other runs.
func (r *resident) look(ctx context.Context, q *queue, l backend.Look) (*look, error) {
	t, err := r.looks.Compile(l)
	if err != nil {
		return nil, err
	}
	if codes := r.c.R + l.To; l.Rep == backend.Panels && codes > maxScanLook || codes > maxRowLook {
		return nil, fmt.Errorf("a look of width %d: %w", l.To, backend.ErrRuleUnsupported)
	}
	k, key := &look{Compiled: t}, tableKey{l.Rep == backend.Panels, t.Stage, t.Kind}
	if k.table = r.tables[key]; k.table != nil {
		return k, nil
	}
	table, err := r.terms(ctx, q.t, &t.Terms)
	if err != nil {
		return nil, err
	}
	mark := len(r.stores.held)
	if k.table, err = r.table(ctx, q, t, table); err != nil {
		return nil, errors.Join(err, r.stores.freeFrom(q.t, mark))
	}
	r.tables[key] = k.table
	return k, nil
}

// terms uploads a look's arrays.
func (r *resident) terms(ctx context.Context, t *Thread, of *looks.Terms) (out terms, err error) {
	for _, a := range []struct {
		to  *uint64
		src []float32
	}{
		{&out.headScale, of.HeadScale}, {&out.headNorm, of.HeadNorm}, {&out.headErr, of.HeadErr}, {&out.norm, of.Norm}, {&out.offset, of.Offset},
		{&out.scale, of.Scale}, {&out.radius, of.Radius}, {&out.xnorm, of.XNorm}, {&out.wholeErr, of.WholeErr},
	} {
		b, err := r.putTerms(ctx, t, a.src)
		if err != nil {
			return terms{}, err
		}
		*a.to = pointer(b)
	}
	return out, nil
}

// table uploads a look's Terms, with strips for looks at panels and with sides for others.
func (r *resident) table(ctx context.Context, q *queue, t *looks.Compiled, table terms) (*Buffer[terms], error) {
	if t.QueryCodes == looks.Codes8 {
		strips, err := put(ctx, q.t, &r.stores, "strips", stripsOf(t.Strips))
		if err != nil {
			return nil, err
		}
		table.strips = pointer(strips)
	} else {
		sides, err := r.sides(q, &table)
		if err != nil {
			return nil, err
		}
		table.side = pointer(sides)
	}
	return put(ctx, q.t, &r.stores, "tables of terms", []terms{table})
}

// putTerms uploads terms of atoms, padded with zeros, unless they are on the device already; an
// empty src gives nil.
func (r *resident) putTerms(ctx context.Context, t *Thread, src []float32) (*Buffer[float32], error) {
	if src == nil {
		return nil, nil
	}
	if b := r.arrays[&src[0]]; b != nil {
		return b, nil
	}
	mark := len(r.stores.held)
	b, err := onDevice[float32](t, &r.stores, "terms of atoms", r.atoms)
	if err == nil {
		err = upload(ctx, t, b, 0, src[:r.c.N])
	}
	if err == nil {
		err = b.Upload(t, r.c.N, make([]float32, r.atoms-r.c.N))
	}
	if err != nil {
		return nil, errors.Join(err, r.stores.freeFrom(t, mark))
	}
	r.arrays[&src[0]] = b
	return b, nil
}

// sides interleaves the terms of each atom, by a kernel. If there is too little memory it returns
// nil, and looks read the arrays.
func (r *resident) sides(q *queue, of *terms) (*Buffer[looks.Side], error) {
	if u := q.t.d.Usage(); u.Used-q.p.pool.bytes()+int64(r.atoms)*size[looks.Side]()+r.stores.spare > u.Budget {
		return nil, nil
	}
	table, err := put(context.Background(), q.t, &r.stores, "tables of terms", []terms{*of})
	if err != nil {
		return nil, err
	}
	b, err := onDevice[looks.Side](q.t, &r.stores, "terms side by side", r.atoms)
	if err != nil {
		return nil, err
	}
	q.launch("sides", Shape{Grid: Dim{X: blocks(r.atoms, 256)}, Block: Dim{X: 256}}, Ptr(table), Ptr(b), U32(uint32(r.atoms)))
	return b, q.sync()
}

// stripsOf converts strips to the device's layout; all fields but the mean are float32 values.
func stripsOf(all []looks.Strip) []strip {
	out := make([]strip, len(all))
	for i, s := range all {
		out[i] = strip{float32(s.HeadNorm), float32(s.HeadErr), float32(s.XNorm), float32(s.Norm),
			float32(s.Radius), float32(s.Offset), float32(s.WholeErr), float32(s.MeanRadius)}
	}
	return out
}

// pointer is a buffer's device address, 0 for none.
func pointer[T any](b *Buffer[T]) uint64 {
	if b == nil {
		return 0
	}
	return uint64(b.ptr)
}

// blocks is how many blocks of size work on n things.
func blocks(n, size int) int { return (n + size - 1) / size }
