package sframetest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Mutation is a section of testdata with some bytes changed. It is kept as a line:
// the file's name, and offset=byte for each change, in hexadecimal digits.
type Mutation struct {
	File    string
	Changes []Change
}

// Change sets a byte.
type Change struct {
	Offset int
	Value  byte
}

// String writes the line.
func (m Mutation) String() string {
	line := m.File
	for _, c := range m.Changes {
		line += fmt.Sprintf(" %x=%02x", c.Offset, c.Value)
	}
	return line
}

// ParseMutation reads a line.
func ParseMutation(line string) (m Mutation, err error) {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return m, fmt.Errorf("%q is no mutation", line)
	}
	m.File = fields[0]
	for _, field := range fields[1:] {
		offset, value, _ := strings.Cut(field, "=")
		at, err := strconv.ParseUint(offset, 16, 31)
		if err != nil {
			return m, fmt.Errorf("%q: %w", line, err)
		}
		b, err := strconv.ParseUint(value, 16, 8)
		if err != nil {
			return m, fmt.Errorf("%q: %w", line, err)
		}
		m.Changes = append(m.Changes, Change{int(at), byte(b)})
	}
	return m, nil
}

// Apply returns the section changed.
func (m Mutation) Apply(section []byte) ([]byte, error) {
	changed := bytes.Clone(section)
	for _, c := range m.Changes {
		if c.Offset >= len(changed) {
			return nil, fmt.Errorf("%v: the section has %d bytes", m, len(changed))
		}
		changed[c.Offset] = c.Value
	}
	return changed, nil
}
