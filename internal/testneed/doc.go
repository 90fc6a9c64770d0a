// Package testneed lets a test ask for a need that not every machine has: a C
// compiler, a tool, another Go toolchain, permission to trace a process.
//
// A test whose needs the machine lacks is left out, and says so in a line
// that begins with "LEFT OUT:", which integration/check repeats at its end.
// With CI=true the test fails instead: CI leaves nothing out.
//
// Needs lists everything that tests ask for, with the Debian packages, so that
// integration/check can install it. A test must not call t.Skip itself; the
// linter forbids it.
package testneed
