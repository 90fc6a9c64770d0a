// Package jsonread reads one JSON document strictly and says for every problem
// where it is: "threads[0].registers.rip: expected a string, found a number".
//
// encoding/json cannot be asked for that: it matches names whatever their
// case, takes the last of two fields of one name, and its errors know neither
// array indexes nor what a field's own decoder refused. Here the document is
// checked as a whole by encoding/json first ([New]) and then walked; a walker
// asks for what it expects, in the order in which it stands there. Fields that
// nobody asks for are skipped.
//
// Nothing is allocated by the walk itself except strings that are asked for,
// and what a caller is going to allocate for array elements can be charged to a
// budget ([Reader.Charge]): "{}," is three bytes in a file and a hundred times
// that in memory.
package jsonread
