//go:build ignore

// A Go program for its .debug_frame.
package main

func main() { println("frames") }
