//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/gpu/device"
)

// look is a compiled look with its terms on the device.
type look struct {
	*looks.Compiled
	terms terms
	mixed *mixedCodes // nil: panels or rows are read
}

// termsKey identifies a look's terms.
type termsKey struct {
	panels bool
	stage  int
	kind   looks.Kind
}

// compileLook compiles l and uploads its terms, and mixed codes if it reads these, which stay on the device for later runs.
func (r *resident) compileLook(ctx context.Context, q *queue, l backend.Look) (*look, error) {
	ready, err := r.compileTerms(ctx, q, l)
	if err == nil && l.Rep == backend.Mixed {
		ready.mixed, err = r.mixedOf(ctx, q, ready.Compiled)
	}
	return ready, err
}

// compileTerms is compileLook without mixed codes.
func (r *resident) compileTerms(ctx context.Context, q *queue, l backend.Look) (*look, error) {
	most := limits()
	if l.Rep == backend.SignPanels { // which compiling would make
		return nil, most.CheckLook(l, r.c.R)
	}
	t, err := r.looks.Compile(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := most.CheckLook(l, r.c.R); err != nil {
		return nil, err
	}
	key := termsKey{l.Rep.ForFirstLook(), t.Stage, t.Kind}
	if of, ok := r.terms[key]; ok {
		return &look{Compiled: t, terms: of}, nil
	}
	of, err := r.uploadTerms(ctx, q.t, &t.Terms)
	if err != nil {
		return nil, err
	}
	mark := len(r.stores.held)
	if err = r.combineTerms(ctx, q, t, &of); err != nil {
		return nil, errors.Join(err, r.stores.freeFrom(q.t, mark))
	}
	r.terms[key] = of
	return &look{Compiled: t, terms: of}, nil
}

// uploadTerms uploads a look's arrays and returns their addresses.
func (r *resident) uploadTerms(ctx context.Context, t *device.Thread, of *looks.Terms) (out terms, err error) {
	for _, a := range []struct {
		to  *uint64
		src []float32
	}{
		{&out.headScale, of.HeadScale}, {&out.headNorm, of.HeadNorm}, {&out.headErr, of.HeadErr}, {&out.norm, of.Norm}, {&out.offset, of.Offset},
		{&out.scale, of.Scale}, {&out.radius, of.Radius}, {&out.xnorm, of.XNorm}, {&out.wholeErr, of.WholeErr},
	} {
		b, err := r.uploadAtomTerms(ctx, t, a.src)
		if err != nil {
			return terms{}, err
		}
		*a.to = b.Address()
	}
	return out, nil
}

// combineTerms adds strips for looks at panels, and interleaved terms for others.
func (r *resident) combineTerms(ctx context.Context, q *queue, t *looks.Compiled, of *terms) error {
	if t.QueryCodes == looks.Codes8 {
		strips, err := copyToDevice(ctx, q.t, &r.stores, "strips", deviceStrips(t.Strips))
		if err != nil {
			return err
		}
		of.strips = strips.Address()
		return nil
	}
	sides, err := r.interleaveTerms(q, of)
	of.side = sides.Address()
	return err
}

// uploadAtomTerms uploads terms of atoms, padded with zeros, unless they are on the device already. It
// returns nil for a nil src.
func (r *resident) uploadAtomTerms(ctx context.Context, t *device.Thread, src []float32) (*device.Buffer[float32], error) {
	if src == nil {
		return nil, nil
	}
	if b := r.arrays[&src[0]]; b != nil {
		return b, nil
	}
	mark := len(r.stores.held)
	b, err := allocOnDevice[float32](t, &r.stores, "terms of atoms", r.atoms)
	if err == nil {
		err = uploadChecked(ctx, t, b, 0, src[:r.c.N])
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

// interleaveTerms makes the looks.Side of each atom, by a kernel. If there is too little memory it
// returns nil, and looks read the arrays.
func (r *resident) interleaveTerms(q *queue, of *terms) (*device.Buffer[looks.Side], error) {
	if u := q.t.Device().Usage(); u.Used-q.machine.pool.DeviceBytes()+int64(r.atoms)*device.Size[looks.Side]()+r.stores.spare > u.Budget {
		return nil, nil
	}
	b, err := allocOnDevice[looks.Side](q.t, &r.stores, "terms side by side", r.atoms)
	if err != nil {
		return nil, err
	}
	q.sides(device.Shape{Grid: device.Dim{X: blocks(r.atoms, 256)}, Block: device.Dim{X: 256}}, sidesArgs{terms: *of, side: device.Ptr(b), n: uint32(r.atoms)})
	return b, q.sync()
}

// deviceStrips converts strips to the device's layout; all fields but the mean are float32 values.
func deviceStrips(all []looks.Strip) []strip {
	out := make([]strip, len(all))
	for i, s := range all {
		out[i] = strip{float32(s.HeadNorm), float32(s.HeadErr), float32(s.XNorm), float32(s.Norm),
			float32(s.Radius), float32(s.Offset), float32(s.WholeErr), float32(s.MeanRadius)}
	}
	return out
}
