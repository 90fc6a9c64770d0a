// Package listing makes a page of many stacks: it leaves out what was not asked
// for ([Filter]), puts stacks together that are alike ([Groups]), counts what
// goroutines and threads do ([Summary]), and compares two listings ([Compare]).
//
// It is pure: stacks come one at a time, and of each group one stack and the IDs
// of the others are kept, so that memory is bounded by what differs.
package listing
