// Package debuginfod gets debug files, executables and sources by build ID from
// the servers in DEBUGINFOD_URLS, as elfutils' client does: the same environment
// variables, the same cache (debuginfod_find_debuginfo(3), debuginfod-find(1)).
// Without that variable nothing is asked.
//
// elfutils' own debuginfod-find does it where it is installed, plain HTTP
// elsewhere. Both are bounded in bytes and time, and what comes counts only if
// its own build ID is the one that was asked for: nothing in the protocol proves it.
//
// [Client] answers when the file is there. [Background] answers at once, with what
// is there; a stack does not wait for a server. [StandIn] and [Find] do the same for
// what Delve asks servers for itself.
package debuginfod
