//go:build linux && (amd64 || arm64)

package matrix

import (
	"slices"

	"github.com/clewdbg/clew/integration/internal/program"
)

// row is a way to build the C part of the program.
type row struct {
	Title string
	program.Variant
}

// rows are the builds.
var rows = []row{
	{"`-O1 -g`, static", program.Variant{Name: "O1-g", CFlags: "-O1 -g"}},
	{"`-O2 -g`, static", program.Variant{Name: "O2-g", CFlags: "-O2 -g"}},
	{"frame pointers, no CFI, static", program.Variant{Name: "fp",
		CFlags: "-O2 -g0 -fno-omit-frame-pointer " + program.NoTables}},
	{"frame pointers, no CFI, stripped `.so`", program.Variant{Name: "fp-so",
		CFlags: "-O2 -g0 -fno-omit-frame-pointer " + program.NoTables, Linkage: program.Linked, Stripped: true}},
	{"`.eh_frame` only, static", program.Variant{Name: "eh",
		CFlags: "-O2 -g0 -fomit-frame-pointer"}},
	{"`.eh_frame` only, stripped `.so`", program.Variant{Name: "eh-so",
		CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked, Stripped: true}},
	{"SFrame 1 only, stripped `.so`", sframe("v1")},
	{"SFrame 2 only, stripped `.so`", sframe("v2")},
	{"SFrame 3 only, stripped `.so`", sframe("v3")},
	{"C++ with exceptions, static", program.Variant{Name: "cxx", Compiler: "g++",
		CFlags: "-O2 -g0"}},
	{"C++ with exceptions, stripped `.so`", program.Variant{Name: "cxx-so", Compiler: "g++",
		CFlags: "-O2 -g0", Linkage: program.Linked, Stripped: true}},
	{"clang, `.eh_frame` only, stripped `.so`", program.Variant{Name: "clang-so", Compiler: "clang",
		CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked, Stripped: true}},
	{"Rust, static", program.Variant{Name: "rust", Rust: true,
		CFlags: "-O2 -g0"}},
	{"Rust, stripped `.so`", program.Variant{Name: "rust-so", Rust: true,
		CFlags: "-O2 -g0", Linkage: program.Linked, Stripped: true}},
	{"neither, static", program.Variant{Name: "none", Undescribed: true,
		CFlags: "-O2 -g0 -fomit-frame-pointer " + program.NoTables}},
	{"neither, stripped `.so`", program.Variant{Name: "none-so", Undescribed: true,
		CFlags: "-O2 -g0 -fomit-frame-pointer " + program.NoTables, Linkage: program.Linked, Stripped: true}},
}

// armRows are further builds, for arm64: with signed return addresses, landing pads, calls
// of helpers for atomics, and SFrame of the assembler at hand.
var armRows = []row{
	{"SFrame only, stripped `.so`", program.Variant{Name: "sframe-own", CFlags: "-O2 -g0 -fomit-frame-pointer", SFrame: program.OwnSFrame, Linkage: program.Linked, Stripped: true}},
	// The program itself has no atomics yet.
	{"outlined atomics, `.eh_frame` only, stripped `.so`", program.Variant{Name: "atomics-so",
		CFlags: "-O2 -g0 -fomit-frame-pointer -moutline-atomics", Linkage: program.Linked, Stripped: true}},
	{"clang `-Oz`, outlined, stripped `.so`", program.Variant{Name: "oz-so", Compiler: "clang",
		CFlags: "-Oz -g0 -mllvm -enable-machine-outliner=always", Linkage: program.Linked, Stripped: true}},
	{"PAC and BTI, `-O2 -g`, static", program.Variant{Name: "pac-g", CFlags: "-O2 -g -mbranch-protection=standard"}},
	{"PAC and BTI, frame pointers, no CFI, static", program.Variant{Name: "pac-fp",
		CFlags: "-O2 -g0 -mbranch-protection=standard -fno-omit-frame-pointer " + program.NoTables}},
	{"PAC and BTI, frame pointers, no CFI, stripped `.so`", program.Variant{Name: "pac-fp-so", Linkage: program.Linked, Stripped: true,
		CFlags: "-O2 -g0 -mbranch-protection=standard -fno-omit-frame-pointer " + program.NoTables}},
	{"PAC and BTI, `.eh_frame` only, stripped `.so`", program.Variant{Name: "pac-eh-so", Linkage: program.Linked, Stripped: true,
		CFlags: "-O2 -g0 -mbranch-protection=standard -fomit-frame-pointer"}},
	{"PAC in leaves too, `.eh_frame` only, stripped `.so`", program.Variant{Name: "pac-leaf-so", Linkage: program.Linked, Stripped: true,
		CFlags: "-O2 -g0 -mbranch-protection=pac-ret+leaf -fomit-frame-pointer"}},
	{"PAC and BTI, SFrame only, stripped `.so`", program.Variant{Name: "pac-sframe", SFrame: program.OwnSFrame, Linkage: program.Linked, Stripped: true,
		CFlags: "-O2 -g0 -mbranch-protection=standard -fomit-frame-pointer"}},
	{"PAC and BTI, C++ with exceptions, stripped `.so`", program.Variant{Name: "pac-cxx-so", Compiler: "g++", Linkage: program.Linked, Stripped: true,
		CFlags: "-O2 -g0 -mbranch-protection=standard"}},
	{"PAC and BTI, neither, static", program.Variant{Name: "pac-none", Undescribed: true,
		CFlags: "-O2 -g0 -mbranch-protection=standard -fomit-frame-pointer " + program.NoTables}},
	{"PAC and BTI, neither, stripped `.so`", program.Variant{Name: "pac-none-so", Undescribed: true, Linkage: program.Linked, Stripped: true,
		CFlags: "-O2 -g0 -mbranch-protection=standard -fomit-frame-pointer " + program.NoTables}},
}

func init() { rows = append(rows, armRows...) }

// on is the architecture that a build is for, "" for both.
func (r *row) on() string {
	if slices.ContainsFunc(armRows, func(a row) bool { return a.Name == r.Name }) {
		return "arm64"
	}
	return ""
}

// sframe is a library that was built with SFrame of a version and no other tables.
func sframe(version string) program.Variant {
	v, _ := program.Named("opened-O2-sframe-" + version + "-stripped")
	return v
}

// throws says that the native code has exceptions (or panics) that cross frames.
func (r *row) throws() bool { return r.cpp() || r.Rust }

func (r *row) cpp() bool { return r.Compiler == "g++" }
