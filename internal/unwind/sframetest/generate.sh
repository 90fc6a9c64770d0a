#!/bin/sh
# generate.sh TOOLCHAINS [OUT]: builds programs with the assembler and linker of
# every generation (TOOLCHAINS is what fetch-toolchains.sh wrote) and keeps of
# each the sections .sframe and those of the linkage table with what its generation's own readelf
# says, in OUT, by default sframe/testdata. It builds the programs in
# plugins/sframe/testdata too.
#
# Needs gcc, clang or cross compilers of Debian bookworm: gcc, gcc-aarch64-linux-gnu.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tools=$(cd "$1" && pwd)
out=${2:-$here/../../../sframe/testdata}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=$here/testdata
mkdir -p "$work/include/gnu"
: >"$work/include/gnu/stubs-lp64_be.h" # Debian has no C library for big-endian aarch64

# keep NAME VERSION ARCH FILE
keep() {
	"$tools/$2/$3/readelf" --sframe "$4" >"$out/$1.txt"
	"$tools/v3/$3/objcopy" -j .sframe -j .plt.got -j .plt -j .plt.sec "$4" "$work/kept" 2>/dev/null # segments get empty
	gzip -9nc "$work/kept" >"$out/$1.elf.gz"
}

# build NAME VERSION ARCH COMPILER... : a shared library or program
build() {
	name=$1 version=$2 arch=$3
	shift 3
	"$@" -B "$tools/$version/$arch/" -Wa,--gsframe -w -o "$work/$name" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
	keep "$name" "$version" "$arch" "$work/$name"
}

s390x() {
	tree=$tools/s390x/tree/usr
	"$tree/bin/s390x-linux-gnu-gcc-12" -isystem "$tree/s390x-linux-gnu/include" "$@"
}

frames=$sources/../../cfi/cfitest/testdata/frames.c
library="-shared -fPIC -nostdlib"
# shellcheck disable=SC2086 # lists of options
for v in v1 v2 v3; do
	build amd64-o0-$v $v amd64 gcc -O0 -fno-stack-protector "$frames"
	build amd64-o2-$v $v amd64 gcc -O2 "$frames"
	build amd64-ibt-$v $v amd64 gcc -Os -fcf-protection=full -Wl,-z,ibtplt -Wl,-z,lazy "$frames"
	build amd64-forms-$v $v amd64 gcc $library "$sources/amd64.s"
	build amd64-flex-$v $v amd64 gcc $library "$sources/amd64-flex.s"
	build aarch64-o2-$v $v aarch64 aarch64-linux-gnu-gcc -O2 -mbranch-protection=standard "$frames"
	build aarch64-forms-$v $v aarch64 aarch64-linux-gnu-gcc $library "$sources/aarch64.s"
	build aarch64be-o2-$v $v aarch64 aarch64-linux-gnu-gcc -mbig-endian -isystem "$work/include" -O2 \
		-mbranch-protection=pac-ret+leaf+b-key $library "$frames"
	build aarch64be-forms-$v $v aarch64 aarch64-linux-gnu-gcc -mbig-endian $library "$sources/aarch64.s"
done
build amd64-gc-v3 v3 amd64 gcc -O2 -ffunction-sections -Wl,--gc-sections "$frames"
for level in O0 O2; do
	# shellcheck disable=SC2086
	build s390x-$level-v3 v3 s390x s390x -$level $library "$frames"
done
# shellcheck disable=SC2086
build s390x-flex-v3 v3 s390x s390x $library "$sources/s390x-flex.s"

# The programs that plugins/sframe single-steps.
steps=$here/../../../plugins/sframe/testdata
mkdir -p "$steps"
# program NAME VERSION ARCH OPTION...
program() {
	name=$1
	shift
	version=$1 arch=$2
	shift 2
	sh "$here/build-steps.sh" "$tools" "$version" "$arch" "$work/$name" "$@"
	gzip -9nc "$work/$name" >"$steps/$name.gz"
	[ ! -e "$work/$name.so" ] || gzip -9nc "$work/$name.so" >"$steps/$name.so.gz"
}
program amd64-v1O2 v1 amd64 -O2
program amd64-v2O2 v2 amd64 -O2
program amd64-v3O2 v3 amd64 -O2
program amd64-v3O0fcfprotectionfullWlzibtplt v3 amd64 -O0 -fcf-protection=full -Wl,-z,ibtplt
for v in v1 v2 v3; do # what one assembler has wrong
	gcc -B "$tools/$v/amd64/" -nostdlib -pie -Wl,--no-dynamic-linker -Wa,--gsframe -o "$work/bug-$v" "$sources/known-bug.s" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
	gzip -9nc "$work/bug-$v" >"$steps/bug-$v.gz"
done
program aarch64-v2O2mbranchprotectionstandard v2 aarch64 -O2 -mbranch-protection=standard
program aarch64-v3Osmbranchprotectionpacretleafbkey v3 aarch64 -Os -mbranch-protection=pac-ret+leaf+b-key
program aarch64be-v3O2 v3 aarch64be -O2
program s390x-v3O2 v3 s390x -O2
