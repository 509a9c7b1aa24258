package simd

// A panel of signs holds 64 atoms: the head's biased codes as in panel.go, then a line of 64 bytes for every eight
// coordinates of the rest. Bit k of byte i of line j is set where coordinate 8j+k of atom i is positive.

// SignPanelBytes returns the size of a panel of signs.
func SignPanelBytes(head, width int) int { return PanelLanes * (head + width/8) }

// SignTables holds, for each four coordinates of a query's rest, the sums of its codes over the 16 sets of them,
// less the least of these sums: bit k of an index stands for the k-th coordinate. Len(tables) is 4 width.
type SignTables struct {
	Sums []uint8
	// Bias is what is to be subtracted from twice the sum of the entries that an atom's signs select, which gives
	// the product of its signs, as +1 and -1, and the codes.
	Bias int32
}

// MaxSignGroup is the greatest sum of the magnitudes of four neighbouring codes that SignTables takes, and
// MaxSignPanel the greatest number of coordinates of a panel of signs.
const MaxSignGroup, MaxSignPanel = 127, 1024

// Make fills the tables for codes, of which there are a multiple of 8, at most MaxSignPanel.
func (t *SignTables) Make(codes []int16) {
	if cap(t.Sums) < 4*len(codes) {
		t.Sums = make([]uint8, 4*len(codes))
	}
	t.Sums, t.Bias = t.Sums[:4*len(codes)], 0
	for j := 0; j < len(codes); j += 4 {
		four, sums := (*[4]int16)(codes[j:]), (*[16]uint8)(t.Sums[4*j:])
		least, all := int32(0), int32(0)
		for _, c := range four {
			least += min(int32(c), 0)
			all += int32(c)
		}
		sums[0] = uint8(-least)
		for k, c := range four {
			for set := range 1 << k {
				sums[1<<k+set] = uint8(int32(sums[set]) + int32(c))
			}
		}
		t.Bias += all - 2*least
	}
}

// SignPanel sets sums[i] for atom i of a panel of signs: Head to the sum of its biased codes times the query's codes,
// Rest to twice the sum of what its signs select from tables, of width coordinates. head is a multiple of 4, width of 8.
func (kern Kernels) SignPanel(sums *[PanelLanes]RowSums8, panel []uint8, codes []int8, width int, tables []uint8) {
	panel, tables = panel[:SignPanelBytes(len(codes), width)], tables[:4*width]
	kern.signPanel(sums, panel, codes, width, tables)
}

func signPanelGeneric(sums *[PanelLanes]RowSums8, panel []uint8, codes []int8, width int, tables []uint8) {
	clear(sums[:])
	for c := 0; c < len(codes); c += 4 {
		q, four := (*[4]int8)(codes[c:]), (*[4 * PanelLanes]uint8)(panel[c*PanelLanes:])
		for i := range sums {
			v := (*[4]uint8)(four[4*i:])
			sums[i].Head += int32(q[0])*int32(v[0]) + int32(q[1])*int32(v[1]) + int32(q[2])*int32(v[2]) + int32(q[3])*int32(v[3])
		}
	}
	panel = panel[len(codes)*PanelLanes:]
	for j := range width / 8 {
		line, low, high := (*[PanelLanes]uint8)(panel[j*PanelLanes:]), (*[16]uint8)(tables[32*j:]), (*[16]uint8)(tables[32*j+16:])
		for i, b := range line {
			sums[i].Rest += 2 * (int32(low[b&15]) + int32(high[b>>4]))
		}
	}
}
