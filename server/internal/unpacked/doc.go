// Package unpacked keeps decompressed sections of files in the user's cache, so that a large section is decompressed once, and
// not by each session: a library's DWARF of 150 MB takes a second, and the memory that it fills.
//
// A section is known by its file's device, inode, size and times. The time of the last change (st_ctime, stat(2)) changes with every write,
// and programs cannot set it: a file that claims another's build ID changes nothing for that one. The folder must belong to the user, and
// be closed to others; what is in it that the user does not own is not read. Each block has a checksum, so that a file that was
// cut or changed counts for nothing, and is removed. The folder holds at most [MaxCache] bytes: the sections that were
// not used for longest go first.
//
// Where there is no such cache, sections are read as before.
package unpacked
