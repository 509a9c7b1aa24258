package plot

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

var (
	// places are attributes of a drawing that have coordinates in points.
	places = regexp.MustCompile(` (?:d|x|y)="[^"]*"`)
	// long is a number with more than one decimal.
	long = regexp.MustCompile(`-?[0-9]+\.[0-9]{2,}`)
	// letters is a text of a drawing, of one size and of more than a few letters.
	letters = regexp.MustCompile(`<text ([^>]*)transform="scale\(1, -1\)"\s+style="font-size:([0-9.]+)px">([^<]{9,})</text>`)
	// path is a line of a drawing with one path: what it draws, and how.
	path = regexp.MustCompile(`^<path d="([^"]*)" style="([^"]*)" />\n$`)
	// plain are properties of texts that are the same in all drawings of this package.
	plain = []byte("font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;")
)

// compact makes a drawing smaller: coordinates are rounded to tenths of a point, which is less than anybody sees, paths
// that follow each other and look the same become one, and the family of the texts is stated once, with others for readers
// that lack it. Longer texts are as wide in these as they were measured.
func compact(svg []byte) []byte {
	svg = places.ReplaceAllFunc(svg, func(attribute []byte) []byte {
		return long.ReplaceAllFunc(attribute, func(number []byte) []byte {
			x, err := strconv.ParseFloat(string(number), 64)
			if err != nil {
				return number
			}
			return strconv.AppendFloat(nil, math.Round(10*x)/10+0, 'f', -1, 64)
		})
	})
	svg = joinPaths(bytes.ReplaceAll(svg, plain, nil))
	svg = letters.ReplaceAllFunc(svg, func(whole []byte) []byte {
		m := letters.FindSubmatch(whole)
		size, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return whole
		}
		style := text.Style{Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size)), Handler: gonum.DefaultTextHandler}
		width := style.Width(html.UnescapeString(string(m[3])))
		return fmt.Appendf(nil, `<text %stransform="scale(1,-1)" style="font-size:%spx" textLength="%.0f" lengthAdjust="spacingAndGlyphs">%s</text>`, m[1], m[2], float64(width), m[3])
	})
	return bytes.Replace(svg, []byte("<g transform="), []byte(`<g style="font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif" transform=`), 1)
}

// joinPaths joins paths of the same style that follow each other. What is half transparent stays apart, since it is darker
// where it lies on itself.
func joinPaths(svg []byte) []byte {
	joined := make([]byte, 0, len(svg))
	var style []byte // of the path that is not written to its end; nil for none
	end := func() {
		if style != nil {
			joined = fmt.Appendf(joined, "\" style=\"%s\" />\n", style)
		}
		style = nil
	}
	for line := range bytes.Lines(svg) {
		m := path.FindSubmatch(line)
		if m == nil || bytes.Contains(m[2], []byte("opacity")) {
			end()
			joined = append(joined, line...)
			continue
		}
		if !bytes.Equal(m[2], style) {
			end()
			joined = append(joined, `<path d="`...)
			style = m[2]
		}
		joined = append(joined, m[1]...)
	}
	end()
	return joined
}
