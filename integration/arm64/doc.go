// Command arm64 runs clew live on linux/arm64, on any machine with Debian's packages:
// it emulates a whole arm64 computer (qemu-system-aarch64) with Debian's own kernel.
//
//	go run ./integration/arm64 [-ci] [-cpu NAME] [-kernel KERNEL] [-o FOLDER] [-timeout 8m] [-build NAME,...] [CASE...]
//	go run ./integration/arm64 [-cpu NAME] [-kernel KERNEL] [-o FOLDER] [-timeout 8m] -script FILE [PATH...]
//
// The first form builds and runs cases, all of them by default; -list names them. Cases
// that run together share one boot. With -ci they are small ones, for some minutes in all. Those
// that take longest run by name alone. -build has matrix, cores and steps take other builds of integration/truth/matrix
// and integration/stepping/places. The second form runs a shell script of yours: the
// files and folders PATH are there under their own absolute paths.
//
// What the script prints is printed. It may write files to /results; -o says where they
// are put, next to what was printed (output).
//
// The processor has pointer authentication, BTI, memory tags and LSE atomics; -cpu cortex-a72 has
// none. The kernel has pages of 4 KiB; -kernel linux-image-arm64-16k has pages of 16 KiB. A kernel
// of your own is a path (./Image), with virtio's disks built in.
//
// The first run downloads a kernel and a C library (65 MB) with apt into clew's folder of
// the user's cache, as any user may. The emulator and the cross compiler come from Debian
// packages; root installs them by this command, others are told what is missing. It
// downloads while it builds, and says how long each part took. The time limit is for each case, and grows on a slow machine.
//
// The exit status is 0 when every case has passed, 1 when one has failed, 2 for wrong
// usage.
package main
