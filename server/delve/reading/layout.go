package reading

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
)

// KnowCode tells the session where to find the code of Go's runtime, which the
// layout of its structures is read from where the program has no DWARF.
func (s *Reader) KnowCode(code gocode.Code) { s.code = code }

// KnowMap tells the session what is mapped: type descriptors and variables of the runtime
// are found there where the program has no DWARF.
func (s *Reader) KnowMap(code *codemap.Map, maps []imagemap.Mapping) { s.symbols, s.maps = code, maps }

// readLayout reads the layout from DWARF.
func readLayout(bi *proc.BinaryInfo) (*goruntime.Layout, error) {
	g, err := structType(bi, "runtime.g")
	if err != nil {
		return nil, err
	}
	m, err := structType(bi, "runtime.m")
	if err != nil {
		return nil, err
	}
	return goruntime.NewLayout(dwarfFields{g}, dwarfFields{m}, func(name string) goruntime.Structure {
		if t, err := structType(bi, name); err == nil {
			return dwarfFields{t}
		}
		return nil
	})
}

// dwarfFields is a structure as DWARF describes it.
type dwarfFields struct{ t *godwarf.StructType }

func (f dwarfFields) Offset(path string) (int64, error) { return fieldOffset(f.t, path) }
func (f dwarfFields) Size() int64                       { return f.t.ByteSize }

func structType(bi *proc.BinaryInfo, name string) (*godwarf.StructType, error) {
	t, err := bi.FindType(name)
	if err != nil {
		return nil, fmt.Errorf("type %s: %w", name, err)
	}
	st, ok := godwarf.ResolveTypedef(t).(*godwarf.StructType)
	if !ok {
		return nil, fmt.Errorf("type %s is not a structure", name)
	}
	return st, nil
}

func fieldOffset(st *godwarf.StructType, path string) (int64, error) {
	name, rest, nested := strings.Cut(path, ".")
	i := slices.IndexFunc(st.Field, func(f *godwarf.StructField) bool { return f.Name == name })
	if i < 0 {
		return 0, fmt.Errorf("%s has no field %s", st.StructName, name)
	}
	field := st.Field[i]
	if !nested {
		return field.ByteOffset, nil
	}
	inner, ok := godwarf.ResolveTypedef(field.Type).(*godwarf.StructType)
	if !ok {
		return 0, fmt.Errorf("field %s of %s is not a structure", name, st.StructName)
	}
	off, err := fieldOffset(inner, rest)
	return field.ByteOffset + off, err
}
