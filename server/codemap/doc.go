// Package codemap knows the code of one target: which image and function an
// address lies in, its original bytes, what Go's tables say of it, and its
// name and source line. It binds files, which know nothing of processes, to
// the addresses that they are loaded at.
package codemap
