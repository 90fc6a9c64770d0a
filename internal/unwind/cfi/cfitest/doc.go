// Package cfitest helps tests of call-frame information: it writes sections
// entry by entry ([Builder]), reads those of programs ([Load]) and readelf's
// output for them ([Readelf]).
package cfitest
