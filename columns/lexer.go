package columns

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is what a word of an expression is.
type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	quotedToken // a name in double quotes
	numberToken
	textToken // in single quotes
	symbolToken
)

// token is a word of an expression.
type token struct {
	kind tokenKind
	text string // of names and texts without quotes, of symbols as written
	at   int    // byte
}

// is reports whether the token is a keyword, in any case of letters.
func (t token) is(word string) bool { return t.kind == nameToken && strings.EqualFold(t.text, word) }

// lexer splits an expression into tokens.
type lexer struct {
	text string
	i    int // next byte
}

func (l *lexer) place(at int) expression { return expression{text: l.text, offset: at} }

// symbols, the longer ones first.
var symbols = []string{"!=", "<>", "<=", ">=", "==", "=", "<", ">", "(", ")", ","}

// next returns the next token.
func (l *lexer) next() (token, error) {
	for l.i < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.i:])
		if !unicode.IsSpace(r) {
			break
		}
		l.i += size
	}
	at := l.i
	if at == len(l.text) {
		return token{at: at}, nil
	}
	rest := l.text[at:]
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			l.i += len(s)
			return token{symbolToken, s, at}, nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\'' || r == '"':
		return l.quoted(byte(r))
	case isDigit(r) || (r == '-' || r == '+' || r == '.') && len(rest) > 1:
		return l.number()
	case isNameStart(r):
		for n, r := range rest {
			if !isNameStart(r) && !unicode.IsDigit(r) && r != '.' && r != '-' {
				rest = rest[:n]
				break
			}
		}
		rest = strings.TrimRight(rest, "-.")
		l.i += len(rest)
		return token{nameToken, rest, at}, nil
	}
	return token{}, l.place(at).wrong("%q begins nothing that an expression has: names of columns, numbers, texts in single quotes, operators, and, or, not", r)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

// quoted reads a text in single or a name in double quotes, which stand twice for themselves inside.
func (l *lexer) quoted(quote byte) (token, error) {
	at := l.i
	var b strings.Builder
	for i := at + 1; i < len(l.text); i++ {
		switch {
		case l.text[i] != quote:
			b.WriteByte(l.text[i])
		case i+1 < len(l.text) && l.text[i+1] == quote:
			b.WriteByte(quote)
			i++
		default:
			l.i = i + 1
			kind := textToken
			if quote == '"' {
				kind = quotedToken
			}
			return token{kind, b.String(), at}, nil
		}
	}
	return token{}, l.place(at).wrong("the quote is not closed; inside, a quote is written twice")
}

// number reads all that could belong to a number, so that a malformed one is reported as a whole.
func (l *lexer) number() (token, error) {
	at, i := l.i, l.i+1
	for ; i < len(l.text); i++ {
		c := rune(l.text[i])
		sign := (c == '-' || c == '+') && (l.text[i-1] == 'e' || l.text[i-1] == 'E')
		if !isDigit(c) && c != '.' && c != '_' && !sign && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
	}
	l.i = i
	return token{numberToken, l.text[at:i], at}, nil
}
