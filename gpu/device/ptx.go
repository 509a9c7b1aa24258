//go:build cuda && cgo

package device

import (
	"fmt"
	"strconv"
	"strings"
)

// ptxInfo holds the declarations of a PTX text: PTX ISA, sections "PTX Module Directives" and
// "Kernel and Function Directives".
type ptxInfo struct {
	major, minor int    // .version
	target       string // .target, as "sm_80"
	entries      map[string][]ptxParam
}

// ptxParam is one kernel parameter.
type ptxParam struct {
	bytes int
	float bool
}

// words returns the number of words of 8 bytes that the parameter takes.
func (p ptxParam) words() int { return (p.bytes + 7) / 8 }

func (p ptxParam) String() string {
	if p.bytes > 8 {
		return fmt.Sprintf("a structure of %d bytes", p.bytes)
	}
	if p.float {
		return fmt.Sprintf("a float of %d bytes", p.bytes)
	}
	return fmt.Sprintf("an integer or pointer of %d bytes", p.bytes)
}

// parsePTX parses version, target and the parameters of every entry. Launches are checked against
// them, since the driver reads as many arguments as the kernel has, beyond the end of those
// given. Parameters of more than 8 bytes that are no whole words are rejected: launchKernel cannot pass them.
func parsePTX(text string) (ptxInfo, error) {
	info := ptxInfo{entries: make(map[string][]ptxParam)}
	words := ptxWords(text)
	at := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case ".version":
			if _, err := fmt.Sscanf(at(i+1), "%d.%d", &info.major, &info.minor); err != nil {
				return ptxInfo{}, fmt.Errorf("PTX: version %q", at(i+1))
			}
		case ".target":
			info.target = at(i + 1)
		case ".entry":
			name := at(i + 1)
			if _, twice := info.entries[name]; twice || name == "" || strings.ContainsAny(name, "(){}.,") {
				return ptxInfo{}, fmt.Errorf("PTX: entry %q, named twice or not at all", name)
			}
			params, end, err := ptxParams(words, i+2)
			if err != nil {
				return ptxInfo{}, fmt.Errorf("PTX: entry %s: %w", name, err)
			}
			info.entries[name] = params
			i = end
		}
	}
	if info.major == 0 || !strings.HasPrefix(info.target, "sm_") {
		return ptxInfo{}, fmt.Errorf("PTX: no .version or no .target in %d bytes", len(text))
	}
	return info, nil
}

// ptxParams parses a parameter list that starts at words[i], if there is one, and returns the
// index of its last word.
func ptxParams(words []string, i int) ([]ptxParam, int, error) {
	if i >= len(words) || words[i] != "(" {
		return nil, i - 1, nil
	}
	var params []ptxParam
	var p ptxParam
	count, seen := 1, false
	for i++; i < len(words); i++ {
		switch w := words[i]; {
		case w == ".param":
			p, count, seen = ptxParam{}, 1, true
		case w == ".align":
			i++ // its number
		case w == "," || w == ")":
			if seen {
				p.bytes *= count
				if p.bytes < 1 || p.bytes > 8 && p.bytes%8 != 0 {
					return nil, 0, fmt.Errorf("parameter %d has %d bytes; 1 to 8 can be passed, and whole words of 8", len(params), p.bytes)
				}
				params = append(params, p)
				seen = false
			}
			if w == ")" {
				return params, i, nil
			}
		case w == "[":
			n, err := strconv.Atoi(strings.Join(words[i+1:min(i+2, len(words))], ""))
			if err != nil || n < 0 || n > 1<<16 {
				return nil, 0, fmt.Errorf("parameter %d is an array of unknown length", len(params))
			}
			count = n
			i++
		case p.bytes == 0 && len(w) > 2 && w[0] == '.' && strings.IndexByte("usbf", w[1]) >= 0:
			if bits, err := strconv.Atoi(w[2:]); err == nil && bits > 0 && bits <= 64 {
				p.bytes, p.float = bits/8, w[1] == 'f'
			}
		}
	}
	return nil, 0, fmt.Errorf("the parameter list has no end")
}

// ptxWords splits PTX into words and single brackets, commas and braces,
// without comments.
func ptxWords(text string) []string {
	var words []string
	for len(text) > 0 {
		switch c := text[0]; {
		case strings.HasPrefix(text, "//"):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text[2:], "*/")
		case strings.IndexByte(" \t\r\n;", c) >= 0:
			text = text[1:]
		case strings.IndexByte("()[]{},", c) >= 0:
			words = append(words, text[:1])
			text = text[1:]
		default:
			n := strings.IndexAny(text[1:], " \t\r\n;()[]{},/")
			if n < 0 {
				n = len(text) - 1
			}
			words = append(words, text[:n+1])
			text = text[n+1:]
		}
	}
	return words
}
