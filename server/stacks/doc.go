// Package stacks gives the stacks of a debugged program stop by stop: assembled
// once, kept until the program runs again, in bounded time. It is for servers
// that hold the program themselves while they ask.
package stacks
