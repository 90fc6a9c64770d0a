// Package codemap knows the code of one target: which image and function an
// address lies in, its original bytes, what Go's tables say of it, and its
// name and source line. It binds files, which know nothing of processes, to
// the addresses that they are loaded at.
//
// A file describes an image only if it is what was loaded: of one that was
// deleted or replaced since, what the kernel has kept is read, or memory;
// one of another build ([BuildError]) or written to since is not
// used. The user is told.
//
// Code that the process has generated ([Generated]) becomes images too, in executable
// memory that no file was loaded to: what the process has registered or dumped describes
// it, and never what a file was loaded for.
package codemap
