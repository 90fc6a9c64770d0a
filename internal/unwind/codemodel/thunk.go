package codemodel

import (
	"bytes"

	"github.com/clewdbg/clew/internal/unwind/prologue"
)

// Code that compilers put in the place of returns and indirect jumps, against
// speculation: a call over a loop that nothing reaches, and an instruction that
// replaces or drops the return address (gcc -mfunction-return=thunk,
// -mindirect-branch=thunk; clang -mretpoline).

type thunk uint8

const (
	noThunk thunk = iota
	returnThunk
	indirectThunk
)

// thunkSize is the number of bytes that tell.
const thunkSize = 48

var (
	dropReturn = []byte{0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3} // lea 8(%rsp),%rsp; ret
	addReturn  = []byte{0x48, 0x83, 0xc4, 0x08, 0xc3}       // add $8,%rsp; ret
)

func thunkAt(code []byte) thunk {
	const call = 5
	if len(code) < call+2 || code[0] != 0xe8 || code[2]|code[3]|code[4] != 0 {
		return noThunk
	}
	to := call + int(code[1])
	if to <= call || to > len(code) {
		return noThunk
	}
	if loop := code[call:to]; !bytes.HasPrefix(loop, []byte{0xf3, 0x90}) && !bytes.HasPrefix(loop, []byte{0xcc}) && !bytes.HasPrefix(loop, []byte{0x0f, 0xae, 0xe8}) {
		return noThunk
	}
	rest := code[to:]
	switch {
	case bytes.HasPrefix(rest, dropReturn), bytes.HasPrefix(rest, addReturn):
		return returnThunk
	case prologue.ReplacesReturn(rest):
		return indirectThunk
	}
	return noThunk
}
