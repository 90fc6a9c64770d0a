// Package expr parses the expressions that people type about native code: names, members, elements, pointers, casts,
// arithmetic, comparisons and registers, as C, C++ and Rust write them. It knows nothing of values: package values
// evaluates what it returns. There are no calls.
package expr
