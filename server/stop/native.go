package stop

import (
	"strings"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/native"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stepping/lines"
	"github.com/clewdbg/clew/unwind"
)

// nativeCode tells steps of native code. It implements [stepping.Code].
type nativeCode struct {
	*codemap.Map
	code    *native.Code
	through bool // no step ends in glue
}

// NativeOf is the native code of a program at a stop, nil where nothing is known of any. Steps through glue do not end in glue.
func NativeOf(v View, through bool) stepping.Code {
	m, ok := v.EngineInput().Target.Code.(*codemap.Map)
	if !ok {
		return nil
	}
	return &nativeCode{m, native.Of(m), through}
}

// Place implements [lines.Code].
func (c *nativeCode) Place(addr uint64) (out lines.Place) {
	row, ok := c.code.Row(addr)
	img, known := c.FileAt(addr)
	if !ok || !known || img.File == nil {
		return out
	}
	calls := img.File.Calls(addr - img.Bias)
	for i := range calls {
		out.Chain = append(out.Chain, lines.Frame{Function: calls[i].Function, File: calls[i].File, Line: calls[i].Line})
	}
	if len(calls) > 0 && c.through && stepping.IsGlue(calls[0].Function, calls[0].File) {
		return lines.Place{}
	}
	out.Start, out.Statement = row.Start, row.Statement
	return out
}

// Function implements [lines.Code].
func (c *nativeCode) Function(addr uint64) (lines.Function, bool) {
	if !c.code.IsNative(addr) {
		return lines.Function{}, false
	}
	fn, ok := c.code.FunctionAt(addr)
	return c.function(&fn), ok
}

func (c *nativeCode) function(fn *native.Function) lines.Function {
	out := lines.Function{Name: fn.Name, Entry: fn.Entry, Ranges: fn.Ranges, Glue: c.through && stepping.IsGlue(fn.Name, fn.File)}
	if native.IsAbsolute(fn.File) && !out.Glue { // else a distribution's, whose source is not on this machine, or without lines
		out.Body = fn.Body
	}
	return out
}

// Imported implements [lines.Code].
func (c *nativeCode) Imported(entry uint64) (lines.Function, bool) {
	fn, _ := c.Map.Function(unwind.LookupAddr(entry))
	name, ok := strings.CutSuffix(fn.Name, "@plt")
	if all := c.Named(name); ok && len(all) > 0 {
		return all[0], true
	}
	return lines.Function{}, false
}

// Named implements [stepping.Code].
func (c *nativeCode) Named(name string) (out []lines.Function) {
	for _, fn := range c.code.Functions(name) {
		if f := c.function(&fn); f.Body != 0 || f.Glue {
			out = append(out, f)
		}
	}
	return out
}

// Height implements [lines.Code].
func (c *nativeCode) Height(addr uint64) (uint64, bool) {
	model, bias := c.Model(unwind.LookupAddr(addr))
	if model == nil {
		return 0, false
	}
	fn := model.At(addr - bias)
	if fn == nil {
		return 0, false
	}
	place, ok := fn.At(addr - bias)
	if !ok || place.Height < 0 || place.Proof < prologue.Some {
		return 0, false
	}
	return uint64(place.Height), true
}
