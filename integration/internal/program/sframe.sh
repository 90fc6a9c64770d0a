#!/bin/sh
# sframe.sh TOOLCHAINS: builds the libraries of testdata/sframe with the
# assemblers and linkers that internal/unwind/sframetest/fetch-toolchains.sh
# fetched, for amd64 and arm64. Needs gcc, strip, and those of aarch64-linux-gnu.
set -eu
cd "$(dirname "$0")/testdata"
tools=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p sframe
# build VERSION ARCH PREFIX NAME
build() {
	library=$work/$4
	"$3gcc" -B "$tools/$1/$2/" -O2 -g0 -fomit-frame-pointer -Wa,--gsframe -include native/sframe.h \
		-shared -fPIC -pthread -Wl,--build-id -o "$library" native/native.c
	"$3strip" -s "$library"
	gzip -9nc "$library" >"sframe/$4.gz"
}
for version in v1 v2 v3; do
	build $version amd64 "" libnative-$version.so
	build $version aarch64 aarch64-linux-gnu- libnative-$version-arm64.so
done
cat native/native.c native/throw.h native/native.h native/sframe.h | sha256sum | cut -d ' ' -f 1 >sframe/sources.sha256
