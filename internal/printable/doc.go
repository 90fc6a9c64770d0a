// Package printable makes text from outside safe to show. Names of symbols, paths,
// a plugin's version and errors that quote them may hold control characters that
// take over a terminal, newlines that fake a line, and marks of direction that
// reorder what a person reads.
package printable
