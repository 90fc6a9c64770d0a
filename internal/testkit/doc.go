// Package testkit is what tests of live programs, and programs that measure, have in common: a work folder, the clew and
// the dlv that are tried, programs that are debugged, and servers that say where they listen.
//
// What a machine may lack is asked of package testneed. An editor is played by package dapwiretest.
package testkit
