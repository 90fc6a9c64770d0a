package breakpoints

import (
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/values"
)

// message is what a breakpoint logs: text, and expressions between {}.
type message struct {
	parts []part
}

type part struct {
	text         string
	isExpression bool
}

// parseMessage reads a message as editors write it; nil for none, or for one that Delve refuses.
func parseMessage(text string) *message {
	m := &message{}
	depth, start := 0, 0
	add := func(end int, isExpression bool) {
		if part := (part{text[start:end], isExpression}); part.text != "" {
			m.parts = append(m.parts, part)
		}
		start = end + 1
	}
	for i, r := range text {
		switch {
		case r == '{' && depth == 0:
			add(i, false)
			depth++
		case r == '{':
			depth++
		case r == '}' && depth == 0:
			return nil
		case r == '}':
			if depth--; depth == 0 {
				add(i, true)
			}
		}
	}
	if depth != 0 {
		return nil
	}
	add(len(text), false)
	if len(m.parts) == 0 {
		return nil
	}
	return m
}

// Log sets what a breakpoint logs in place of a stop; "" for nothing.
func (s *Set) Log(id int, text string) {
	if b := s.all[id]; b != nil {
		b.message = parseMessage(text)
	}
}

// log tells a breakpoint's message.
func (s *Set) log(t *proc.Target, th proc.Thread, m *message) {
	bp := th.Breakpoint().Breakpoint
	c := Change{ID: bp.LogicalID(), File: bp.File, Line: bp.Line, Function: bp.FunctionName, Verified: true, Logged: true}
	if g, err := proc.GetG(th); err == nil && g != nil {
		c.Goroutine = g.ID
	}
	err := s.InFrame(t, th, func(f *values.Frame) error {
		c.Message = m.evaluate(f)
		return nil
	})
	if err != nil {
		c.Message = "<" + err.Error() + ">"
	}
	s.send(c)
}

// evaluate is the message with the values that a frame has.
func (m *message) evaluate(f *values.Frame) string {
	var out strings.Builder
	for _, p := range m.parts {
		if !p.isExpression {
			out.WriteString(p.text)
			continue
		}
		v, err := f.Evaluate(strings.TrimSpace(p.text))
		if err != nil {
			out.WriteString(values.Unknown(err))
			continue
		}
		out.WriteString(v.Text())
	}
	return out.String()
}
