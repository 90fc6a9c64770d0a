// Package crashguard has the processes that wait for a program to crash: what package crash starts, and what clew does then.
//
//	program ──start──> starter ──start──> guard ──on a crash──> worker
//
// The starter ends at once, so that the program has no child that it does not know. The guard sleeps in poll until the socket
// that is the program's crash output has text or ends. Then it starts the worker, which takes the stacks, and sees to it
// that the program is let go of in time, however the worker fares: the socket's only end is the worker's, and the guard kills it if it
// holds the program for too long. Guard and starter end or sleep while Go still sets packages up (cmd/clew/early): they cost some
// milliseconds and two megabytes.
package crashguard
