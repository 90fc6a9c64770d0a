// Package mutated runs whole commands of clew over damaged input, each in a process of its own
// with a limit on memory:
//
//	go run ./integration/hostile mutated [-time TIME] [-seed N] [-only KIND,...] [-workers N] [-keep FOLDER] [-add FILE]
//
// What is damaged is real: executables, libraries, debug files, core files, backtraces, profiles, snapshots,
// descriptions of generated code, clew.json, a session of DAP, one of JSON-RPC, and what a remote server answers,
// also to a proxy. Of files of a program that runs, what is loaded stays as it is. A damaged input has some bits flipped, numbers replaced, ranges removed, repeated or taken from another input;
// half of the places in an ELF file lie in its unwind tables, symbols and debug sections, each as likely as the
// other. The inputs of kinds whose name ends with "tables" are damaged by what their numbers mean: offsets, counts, lengths, forms,
// encodings and instructions in headers, call-frame information, SFrame, compact unwind, debugging information and notes
// become their neighbours, each other, places of the table or sizes; entries are repeated up to 200,000 times. Servers
// of debug files cut off, go on for ever, lie about sizes, lead in a circle, or send damaged files.
//
// A run fails when clew panics, ends by a signal or by an exit code that no command has, takes more than
// 2 GiB of memory or 10 s of processor time, or does not end in 5 minutes. The input is then kept.
// -time is processor time of the commands, over all kinds. -add keeps totals over several runs in a file. An
// interrupt ends the runs, and prints the table.
//
// It prints a table of what each kind of input has cost. The exit status is 0 when no run failed, 1 when one did, 2 for wrong usage.
package mutated
