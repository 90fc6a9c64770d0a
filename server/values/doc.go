// Package values reads the variables of frames of native code: C, C++, Rust and others that DWARF
// describes.
//
// A variable's value is one of three: a value; optimized out (DWARF says that it has no place here);
// unknown, with the reason. There is no fourth: what rests on a register that the walk
// did not recover is unknown.
//
// # What a value rests on
//
//   - A frame's registers are those that the walk recovered. What no step speaks of is unchanged where the ABI has functions
//     keep it, and unknown where it does not. Behind a step that was found by scanning nothing but the program counter is known.
//   - A frame's CFA is known where the step out of the frame was found by tables or by the code, not by frame pointers or scans:
//     those can pass a frame over, and the CFA would be another's.
//   - What a parameter was at a function's entry is what the caller's call site says that it passed, if that call is of this function.
//   - Scopes and places are looked up within the call in callers (R9).
//
// Nothing here runs code of the program, and reading writes nothing. All that DWARF and memory claim is
// bounded: sizes are numbers until bytes are asked for, and no more are read than are shown.
package values
