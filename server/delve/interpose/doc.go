// Package interpose stands between Delve and the processes that it holds. Delve has no callbacks for what clew must know or prevent, but each of its
// writes, resumes and reads goes through an interface value or a variable that can be replaced:
//
//   - the guard (guard.go) refuses breakpoints outside of code, and tells what mends the process if clew is killed (lifeline.go);
//   - the runner (runner.go) does what is due before a resume and after a stop: a step's breakpoints, libraries with Go code, breakpoint instructions of
//     the program's own, arm64's exclusive sequences; and before a process is left (release.go);
//   - halts come while the program runs, or not at all (halting.go);
//   - Delve does not see the loader's list of libraries (hiddenlist.go, libraries.go), nor a number of goroutines that has no end (goroutinelist.go).
//
// It knows neither sessions nor steps: a step gives the runner what to place.
package interpose
