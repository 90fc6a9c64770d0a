// Command program opens a library with a workload and runs it. The workload calls back
// into Go, and Go calls C from there. The workload "go" is Go's own assembly.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*back)(int);
extern int goBack(int);

static void *workload(const char *path) {
	void *library = dlopen(path, RTLD_LAZY);
	void *run = library ? dlsym(library, "run") : 0;
	if (!run)
		fprintf(stderr, "%s\n", dlerror());
	return run;
}
static int go_on(void *run) { return ((int (*)(back))run)((back)goBack); }
static int length(int n) { char text[16]; return snprintf(text, sizeof text, "%d", n); }
*/
import "C"

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash/crc32"
	"math/big"
	"os"
	"runtime"
	"unsafe"
)

func init() { runtime.LockOSThread() }

func main() {
	var f unsafe.Pointer
	if os.Args[1] != "go" {
		if f = C.workload(C.CString(os.Args[1])); f == nil {
			os.Exit(2)
		}
	}
	grow(make([]byte, 1))
	runtime.Gosched() // what the scheduler wants of the goroutine is done
	if run(f) != 0 {
		os.Exit(3)
	}
}

// grow has the goroutine's stack grow once and for all.
//
//go:noinline
func grow(to []byte) {
	var room [32 << 10]byte
	room[len(to)] = to[0]
	copy(to, room[:])
}

//go:noinline
func run(f unsafe.Pointer) int {
	if f == nil {
		return hash(make([]byte, 300), make([]byte, 0, 4096))
	}
	return int(C.go_on(f))
}

// hash does what the standard library has assembly for.
//
//go:noinline
func hash(in, out []byte) int {
	for i := range in {
		in[i] = byte(i * 7)
	}
	block, err := aes.NewCipher(in[:16])
	if err != nil {
		return 4
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return 5
	}
	a, b, c, d := md5.Sum(in), sha1.Sum(in), sha256.Sum256(in), sha512.Sum512(in)
	out = append(append(append(append(out, a[:]...), b[:]...), c[:]...), d[:]...)
	out = gcm.Seal(out, in[:12], in, nil)
	n := new(big.Int).SetBytes(out[:200])
	n.Mul(n, n).Sub(n, big.NewInt(1)).Rsh(n, 7)
	n.Exp(big.NewInt(3), n.Rsh(n, 2900), big.NewInt(1_000_003))
	at := bytes.IndexByte(out, 77) + bytes.Count(out, []byte{1}) + bytes.Index(out, in[20:40])
	if crc32.ChecksumIEEE(out) == 0 && at == -1 && n.Sign() == 0 || bytes.Equal(in, out) {
		return 6
	}
	return 0
}

//export goBack
func goBack(n C.int) C.int { return n + C.length(n) }
