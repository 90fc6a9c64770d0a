// Command install tries a release as a stranger would, in a Debian system that has
// neither Go nor a compiler:
//
//	go -C tools/release run ./install [-dist DIR] [-base DIR]
//
// It builds the release of the commit that is checked out (or takes the files in
// -dist), makes a minimal Debian bookworm with debootstrap (kept in -base for the next
// time), and in a fresh copy of it, once for the .deb and once for the archive, runs the
// commands of docs/install.md as they stand there, then the demo, a session in the
// terminal, `clew stack --pid`, a manual page and completion, removes clew, and compares
// all files with those before: nothing may be left.
//
// It needs root, git, debootstrap and a network, and takes two minutes, three the first
// time. The exit status is 1 when anything fails.
package main
