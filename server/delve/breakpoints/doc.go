// Package breakpoints places breakpoints in native code, and keeps them while libraries come and go.
//
// To Delve such a breakpoint is one of its own: a logical breakpoint, with its number, condition and hit count. Where its
// code is, clew says ([Where]), for Delve reads no native code. Delve asks for that when it enables the breakpoint, in a
// program that was started again too; at all other times [Set.Refresh] places it. When threads have come to one, clew
// evaluates its condition, and logs its message ([Set.Judge]): Delve cannot read values of native code.
//
// A breakpoint whose code is not loaded is pending. While a set has breakpoints, one more stands in the function that the
// dynamic loader calls after each change of its list (glibc, elf/dl-debug.c; musl has it by the same name): it never stops the
// program for the user, and what the library that has come holds is placed there, before any of the library's code runs. What a library took with it
// is pending again. What is mapped counts, and not the loader's list: a library in another namespace (dlmopen) is seen
// as well. A program that loads code without the loader is looked at when it is next resumed.
package breakpoints
