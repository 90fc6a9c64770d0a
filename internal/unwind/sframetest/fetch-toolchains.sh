#!/bin/sh
# fetch-toolchains.sh DIR: unpacks into DIR the assemblers, linkers and readelfs
# that write each generation of SFrame, from Debian's packages: binutils 2.40
# (bookworm, version 1), 2.44 (trixie, version 2) and sid's (version 3), for amd64,
# aarch64 and s390x, and a cross compiler and C library for s390x. Nothing is
# installed: DIR is all that it writes to, and apt's own lists stay as they are.
#
# Needs Debian bookworm or later on amd64 with apt, dpkg-deb and Debian's
# keyring, and about 400 MB. What it leaves behind:
#
#   DIR/v1 DIR/v2 DIR/v3    for each: amd64/ aarch64/ s390x/ with as, ld, readelf,
#                           to point gcc at with -B DIR/v3/amd64/
#   DIR/v3/tree             among others libsframe: headers and static library
#   DIR/s390x/tree          a compiler for s390x
set -eu
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
root=$(cd "$1" && pwd)

# unpack VERSION SUITE PACKAGE...
unpack() {
	version=$1 suite=$2
	shift 2
	tree=$root/$version/tree apt=$root/$version/apt
	mkdir -p "$tree" "$apt/lists/partial" "$apt/archives/partial"
	: >"$apt/status"
	cat >"$apt/debian.sources" <<-END
		Types: deb
		URIs: http://deb.debian.org/debian
		Suites: $suite
		Components: main
		Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	END
	options="-qq -o Dir::Etc::sourcelist=$apt/debian.sources -o Dir::Etc::sourceparts=/nonexistent \
		-o Dir::State=$apt -o Dir::State::Lists=$apt/lists -o Dir::State::status=$apt/status \
		-o Dir::Cache=$apt -o APT::Sandbox::User=root"
	# shellcheck disable=SC2086 # options are several words
	(cd "$apt/archives" && apt-get $options update && apt-get $options download "$@")
	for package in "$apt"/archives/*.deb; do
		dpkg-deb -x "$package" "$tree"
	done
	rm -rf "$apt"
}

# wrap VERSION ARCH PREFIX: programs that run with the loader and libraries of
# their own suite.
wrap() {
	tree=$root/$1/tree
	mkdir -p "$root/$1/$2"
	loader=$(find "$tree" -name 'ld-linux-x86-64.so.2' | head -n 1)
	for tool in as ld readelf objcopy; do
		program=$tree/usr/bin/$3-$tool
		[ -e "$program" ] || continue
		cat >"$root/$1/$2/$tool" <<-END
			#!/bin/sh
			exec $loader --library-path $tree/usr/lib/x86_64-linux-gnu:$tree/lib/x86_64-linux-gnu $program "\$@"
		END
		chmod +x "$root/$1/$2/$tool"
	done
}

libraries="libc6 zlib1g libzstd1 libbinutils libctf0 libjansson4 libgprofng0"
tools="binutils-x86-64-linux-gnu binutils-aarch64-linux-gnu binutils-s390x-linux-gnu"
# shellcheck disable=SC2086 # lists of packages
{
	unpack v1 bookworm $libraries $tools
	unpack v2 trixie $libraries $tools libsframe1
	unpack v3 sid $libraries $tools libsframe3 libsframe-dev libiberty-dev
	# libsframe's headers want one of libiberty's that Debian has in a folder of its own.
	cp "$root/v3/tree/usr/include/libiberty/ansidecl.h" "$root/v3/tree/usr/include/"
	unpack s390x bookworm gcc-12-s390x-linux-gnu cpp-12-s390x-linux-gnu libgcc-12-dev-s390x-cross libgcc-s1-s390x-cross \
		libc6-s390x-cross libc6-dev-s390x-cross linux-libc-dev-s390x-cross binutils-s390x-linux-gnu libbinutils
}
for version in v1 v2 v3; do
	wrap $version amd64 x86_64-linux-gnu
	wrap $version aarch64 aarch64-linux-gnu
	wrap $version s390x s390x-linux-gnu
done
for version in v1 v2 v3; do
	echo "$version: $("$root/$version/amd64/as" --version | head -n 1)"
done
