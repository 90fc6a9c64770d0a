// Package crash has programs die in many ways, and compares what clew says of it with what the program itself has printed, with
// the source, and with a core file of the same death.
package crash
