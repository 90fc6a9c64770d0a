// Package hosted builds programs of C's whose Go code comes with a library
// (-buildmode=c-shared), linked or opened at run time, as an extension module of
// Python's is. Before C calls Go, it records its own return addresses.
package hosted
