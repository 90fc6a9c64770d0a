// Package stepping decides how a step over, into or out of a function is done
// safely. It is pure: a [Situation] goes in, a [Decision] comes out.
//
// Steps in native code are clew's alone: [Return], to the assembler's caller or to where the lines of the code
// lead before (package lines).
//
// In Go code they are Delve's. Its next, step and stepout all place a breakpoint at the address that
// Delve believes to be the return address of the innermost frame. Where Delve's
// stack is wrong, so is that breakpoint: the program runs past its callers, or
// the breakpoint lands in data and changes the program's results. So before
// each step Delve's caller is compared with the assembler's:
//
//   - [Delegate]: they agree, or the function has no caller to be wrong about.
//     Delve does the step alone.
//   - [Assist]: they differ, and Delve's line table is still good for finding the
//     next line. Delve does the step, and the return is caught by a [Temporary]
//     breakpoint at the assembler's caller.
//   - [Return]: they differ and there are no lines, or the step is out of the
//     function, or in native code. The program runs to the [Temporary] breakpoint.
//   - [Refuse]: no strategy knows the caller with more trust than a scan has.
//     Nothing runs, and the reason is the stack's.
//
// # Decisions on the odd cases
//
// Next and stepIn in a function without lines run to its caller, as gdb does;
// Delve refuses them. What such a function calls is not stepped into.
//
// A temporary breakpoint counts only for its own activation ([Temporary]), so
// neither recursion nor another thread ends the step. Delve clears it with its
// own stepping breakpoints: when it is hit, when the step is interrupted by a
// pause or by a breakpoint of the same goroutine or thread, and when the process
// ends. Whoever resumes the program clears it at any other stop too
// (server/delve, Session.EndStep), so it never outlives the stop that follows.
//
// A frame that is left otherwise than by returning (longjmp, an exception that
// passes it, a thread that exits) never comes to the breakpoint. Where it can be seen where the
// program lands, the step ends there (server/delve); else the program
// runs on to its next stop, as with gdb's finish, and the breakpoint is cleared
// there. Should another activation come to the same place on the same stack
// before, the step ends there.
//
// The program may replace its code in between (execve, dlclose): the breakpoint
// is forgotten, not restored over the new code, and the program stops.
//
// # How a protocol uses it
//
// A client's request for a step becomes, by the decision's action, an error
// response (Refuse), or is passed on to Delve: as it is (Delegate), as it is after
// Session.Arm (Assist), or as a continue after Session.Arm (Return). Delve reports
// the end as that of a step either way. At the stop, and when Delve refuses the
// request, Session.EndStep is called; its error, if any, is for the user to read.
package stepping
