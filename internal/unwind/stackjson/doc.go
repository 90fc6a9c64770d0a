// Package stackjson has the JSON forms of frames and stacks: what `clew stack`
// and `clew unwind` answer, what a snapshot claims of Delve's frames and what it
// expects of an unwinder.
//
// Addresses are strings, "0x" and lower-case digits without leading zeros; ids
// are numbers; an absent field is unknown or does not apply. Readers ignore
// fields that they do not know, and are strict about those that they do know:
// errors are a [*FieldError] with the path of the field.
//
// The forms are plain data ([Frame], [Stack], [Answer]). [FromFrame] and
// [FromStack] make them of the domain's values, the methods named Domain go
// back. What the JSON has no field for is lost on the way: a stack's notes and
// whether its depth was limited (its reason says so in words), and a frame's
// segment.
package stackjson
