package collection

import (
	"encoding/binary"
	"math"

	"thresher/internal/machine"
	"thresher/simd"
)

// SignPanels holds for a first look the head's codes and the signs of the first Width coordinates of the rest of 64
// atoms side by side, with the terms of the Student bound, in internal order and padded with zero terms to whole
// panels. They are made of the int8 codes, so that every file with codes has them. docs/guarantee.md, panels of signs.
type SignPanels struct {
	Width  int
	Panels []uint8 // of simd.SignPanelBytes(R, Width) each
	// Scale multiplies the product of the signs, as +1 and -1, with the query. Radius and XNorm are those of a Stage.
	Scale, Radius, XNorm []float32
}

// SignPanelsSize returns the bytes of panels of signs of width coordinates.
func (c *Collection) SignPanelsSize(width int) int64 {
	return int64(c.PanelCount()) * int64(simd.SignPanelBytes(c.R, width)+3*4*PanelAtoms)
}

// MaxSignPanelsSize returns the bytes of panels of as many signs as there may be.
func (c *Collection) MaxSignPanelsSize() int64 { return c.SignPanelsSize(min(c.D, simd.MaxSignPanel)) }

// NewSignPanels returns memory for the panels of signs of width coordinates, a multiple of 8, at most D and
// simd.MaxSignPanel. The collection is coded.
func (c *Collection) NewSignPanels(width int) *SignPanels {
	padded := c.PanelCount() * PanelAtoms
	panels := make([]uint8, c.PanelCount()*simd.SignPanelBytes(c.R, width))
	machine.LargePages(panels)
	return &SignPanels{Width: width, Panels: panels,
		Scale: make([]float32, padded), Radius: make([]float32, padded), XNorm: make([]float32, padded)}
}

// FillSignPanels makes panels lo to hi-1 of t, 0 <= lo <= hi <= PanelCount(). It reads Width codes of each of their atoms.
func (c *Collection) FillSignPanels(t *SignPanels, lo, hi int) {
	size, width := simd.SignPanelBytes(c.R, t.Width), t.Width
	whole := &c.Stages[len(c.Stages)-1]
	for i := lo * PanelAtoms; i < min(c.N, hi*PanelAtoms); i++ {
		panel, lane := t.Panels[i/PanelAtoms*size:][:size], i%PanelAtoms
		if lane == 0 {
			copy(panel[:PanelAtoms*c.R], c.Panels[i/PanelAtoms*c.PanelStride():])
		}
		sum := signsAndSizes(panel[PanelAtoms*c.R+lane:], c.Code(i)[c.R:][:width])
		s, r := signTerms(float64(whole.Scale[i])*float64(sum), float64(whole.XNorm[i]), float64(whole.Beyond[i]), float64(width), c.Kappa)
		t.Scale[i], t.Radius[i], t.XNorm[i] = float32(s), Upward(r*Up), Upward(s*math.Sqrt(float64(width))*Up)
	}
}

// SignPanels returns the panels of signs of width coordinates, as NewSignPanels and FillSignPanels make them.
func (c *Collection) SignPanels(width int) *SignPanels {
	t := c.NewSignPanels(width)
	c.FillSignPanels(t, 0, c.PanelCount())
	return t
}

// signsAndSizes writes the signs of biased codes to every 64th byte of lines, and returns the sum of the codes' magnitudes. There are
// at most simd.MaxSignPanel codes, a multiple of 8.
func signsAndSizes(lines, codes []uint8) int {
	const ones, sevens, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f, 0x00ff00ff00ff00ff
	const together = 0x0102040810204080 // times the lowest bits of eight bytes has them in the highest byte
	var lanes uint64                    // of 16 bits
	for j := 0; j+8 <= len(codes); j += 8 {
		w := binary.LittleEndian.Uint64(codes[j:])
		signs := w >> 7 & ones
		lines[j/8*PanelAtoms] = uint8(signs * together >> 56)
		negative := signs ^ ones
		sizes := (w&sevens ^ negative*0x7f) + negative
		lanes += sizes&low + sizes>>8&low
	}
	return int(lanes&0xffff + lanes>>16&0xffff + lanes>>32&0xffff + lanes>>48)
}

// signTerms returns a float32 scale and the radius of the Student bound by width signs of an atom's codes, of which sum
// is the sum of the magnitudes and coded at least the norm of all, by a factor of at most 1 + 2^-20; the atom's rest
// differs from its codes by a vector of norm beyond at most. docs/guarantee.md, panels of signs.
func signTerms(sum, coded, beyond, width, kappa float64) (scale, radius float64) {
	const rounding = 0x1p-20
	longest := coded + beyond
	away := 2. // between the directions of rest and codes
	if sine := beyond / coded * (1 + rounding); sine < 1 {
		away = sine / math.Sqrt((1+math.Sqrt(1-sine*sine))/2)
	}
	// <x, o>/|o| is between least and most.
	along, around := 0., math.Sqrt(width)*(away+rounding)
	if coded > 0 {
		along = sum / coded
	}
	least, most := along-around, along*(1+rounding)+around
	h := math.Sqrt(width)
	if least > 0 {
		h = math.Sqrt(max(0, width-least*least))
	}
	slope := least + kappa*h
	if !(slope > 0) {
		return 0, longest / kappa
	}
	scale = float64(float32(longest / slope))
	if scale*math.Sqrt(width) > math.MaxFloat32 {
		return 0, longest / kappa
	}
	apart := max(longest-least*scale, most*scale-(coded/(1+rounding)-beyond))
	return scale, max(scale*h, apart/kappa)
}
