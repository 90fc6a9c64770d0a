#!/bin/sh
# macho.sh: builds the Mach-O libraries of testdata/macho from testdata/native. The
# code is preprocessed for Linux, whose C library it calls, and compiled for macOS:
# both have the System V calling convention. Needs Debian's clang-19, lld-19 and
# llvm-19.
set -eu
cd "$(dirname "$0")/testdata"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p macho
# The few assembler directives that Mach-O writes otherwise.
sed -e 's/\.globl plt_call, plt_return\\n\.hidden plt_call, plt_return\\n/.private_extern _plt_call\\n.private_extern _plt_return\\n/' \
	-e 's/"plt_call: call getppid@PLT\\nplt_return:"/"_plt_call: callq _getppid\\n_plt_return:"/' native/native.c >"$work/native.c"
cp native/*.h "$work"
clang-19 --target=x86_64-linux-gnu -E -O2 "$work/native.c" -o "$work/native.i"
# library NAME FLAGS...: builds native code with these flags
library() {
	name=$1
	shift
	clang-19 --target=x86_64-apple-macos11 "$@" -funwind-tables -fno-stack-protector -femulated-tls -x cpp-output -c "$work/native.i" -o "$work/$name.o"
	ld64.lld-19 -arch x86_64 -dylib -platform_version macos 11.0 11.0 -undefined dynamic_lookup \
		-install_name /usr/local/lib/libnative.dylib "$work/$name.o" -o "$work/$name.dylib"
}
library omit -O2 -fomit-frame-pointer
library fp -O2 -fno-omit-frame-pointer
library O0 -O0 -fomit-frame-pointer
gzip -9nc "$work/omit.dylib" >macho/libnative-omit.dylib.gz
gzip -9nc "$work/O0.dylib" >macho/libnative-O0.dylib.gz
# A universal file, with an image for arm64 beside.
clang-19 --target=arm64-apple-macos11 -O2 -funwind-tables -ffreestanding -x c -c - -o "$work/other.o" <<-'C'
	int other(int n) { return n; }
C
ld64.lld-19 -arch arm64 -dylib -platform_version macos 11.0 11.0 "$work/other.o" -o "$work/other.dylib"
llvm-lipo-19 -create "$work/other.dylib" "$work/fp.dylib" -output "$work/fat.dylib"
gzip -9nc "$work/fat.dylib" >macho/libnative-fp-universal.dylib.gz
cat native/native.c native/throw.h native/native.h | sha256sum | cut -d ' ' -f 1 >macho/sources.sha256
