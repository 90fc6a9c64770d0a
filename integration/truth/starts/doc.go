// Package starts measures the model of code without tables.
//
//	go run ./integration/truth starts [-heights] [-v] [-keep FOLDER] [NAME | /PATH...]
//
// It links static libraries of Debian whole into programs, strips them of symbols and of
// call-frame information, and compares where the model finds functions with the symbols:
// precision (how many of the starts that were found are functions) and recall (how many of
// the functions were found), beside those of .eh_frame alone and of the calls that objdump
// lists. With -heights it compares where
// the model has the CFA at every instruction with .eh_frame. Arguments choose libraries, or
// are paths of files with symbols.
package starts
