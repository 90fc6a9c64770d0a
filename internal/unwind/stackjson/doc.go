// Package stackjson has the JSON forms of frames and stacks: the output of `clew
// stack` and `clew unwind`, and in a snapshot Delve's frames and the expected
// answer of an unwinder.
//
// Addresses are strings, "0x" and lower-case digits without leading zeros; ids
// are numbers; an absent field is unknown or does not apply. Readers ignore
// fields that they do not know, and are strict about those that they do know:
// errors are a [*FieldError] with the path of the field.
//
// The forms are plain data ([Frame], [Stack], [Answer]). [FromFrame] and
// [FromStack] make them of the domain's values, the methods named Domain go
// back. Values without a JSON field are lost: a stack's notes and whether its
// depth was limited (its reason says so in words), and a frame's segment.
package stackjson
