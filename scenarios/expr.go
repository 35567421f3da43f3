package scenarios

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rlbench/rlbench/limiter"
)

// Expr is arithmetic over numbers, durations and the names in Names, as in
// "edge - window/60", "2*limit" or "0.8*limit/window". It is exact: 0.1 is one
// tenth. The zero Expr is absent.
type Expr struct {
	text string
	root evaluator
}

// Present reports whether the expression was given at all.
func (e Expr) Present() bool { return e.root != nil }

// String is the source text.
func (e Expr) String() string { return e.text }

// Eval computes the expression for a limit.
func (e Expr) Eval(l limiter.Limit) (Quantity, error) { return e.root(l) }

// Names are the variables of an expression.
var Names = []struct{ Name, Doc string }{
	{"limit", "the count of the limit: 100 in 100/1m"},
	{"window", "the window of the limit: 1m in 100/1m"},
	{"edge", "the window boundary that the scenario is built around"},
}

// An evaluator computes a part of an expression.
type evaluator func(limiter.Limit) (Quantity, error)

// Bounds that keep hostile input cheap.
const (
	maxExprLength = 200
	maxExprDepth  = 32
)

// ParseExpr reads an expression.
func ParseExpr(text string) (Expr, error) {
	if len(text) > maxExprLength {
		return Expr{}, fmt.Errorf("expression is longer than %d bytes", maxExprLength)
	}
	p := &exprParser{rest: text}
	root, err := p.sum()
	if err == nil {
		if tok := p.peek(); tok != "" {
			err = fmt.Errorf("unexpected %q", tok)
		}
	}
	if err != nil {
		return Expr{}, fmt.Errorf("expression %q: %w", text, err)
	}
	return Expr{text: text, root: root}, nil
}

// exprParser is a recursive descent over sum = product {(+|-) product},
// product = factor {(*|/) factor}, factor = [-] number | duration | name |
// function(sum) | (sum).
type exprParser struct {
	rest  string
	depth int
}

// peek is the next token: a run of letters and digits, or one other character.
func (p *exprParser) peek() string {
	p.rest = strings.TrimLeft(p.rest, " \t")
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_' }
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !isWord(r) })
	switch {
	case end < 0:
		return p.rest
	case end > 0:
		return p.rest[:end]
	}
	_, size := utf8.DecodeRuneInString(p.rest)
	return p.rest[:size]
}

func (p *exprParser) take() string {
	tok := p.peek()
	p.rest = p.rest[len(tok):]
	return tok
}

func (p *exprParser) sum() (evaluator, error) {
	if p.depth++; p.depth > maxExprDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxExprDepth)
	}
	defer func() { p.depth-- }()
	return p.chain(p.product, map[string]operator{"+": add, "-": subtract})
}

func (p *exprParser) product() (evaluator, error) {
	return p.chain(p.factor, map[string]operator{"*": multiply, "/": divide})
}

// chain reads operands of one precedence, from left to right.
func (p *exprParser) chain(operand func() (evaluator, error), operators map[string]operator) (evaluator, error) {
	left, err := operand()
	for err == nil {
		apply, ok := operators[p.peek()]
		if !ok {
			return left, nil
		}
		p.take()
		var right evaluator
		if right, err = operand(); err == nil {
			left = apply.to(left, right)
		}
	}
	return nil, err
}

func (p *exprParser) factor() (evaluator, error) {
	switch tok := p.take(); tok {
	case "":
		return nil, errors.New("ends too early")
	case "-":
		return p.negated()
	case "(":
		return p.closed()
	case "limit":
		return func(l limiter.Limit) (Quantity, error) { return Count(l.Max), nil }, nil
	case "window":
		return func(l limiter.Limit) (Quantity, error) { return duration(l.Window), nil }, nil
	case "edge":
		// Every instant is an offset from the edge.
		return constant(duration(0)), nil
	case "floor", "ceil":
		return p.rounded(tok == "ceil")
	default:
		return literal(tok)
	}
}

func (p *exprParser) negated() (evaluator, error) {
	if p.depth++; p.depth > maxExprDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxExprDepth)
	}
	defer func() { p.depth-- }()
	inner, err := p.factor()
	if err != nil {
		return nil, err
	}
	return operator(multiply).to(constant(Count(-1)), inner), nil
}

// closed reads the rest of a parenthesis.
func (p *exprParser) closed() (evaluator, error) {
	inner, err := p.sum()
	if err != nil {
		return nil, err
	}
	if tok := p.take(); tok != ")" {
		return nil, errors.New("a ( is not closed")
	}
	return inner, nil
}

// rounded reads the argument of floor and ceil.
func (p *exprParser) rounded(up bool) (evaluator, error) {
	if p.take() != "(" {
		return nil, errors.New("floor and ceil want (")
	}
	inner, err := p.closed()
	if err != nil {
		return nil, err
	}
	return func(l limiter.Limit) (Quantity, error) {
		q, err := inner(l)
		if err != nil {
			return q, err
		}
		if q.time != 0 {
			return q, fmt.Errorf("floor and ceil want a number, this is %s", q.kind())
		}
		n := new(big.Int).Div(q.value.Num(), q.value.Denom())
		if up && !q.value.IsInt() {
			n.Add(n, big.NewInt(1))
		}
		return count(new(big.Rat).SetInt(n)), nil
	}, nil
}

func constant(q Quantity) evaluator {
	return func(limiter.Limit) (Quantity, error) { return q, nil }
}

// literal is a number, a duration such as 1m30s, or a bare unit such as s.
func literal(tok string) (evaluator, error) {
	if first, _ := utf8.DecodeRuneInString(tok); unicode.IsDigit(first) || first == '.' {
		if r, ok := decimal(tok); ok {
			return constant(count(r)), nil
		}
	}
	if d, err := limiter.ParseDuration(tok); err == nil {
		return constant(duration(d)), nil
	}
	var known []string
	for _, n := range Names {
		known = append(known, n.Name)
	}
	return nil, fmt.Errorf("%q is neither a number, a duration nor one of %s%s",
		tok, strings.Join(known, ", "), DidYouMean(tok, append(known, "floor", "ceil")))
}

// decimal reads digits with at most one point: no exponents, no fractions, and
// therefore no numbers that are larger than their text.
func decimal(tok string) (*big.Rat, bool) {
	if strings.Trim(tok, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(tok)
}

// An operator combines two quantities.
type operator func(a, b Quantity) (Quantity, error)

func (o operator) to(left, right evaluator) evaluator {
	return func(l limiter.Limit) (Quantity, error) {
		a, err := left(l)
		if err != nil {
			return a, err
		}
		b, err := right(l)
		if err != nil {
			return b, err
		}
		return o(a, b)
	}
}

func add(a, b Quantity) (Quantity, error) {
	if a.time != b.time {
		return a, fmt.Errorf("%s and %s cannot be added", a.kind(), b.kind())
	}
	return Quantity{new(big.Rat).Add(a.value, b.value), a.time}, nil
}

func subtract(a, b Quantity) (Quantity, error) {
	if a.time != b.time {
		return a, fmt.Errorf("%s cannot be subtracted from %s", b.kind(), a.kind())
	}
	return Quantity{new(big.Rat).Sub(a.value, b.value), a.time}, nil
}

func multiply(a, b Quantity) (Quantity, error) {
	return Quantity{new(big.Rat).Mul(a.value, b.value), a.time + b.time}, nil
}

func divide(a, b Quantity) (Quantity, error) {
	if b.value.Sign() == 0 {
		return a, errors.New("division by zero")
	}
	return Quantity{new(big.Rat).Quo(a.value, b.value), a.time - b.time}, nil
}
