// Package symbolstore gives names, lines and inlined functions to addresses of
// images that may not be on this machine: it finds files by build ID, in a folder, as
// one file, or from debuginfod servers, and asks package symbols.
//
// A path proves nothing here: a backtrace comes from another machine. Only a file
// with the image's build ID counts.
package symbolstore
