// Package schematest checks documents against clew's schemas, for tests.
package schematest

import (
	"bytes"
	"fmt"
	"io/fs"
	"sync"

	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Check reports whether a document has the form that a schema file (schema.Stack,
// ...) describes.
func Check(name string, doc []byte) error { return check(name, doc, false) }

// CheckOutput is Check, and refuses fields that the schema does not name:
// readers ignore those, but clew itself must not write them.
func CheckOutput(name string, doc []byte) error { return check(name, doc, true) }

var compiled sync.Map // of key to *jsonschema.Schema

type key struct {
	name   string
	closed bool
}

func check(name string, doc []byte, closed bool) error {
	k := key{name, closed}
	s, ok := compiled.Load(k)
	if !ok {
		fresh, err := compile(k)
		if err != nil {
			return err
		}
		s, _ = compiled.LoadOrStore(k, fresh)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return s.(*jsonschema.Schema).Validate(v)
}

func compile(k key) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	names, err := fs.Glob(schema.Files, "*.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Text(name)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if k.closed {
			closeObjects(v)
		}
		if id, _ := v.(map[string]any)["$id"].(string); id != schema.BaseURL+name {
			return nil, fmt.Errorf("%s: $id is %q", name, id)
		}
		if err := c.AddResource(schema.BaseURL+name, v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return c.Compile(schema.BaseURL + k.name)
}

// closeObjects makes every object schema refuse fields that it does not name.
// Parts of conditions have no type and stay open.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, has := v["properties"]; has && v["type"] == "object" {
			v["unevaluatedProperties"] = false
		}
		for _, sub := range v {
			closeObjects(sub)
		}
	case []any:
		for _, sub := range v {
			closeObjects(sub)
		}
	}
}
