package plot

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
)

var (
	// places are attributes of a drawing that have coordinates in points.
	places = regexp.MustCompile(` (?:d|x|y)="[^"]*"`)
	// long is a number with more than one decimal.
	long = regexp.MustCompile(`-?[0-9]+\.[0-9]{2,}`)
	// plain are properties of texts that are the same in all drawings of this package.
	plain = []byte("font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;")
)

// compact makes a drawing smaller: coordinates are rounded to tenths of a point, which is less than anybody sees, and the
// family of the texts is stated once, with others of about the same widths for readers that lack it.
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
	svg = bytes.ReplaceAll(svg, plain, nil)
	return bytes.Replace(svg, []byte("<g transform="), []byte(`<g style="font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif" transform=`), 1)
}
