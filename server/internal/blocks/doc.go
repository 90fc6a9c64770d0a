// Package blocks is memory of a stopped program that is read a page at a time and
// remembered: stacks are read word by word, and each read of a process costs a
// system call.
package blocks
