package breakpoints

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/native"
)

// Where says where a breakpoint is wanted: at a line of a file, in a function, or at an instruction of an image.
type Where struct {
	File     string // as the debugger knows it
	Line     int
	Function string // a native function in any spelling, or a function of Go's by its full name
	Image    string // path, as the process has it
	Offset   uint64 // of the instruction in the image
}

// Parse reads a location in the terminal's notation: a function, or FILE:LINE. An address, which names an instruction of the present
// process, is none: it has neither.
func Parse(loc string) Where {
	if rest, ok := strings.CutPrefix(loc, "*"); ok {
		if strings.Contains(rest, "::") { // see Spelled
			return Where{Function: rest}
		}
		return Where{}
	}
	if i := strings.LastIndexByte(loc, ':'); i > 0 && loc[i-1] != ':' {
		if line, err := strconv.Atoi(loc[i+1:]); err == nil && line > 0 {
			return Where{File: loc[:i], Line: line}
		}
	}
	return Where{Function: loc}
}

// Spelled returns a location as Delve's terminal can read it, which demands a line behind a colon; "" for one that it can read as it is.
func Spelled(loc string) string {
	if strings.Contains(loc, "::") && !strings.HasPrefix(loc, "*") && Parse(loc).Function != "" {
		return "*" + loc
	}
	return ""
}

// Pattern returns the regular expression of a location like /PATTERN/.
func Pattern(loc string) (pattern string, ok bool) {
	rest, ok := strings.CutPrefix(loc, "/")
	if !ok || len(rest) < 2 || !strings.HasSuffix(rest, "/") {
		return "", false
	}
	return strings.TrimSuffix(rest, "/"), true
}

// None says that nothing is wanted.
func (w Where) None() bool { return w == Where{} }

// String is the location in the notation of the terminal.
func (w Where) String() string {
	switch {
	case w.File != "":
		return fmt.Sprintf("%s:%d", w.File, w.Line)
	case w.Image != "":
		return fmt.Sprintf("%s+%#x", filepath.Base(w.Image), w.Offset)
	}
	return w.Function
}

// waits says that its code is not loaded, or what else keeps it from being placed.
func (w Where) waits(lack error) string {
	if lack != nil {
		return fmt.Sprintf("pending: not placed in what is loaded: %v", lack)
	}
	return fmt.Sprintf("pending: no code that is loaded has %v; it is placed when a library comes that has it", w)
}

// At returns where an address lies in an image, for a breakpoint that outlives the image; none for code of no image.
func At(m *codemap.Map, addr uint64) Where {
	for _, img := range m.Images() {
		for _, r := range img.Executable {
			if r.Contains(addr) && img.Path != "" {
				return Where{Image: img.Path, Offset: addr - img.Base}
			}
		}
	}
	return Where{}
}

// Native returns the places in native code. The error says that the location has more than one meaning.
func (w Where) Native(m *codemap.Map) ([]native.Place, error) {
	code := native.Of(m)
	switch {
	case w.File != "":
		places := code.Line(w.File, w.Line)
		for i := range places {
			places[i].Addr = shown(code, &places[i])
		}
		return places, nil
	case w.Function != "":
		places, err := code.Locate(w.Function)
		if errors.Is(err, native.ErrNoLocation) {
			return nil, nil
		}
		return places, err
	}
	var out []native.Place
	for _, img := range m.Images() {
		addr := img.Base + w.Offset
		if img.Path == w.Image && slices.ContainsFunc(img.Executable, func(r codeRange) bool { return r.Contains(addr) }) {
			out = append(out, PlaceOf(code, addr))
		}
	}
	return out, nil
}

// most bounds the code that a breakpoint is moved over, in bytes.
const most = 16

// shown returns where a place's line is the one that a stop there shows.
//
// Situation: the line's first row has no code of its own, for another row has the same address; a debugger that stops there is at the line of the last.
// Example: a throw at -O2, whose code is moved away: the instruction that saves a register there is of the function's first line. What is passed does not branch.
// Test: integration/stepping/scripts, "throw, at -O2".
func shown(code *native.Code, p *native.Place) uint64 {
	row, ok := code.Row(p.Addr)
	if !ok || row.Line == p.Line || row.Start != p.Addr || row.End-p.Addr > most {
		return p.Addr
	}
	next, ok := code.Row(row.End)
	passed, err := code.Disassemble(p.Addr, row.End, "")
	if !ok || err != nil || next.Line != p.Line || next.File != p.File || slices.ContainsFunc(passed, branches) {
		return p.Addr
	}
	return row.End
}

// branches says that an instruction may lead elsewhere.
func branches(i native.Instruction) bool {
	return i.Target != 0 || strings.HasPrefix(i.Text, "ret") || strings.HasPrefix(i.Text, "jmp") || strings.HasPrefix(i.Text, "call") || strings.HasPrefix(i.Text, "b")
}

// PlaceOf describes an address.
func PlaceOf(code *native.Code, addr uint64) native.Place {
	p := native.Place{Addr: addr}
	if row, ok := code.Row(addr); ok {
		p.File, p.Line = row.File, row.Line
	}
	if f, ok := code.FunctionAt(addr); ok {
		p.Function = f.Name
	}
	return p
}

// Delves returns the addresses of Go code that Delve finds. Its reader does not survive damaged tables: then there are none.
func (w Where) Delves(m *codemap.Map, t *proc.Target) (addrs []uint64) {
	defer func() {
		if recover() != nil {
			addrs = nil
		}
	}()
	if w.File != "" {
		for _, file := range w.files(t) {
			addrs, _ = proc.FindFileLocation(t, file, w.Line)
		}
	} else if w.Function != "" {
		addrs, _ = proc.FindFunctionLocation(t, w.Function, 0)
	}
	return onlyGo(m, t, addrs)
}

// files returns the file that is meant, by its whole path: Delve knows files by that. Where it stands for several there are none.
func (w Where) files(t *proc.Target) (found []string) {
	all := t.BinInfo().Sources
	if slices.Contains(all, w.File) {
		return []string{w.File}
	}
	for _, file := range all {
		if strings.HasSuffix(file, "/"+w.File) {
			found = append(found, file)
		}
	}
	if len(found) > 1 {
		return nil
	}
	return found
}

func onlyGo(m *codemap.Map, t *proc.Target, addrs []uint64) []uint64 {
	code, bi := native.Of(m), t.BinInfo()
	return slices.DeleteFunc(addrs, func(addr uint64) bool { return bi.PCToFunc(addr) == nil || code.IsNative(addr) })
}

// Stripped returns the addresses of Go code that is in images without DWARF, in which Delve finds no lines.
func (w Where) Stripped(m *codemap.Map, t *proc.Target) (out []uint64) {
	bi := t.BinInfo()
	for _, file := range w.files(t) {
		for _, addr := range m.LineAddrs(file, w.Line) {
			fn := bi.PCToFunc(addr)
			if img := bi.PCToImage(addr); fn == nil || img == nil || !img.Stripped() {
				continue
			}
			if addr == fn.Entry { // behind the check of the stack's size, as Delve does
				addr, _ = proc.FirstPCAfterPrologue(t, fn, true)
			}
			out = append(out, addr)
		}
	}
	return out
}

// All returns all places. Native ones are only those of the very line where the line has Go code. The error says why there are none in native
// code, where a library that came has made the location ambiguous: the breakpoint is pending then.
func (w Where) All(m *codemap.Map, t *proc.Target) (out []native.Place, lack error) {
	goes := w.Delves(m, t)
	if len(goes) == 0 && w.File != "" {
		goes = w.Stripped(m, t)
	}
	out, lack = w.Native(m)
	if exported := w.exported(m, t, out); len(exported) > 0 {
		out, goes = nil, exported
	}
	if len(goes) > 0 && w.File != "" {
		out = w.exactly(out)
	}
	for _, addr := range goes {
		file, line, fn := t.BinInfo().PCToLine(addr)
		p := native.Place{Addr: addr, File: file, Line: line}
		if fn != nil {
			p.Function = fn.Name
		}
		out = append(out, p)
	}
	return out, lack
}

// cgoExports is the file that cgo writes for the Go functions that C calls: each has a function of C's with its name there.
const cgoExports = "_cgo_export.c"

// exported returns the Go function that a name means where C has cgo's function of that name alone.
func (w Where) exported(m *codemap.Map, t *proc.Target, natives []native.Place) (addrs []uint64) {
	own := func(p native.Place) bool { return filepath.Base(p.File) != cgoExports }
	if w.Function == "" || len(natives) == 0 || slices.ContainsFunc(natives, own) {
		return nil
	}
	for i := range t.BinInfo().Functions {
		if fn := &t.BinInfo().Functions[i]; strings.HasSuffix(fn.Name, "."+w.Function) && !strings.HasPrefix(fn.Name, "C.") {
			addrs = append(addrs, Where{Function: fn.Name}.Delves(m, t)...)
		}
	}
	return addrs
}

// exactly leaves the places of the line itself.
func (w Where) exactly(places []native.Place) []native.Place {
	return slices.DeleteFunc(places, func(p native.Place) bool { return p.Line != w.Line })
}

// ByClew returns all places, if clew knows one that Delve does not; else none.
func (w Where) ByClew(m *codemap.Map, t *proc.Target) (places []native.Place, err error) {
	if places, err = w.Native(m); err != nil {
		return nil, err
	}
	if len(w.Delves(m, t)) > 0 && len(w.exactly(places)) == 0 {
		return nil, nil
	}
	return w.All(m, t)
}
