// Package memory measures how stacks come out when memory is damaged:
//
//	go run ./integration/hostile memory [-trials N] [-seed N] [-part overwritten|shapes|deep]
//
// overwritten: words of live stacks are overwritten, and the stack is compared
// with the one that was there before. Words are chosen at random; half of the
// trials overwrite them with random bits, the other half with plausible
// values: other return addresses, addresses of code and of the stack.
//
// shapes: frame pointers that point to themselves and in circles, pages in the
// middle of a stack that cannot be read, invalid stack pointers.
//
// deep: programs that have called themselves a million times, and the command
// beside them: time and memory, against a thousand calls in the same run.
//
// The exit status is 1 when a bound is broken that must hold on any machine: a
// walk that does not end, wrong frames beyond the rates that are accepted, memory
// or time that grows with the stack.
package memory
