// Package jsonread reads one JSON document strictly and reports the place of
// every problem: "threads[0].registers.rip: expected a string, found a number".
//
// encoding/json does not offer that: it ignores the case of names, takes the
// last of two fields of one name, and its errors contain neither array indexes
// nor the error of a field's decoder. Here the document is checked as a whole
// by encoding/json first ([New]) and then walked; a walker asks for the values
// that it expects, in the document's order. Fields that it does not ask for are
// skipped.
//
// Nothing is allocated by the walk itself except strings that are asked for and, once for
// a list, where the fields of its objects go,
// and a caller's allocations for array elements can be charged to a budget
// ([Reader.Charge]): "{}," is three bytes in a file and a hundred times that in
// memory.
package jsonread
