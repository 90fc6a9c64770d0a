package inspect

import (
	"encoding/json"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// Report is the output of clew inspect for a file: for its only image, or for
// each.
type Report struct {
	File string `json:"file"`
	ImageReport
	Images []ImageReport `json:"images,omitempty"`
}

// ImageReport is the report about one image.
type ImageReport struct {
	Arch    string         `json:"arch,omitempty"`
	Formats []FormatReport `json:"formats,omitempty"`
}

// FormatReport is the report about one format.
type FormatReport struct {
	Format          string   `json:"format"`
	Version         string   `json:"version,omitempty"`
	Functions       int      `json:"functions"`
	Rows            int      `json:"rows"`
	CoveredBytes    uint64   `json:"coveredBytes"`
	ExecutableBytes uint64   `json:"executableBytes"`
	Problems        []string `json:"problems"`
}

// MarshalJSON writes a missing list of formats as an empty one, unless the
// images have them.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain struct {
		File    string          `json:"file"`
		Arch    string          `json:"arch,omitempty"`
		Images  []ImageReport   `json:"images,omitempty"`
		Formats *[]FormatReport `json:"formats,omitempty"`
	}
	out := plain{File: r.File, Arch: r.Arch, Images: r.Images}
	if len(r.Images) == 0 {
		formats := append([]FormatReport{}, r.Formats...)
		out.Formats = &formats
	}
	return json.Marshal(out)
}

// NewFormatReport describes tables; code is the image's code.
func NewFormatReport(format string, t *Tables, code unwind.RangeSet) FormatReport {
	return FormatReport{
		Format: format, Version: t.Version, Functions: t.Functions, Rows: t.Count(),
		CoveredBytes: t.Coverage.Intersect(code).Size(), ExecutableBytes: code.Size(),
		Problems: append([]string{}, t.Problems...),
	}
}

// RowReport is a row as a line of JSON.
type RowReport struct {
	Format     string            `json:"format"`
	Arch       string            `json:"arch"`
	Function   string            `json:"function,omitempty"`
	Start      stackjson.Address `json:"start"`
	End        stackjson.Address `json:"end"`
	CFA        string            `json:"cfa,omitempty"`
	RA         string            `json:"ra,omitempty"`
	FP         string            `json:"fp,omitempty"`
	Saved      map[string]string `json:"saved,omitempty"`
	Flags      []string          `json:"flags,omitempty"`
	Encoding   string            `json:"encoding,omitempty"`
	Delegate   string            `json:"delegate,omitempty"`
	Expression string            `json:"expression,omitempty"`
}

// NewRowReport describes a row of a function, whose name is "" if unknown.
func NewRowReport(format string, arch unwind.Arch, function string, row *Row) RowReport {
	out := RowReport{
		Format: format, Arch: arch.String(), Function: function,
		Start: stackjson.Address(row.Start), End: stackjson.Address(row.End),
		CFA: row.CFA, RA: row.RA, FP: row.FP, Flags: row.Flags,
		Encoding: row.Encoding, Delegate: row.Delegate, Expression: row.Expression,
	}
	for _, s := range row.Saved {
		if out.Saved == nil {
			out.Saved = make(map[string]string)
		}
		out.Saved[s.Register] = s.Value
	}
	return out
}
