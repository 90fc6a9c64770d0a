// Package jit holds clew against programs that generate code: one that LLVM compiles
// while it runs, one that lies about what it has registered, one with a perf map and a
// jitdump, and wazero. The programs record their own return addresses.
package jit
