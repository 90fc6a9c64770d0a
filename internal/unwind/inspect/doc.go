// Package inspect is how a strategy shows what its unwind information says of a
// file: how much there is, what it covers, what is wrong with it, and every row
// as equations. A plugin's package offers a [Format]; the command clew inspect
// opens files and prints what the formats say.
//
// It knows no file formats: who opens the file describes it as an [unwind.Image]
// at its link-time addresses (Base 0).
package inspect
