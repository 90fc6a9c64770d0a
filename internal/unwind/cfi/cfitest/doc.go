// Package cfitest helps tests of call-frame information: it writes sections
// entry by entry ([Builder]), reads those of programs ([Load]) and what readelf
// says of them ([Readelf]).
package cfitest
