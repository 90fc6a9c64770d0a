// Package crashreport takes the report of a program that dies, keeps reports in a folder, and reads them.
//
// A report is a folder: report.json ([Report]), report.txt for people, crash.cbf with the stacks in the same order, one behind the other, and their
// images in crash.cif. It is built under another name and then renamed, so that it is whole or not there. It has no memory of the
// program, no arguments and no environment; what Go's runtime has printed is in it, and the registers of the frame that
// was interrupted. What is in a folder for reports is not trusted: nothing is written through links, and what is read is bounded.
//
// # Parts
//
//   - take.go: the stacks of a program that waits in the write of its last words ([Take])
//   - report.go: the report as JSON and as a page
//   - store.go: the folder, how many reports it keeps, how many a minute
package crashreport
