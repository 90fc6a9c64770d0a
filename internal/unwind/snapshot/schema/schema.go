// Package schema has the JSON Schema files (draft 2020-12) of clew's inputs and
// outputs. They name each other by file name, relative to their $id.
//
// They are for editors and scripts, and for the tests that check clew's outputs
// against them; clew's readers do not use them, since a schema cannot express
// that two windows of memory contradict each other.
package schema

import "embed"

// Files has all schema files.
//
//go:embed *.schema.json
var Files embed.FS

// The names of the files.
const (
	Snapshot = "snapshot.schema.json" // a line that `clew unwind` reads
	Stack    = "stack.schema.json"    // the answer of `clew stack` and `clew unwind`
	Decode   = "decode.schema.json"   // what `clew decode` writes and `clew encode` reads
	Inspect  = "inspect.schema.json"  // the answer of `clew inspect`
	// InspectRow is a line of `clew inspect --table` or `--lookup`.
	InspectRow  = "inspectrow.schema.json"
	Plugins     = "plugins.schema.json"     // the answer of `clew plugins` and of clew/plugins
	DAPExport   = "dapexport.schema.json"   // the body of the answer to clew/export
	DAPImages   = "dapimages.schema.json"   // the body of the answer to clew/images
	CrashReport = "crashreport.schema.json" // report.json of a crash report
)

// BaseURL is the common part of the files' $id.
const BaseURL = "https://github.com/clewdbg/clew/schema/"

// Text returns a file by its name, nil if there is none.
func Text(name string) []byte {
	text, err := Files.ReadFile(name)
	if err != nil {
		return nil
	}
	return text
}
