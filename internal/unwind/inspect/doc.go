// Package inspect shows a strategy's unwind information of a file: its amount,
// its coverage, its faults, and every row as equations. A plugin's package
// offers a [Format]; the command clew inspect opens files and prints the
// formats' reports.
//
// It knows no file formats: its caller opens the file and describes it as an
// [unwind.Image] at its link-time addresses (Base 0).
package inspect
