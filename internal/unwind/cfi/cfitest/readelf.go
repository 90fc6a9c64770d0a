package cfitest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ReadelfFDE is an FDE as `readelf --debug-dump=frames-interp` shows it.
type ReadelfFDE struct {
	Section    string
	Offset     uint64
	Start, End uint64
	Rows       []ReadelfRow // none where the CIE's row is all there is
}

// ReadelfRow is one row. The rules are as readelf writes them: "rsp+8", "c-16",
// "v+0", "exp", "vexp", "u", "s", or a register.
type ReadelfRow struct {
	Start uint64
	CFA   string
	Rules map[string]string // by register; "ra" for the return address
}

// inRegister is how readelf writes a register that holds a value.
var inRegister = regexp.MustCompile(`\br\d+ \((\w+)\)`)

// Readelf parses the output of readelf.
func Readelf(text string) ([]ReadelfFDE, error) {
	var fdes []ReadelfFDE
	var section string
	var columns []string
	inFDE := false
	for n, line := range strings.Split(text, "\n") {
		fields := strings.Fields(inRegister.ReplaceAllString(line, "$1"))
		switch {
		case strings.HasPrefix(line, "Contents of the "):
			section = fields[3]
			inFDE = false
		case len(fields) == 0, strings.HasSuffix(line, "ZERO terminator"):
		case strings.Contains(line, " CIE "):
			inFDE = false
		case strings.Contains(line, " FDE "):
			offset, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			start, end, ok := strings.Cut(line[strings.Index(line, "pc=")+3:], "..")
			f := ReadelfFDE{Section: section, Offset: offset}
			var err1, err2 error
			f.Start, err1 = strconv.ParseUint(start, 16, 64)
			f.End, err2 = strconv.ParseUint(strings.TrimSpace(end), 16, 64)
			if !ok || err1 != nil || err2 != nil {
				return nil, fmt.Errorf("line %d: range of %q", n+1, line)
			}
			fdes = append(fdes, f)
			inFDE = true
		case fields[0] == "LOC":
			columns = fields[2:]
		case inFDE:
			at, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil || len(fields) != len(columns)+2 {
				return nil, fmt.Errorf("line %d: %q is no row of %q", n+1, line, columns)
			}
			row := ReadelfRow{Start: at, CFA: fields[1], Rules: map[string]string{}}
			for i, column := range columns {
				row.Rules[column] = fields[i+2]
			}
			last := &fdes[len(fdes)-1]
			// An advance that leaves the code, or by nothing.
			if k := len(last.Rows); k > 0 && last.Rows[k-1].Start == at {
				last.Rows = last.Rows[:k-1]
			}
			last.Rows = append(last.Rows, row)
		}
	}
	return fdes, nil
}
