package dataset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// npyDict parses the Python dictionary of an npy header. It accepts only what NumPy
// writes: strings, booleans and tuples of integers.
type npyDict struct {
	s string
}

func parseNPYDict(text []byte) (*npyHeader, error) {
	p := &npyDict{s: string(text)}
	if !p.eat('{') {
		return nil, errors.New("no dictionary")
	}
	h := &npyHeader{}
	seen := map[string]bool{}
	for !p.eat('}') {
		key, err := p.quoted()
		if err != nil {
			return nil, err
		}
		if !p.eat(':') || seen[key] {
			return nil, fmt.Errorf("malformed near key %q", key)
		}
		seen[key] = true
		if err := p.value(key, h); err != nil {
			return nil, err
		}
		if !p.eat(',') && !strings.HasPrefix(p.remaining(), "}") {
			return nil, fmt.Errorf("malformed after key %q", key)
		}
	}
	if p.remaining() != "" {
		return nil, fmt.Errorf("%.20q follows the dictionary", p.remaining())
	}
	if len(seen) != 3 {
		return nil, errors.New("keys descr, fortran_order and shape are wanted")
	}
	return h, nil
}

func (p *npyDict) value(key string, h *npyHeader) (err error) {
	switch key {
	case "descr":
		if strings.HasPrefix(p.remaining(), "[") {
			return errors.New("structured dtype is not supported")
		}
		if h.descr, err = p.quoted(); err != nil {
			return err
		}
		h.big = strings.HasPrefix(h.descr, ">")
		if h.descr == "" || !strings.ContainsRune("<>|=", rune(h.descr[0])) {
			return fmt.Errorf("dtype %q is not supported: it has no byte order", h.descr)
		}
		return nil
	case "fortran_order":
		h.fortran, err = p.boolean()
		return err
	case "shape":
		h.shape, err = p.tuple()
		return err
	}
	return fmt.Errorf("unknown key %q", key)
}

// remaining skips white space and returns the remaining text.
func (p *npyDict) remaining() string {
	p.s = strings.TrimLeft(p.s, " \t\r\n")
	return p.s
}

func (p *npyDict) eat(c byte) bool {
	s := p.remaining()
	if s == "" || s[0] != c {
		return false
	}
	p.s = s[1:]
	return true
}

func (p *npyDict) quoted() (string, error) {
	s := p.remaining()
	if s == "" || s[0] != '\'' && s[0] != '"' {
		return "", fmt.Errorf("a string is wanted at %.20q", s)
	}
	end := strings.IndexByte(s[1:], s[0])
	if end < 0 || strings.ContainsRune(s[1:1+end], '\\') {
		return "", fmt.Errorf("malformed string at %.20q", s)
	}
	p.s = s[end+2:]
	return s[1 : 1+end], nil
}

func (p *npyDict) boolean() (bool, error) {
	s := p.remaining()
	for word, v := range map[string]bool{"True": true, "False": false} {
		if strings.HasPrefix(s, word) {
			p.s = s[len(word):]
			return v, nil
		}
	}
	return false, fmt.Errorf("neither True nor False at %.20q", s)
}

// maxDims is how many dimensions NumPy's arrays can have.
const maxDims = 64

func (p *npyDict) tuple() ([]int64, error) {
	if !p.eat('(') {
		return nil, fmt.Errorf("a shape is wanted at %.20q", p.remaining())
	}
	shape := []int64{}
	for !p.eat(')') {
		s := p.remaining()
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		v, err := strconv.ParseInt(s[:digits], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("malformed shape at %.20q", s)
		}
		if shape = append(shape, v); len(shape) > maxDims {
			return nil, fmt.Errorf("shape has more than %d dimensions", maxDims)
		}
		p.s = strings.TrimPrefix(s[digits:], "L") // Python 2's long integers
		if !p.eat(',') && !strings.HasPrefix(p.remaining(), ")") {
			return nil, fmt.Errorf("malformed shape at %.20q", p.remaining())
		}
	}
	return shape, nil
}
