// Package live compares the words of live stacks, by running clew: names, files, lines and
// inlined calls are the same as text and as JSON, in an editor and in a terminal, and those
// of the program's source.
package live
