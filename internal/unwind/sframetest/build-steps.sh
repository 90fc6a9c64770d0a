#!/bin/sh
# build-steps.sh TOOLCHAINS VERSION ARCH OUT OPTION...: builds testdata/steps.c
# with SFrame of a version (v1, v2, v3) for amd64, aarch64, aarch64be or s390x as
# the program OUT; on amd64 with a library OUT.so that it calls through its
# procedure linkage table.
set -eu
tools=$1 version=$2 arch=$3 out=$4
shift 4
source=$(cd "$(dirname "$0")" && pwd)/testdata/steps.c
common="-ffreestanding -fno-stack-protector -nostdlib -w -Wa,--gsframe"
quiet() { "$@" 2>"$out.log" || { cat "$out.log" >&2; exit 1; }; rm "$out.log"; } # assemblers say what they leave out
# shellcheck disable=SC2086 # lists of options
case $arch in
amd64)
	quiet gcc -B "$tools/$version/amd64/" "$@" $common -DLIBRARY -shared -fPIC -Wl,-soname,"$(basename "$out").so" -o "$out.so" "$source"
	quiet gcc -B "$tools/$version/amd64/" "$@" $common -DPLT -fPIE -pie -Wl,-z,lazy -Wl,-rpath,'$ORIGIN' -o "$out" "$source" "$out.so"
	;;
aarch64) quiet aarch64-linux-gnu-gcc -B "$tools/$version/aarch64/" "$@" $common -static -o "$out" "$source" ;;
aarch64be) quiet aarch64-linux-gnu-gcc -mbig-endian -B "$tools/$version/aarch64/" "$@" $common -static -o "$out" "$source" ;;
s390x) quiet "$tools/s390x/tree/usr/bin/s390x-linux-gnu-gcc-12" -B "$tools/$version/s390x/" "$@" $common -static -o "$out" "$source" ;;
*) exit 2 ;;
esac
