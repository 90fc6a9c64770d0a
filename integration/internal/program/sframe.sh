#!/bin/sh
# sframe.sh TOOLCHAINS: builds the libraries of testdata/sframe with the
# assemblers and linkers that internal/unwind/sframe/sframetest/fetch-toolchains.sh
# fetched. Needs gcc and strip.
set -eu
cd "$(dirname "$0")/testdata"
tools=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p sframe
for version in v1 v2 v3; do
	library=$work/libnative-$version.so
	gcc -B "$tools/$version/amd64/" -O2 -g0 -fomit-frame-pointer -Wa,--gsframe -include native/sframe.h \
		-shared -fPIC -pthread -Wl,--build-id -o "$library" native/native.c
	strip -s "$library"
	gzip -9nc "$library" >"sframe/libnative-$version.so.gz"
done
cat native/native.c native/throw.h native/native.h native/sframe.h | sha256sum | cut -d ' ' -f 1 >sframe/sources.sha256
