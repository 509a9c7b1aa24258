package plot

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// star is a filled mark: corners at even angles from an angle, every second one at a share of the radius. With share 1 it is a
// regular polygon.
type star struct {
	corners int
	from    float64 // radians
	share   float64
}

// filled returns a mark that is as wide as one of gonum's, and filled where that is a thin line, which on the screen of a phone
// is hardly seen. Other marks, and none, are as they were.
func filled(mark draw.GlyphDrawer) draw.GlyphDrawer {
	switch mark.(type) {
	case draw.TriangleGlyph: // downwards, as pyramids are upwards
		return star{corners: 3, from: -math.Pi / 2, share: 1}
	case draw.CrossGlyph:
		return star{corners: 8, from: math.Pi / 4, share: .4}
	case draw.RingGlyph: // a diamond, as circles are there
		return star{corners: 4, share: 1}
	case draw.PlusGlyph:
		return star{corners: 8, share: .4}
	}
	return mark
}

// DrawGlyph implements draw.GlyphDrawer.
func (s star) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetColor(style.Color)
	var outline vg.Path
	for i := range s.corners {
		sin, cos := math.Sincos(s.from + 2*math.Pi*float64(i)/float64(s.corners))
		radius := 1.2 * style.Radius // of circles, which have more area
		if i%2 == 1 {
			radius *= vg.Length(s.share)
		}
		corner := vg.Point{X: at.X + radius*vg.Length(cos), Y: at.Y + radius*vg.Length(sin)}
		if i == 0 {
			outline.Move(corner)
		} else {
			outline.Line(corner)
		}
	}
	outline.Close()
	c.Fill(outline)
}
