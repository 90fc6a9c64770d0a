package names

import (
	"strconv"
	"strings"
)

// Bounds on one name: how deep its parts nest, and how many steps it takes.
const (
	dDepth = 128
	dSteps = 1 << 14
)

// dCursor reads a mangled name. After a failure nothing is left to read.
type dCursor struct {
	in     string
	at     int
	limit  int // type references must point before it: none leads to itself
	depth  int
	steps  int
	failed bool
}

func (c *dCursor) fail() string {
	c.failed, c.at = true, len(c.in)
	return ""
}

// enter bounds recursion; each call that reports true is followed by leave.
func (c *dCursor) enter() bool {
	c.steps++
	if c.depth >= dDepth || c.steps > dSteps {
		c.fail()
		return false
	}
	c.depth++
	return true
}

func (c *dCursor) leave() { c.depth-- }

// peek returns the next byte, 0 at the end.
func (c *dCursor) peek() byte {
	if c.at < len(c.in) {
		return c.in[c.at]
	}
	return 0
}

func (c *dCursor) next(text string) bool { return strings.HasPrefix(c.in[c.at:], text) }

func (c *dCursor) skip(text string) bool {
	if c.next(text) {
		c.at += len(text)
		return true
	}
	return false
}

// digits reads as many as there are.
func (c *dCursor) digits() string {
	start := c.at
	for isDigit(c.peek()) {
		c.at++
	}
	return c.in[start:c.at]
}

// number reads a decimal number.
func (c *dCursor) number() int {
	n, err := strconv.Atoi(c.digits())
	if err != nil || n > len(c.in) {
		c.fail()
		return 0
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// reference reads Q and a number in base 26, which counts back from there. It returns
// the place that is meant, and the end of the reference.
func (c *dCursor) reference(at int) (to, end int, ok bool) {
	n := 0
	for i := at + 1; i < len(c.in) && n < len(c.in); i++ {
		switch b := c.in[i]; {
		case b >= 'A' && b <= 'Z':
			n = n*26 + int(b-'A')
		case b >= 'a' && b <= 'z':
			n = n*26 + int(b-'a')
			return at - n, i + 1, n > 0 && n <= at
		default:
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// typeKind returns the first letter of the type that follows.
func (c *dCursor) typeKind() byte {
	if c.peek() != 'Q' {
		return c.peek()
	}
	to, _, ok := c.reference(c.at)
	if !ok {
		c.fail()
		return 0
	}
	return c.in[to]
}
