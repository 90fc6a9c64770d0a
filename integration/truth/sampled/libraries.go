//go:build linux && (amd64 || arm64)

package sampled

// library is a workload in one of Debian's libraries: drivers/NAME.c, or NAME.cc.
type library struct {
	name    string
	file    string   // of the library, "" for none
	debian  string   // its package
	further []string // libraries of the same kind, which the workload is linked with
	cxx     bool     // the library is written in C++
	jumps   bool     // the workload leaves functions by longjmp or an exception
}

// libraries are those that are measured.
var libraries = []library{
	{name: "c", file: "libc.so.6", debian: "libc6"},
	{name: "z", file: "libz.so.1", debian: "zlib1g"},
	{name: "bz2", file: "libbz2.so.1.0", debian: "libbz2-1.0"},
	{name: "lzma", file: "liblzma.so.5", debian: "liblzma5"},
	{name: "zstd", file: "libzstd.so.1", debian: "libzstd1"},
	{name: "brotli", file: "libbrotlienc.so.1", debian: "libbrotli1", further: []string{"libbrotlidec.so.1"}},
	{name: "png", file: "libpng16.so.16", debian: "libpng16-16", jumps: true},
	{name: "jpeg", file: "libjpeg.so.62", debian: "libjpeg62-turbo libjpeg62-turbo-dev", jumps: true},
	{name: "xml2", file: "libxml2.so.2", debian: "libxml2"},
	{name: "expat", file: "libexpat.so.1", debian: "libexpat1"},
	{name: "sqlite3", file: "libsqlite3.so.0", debian: "libsqlite3-0"},
	{name: "pcre2", file: "libpcre2-8.so.0", debian: "libpcre2-8-0"},
	{name: "onig", file: "libonig.so.5", debian: "libonig5"},
	{name: "gmp", file: "libgmp.so.10", debian: "libgmp10"},
	{name: "gsl", file: "libgsl.so.27", debian: "libgsl27", further: []string{"libgslcblas.so.0"}},
	{name: "crypto", file: "libcrypto.so.3", debian: "libssl3"},
	{name: "sodium", file: "libsodium.so.23", debian: "libsodium23"},
	{name: "dav1d", file: "libdav1d.so.6", debian: "libdav1d6"},
	{name: "lua", file: "liblua5.4.so.0", debian: "liblua5.4-0", jumps: true},
	{name: "tcl", file: "libtcl8.6.so", debian: "libtcl8.6", jumps: true},
	{name: "readline", file: "libreadline.so.8", debian: "libreadline8"},
	{name: "freetype", file: "libfreetype.so.6", debian: "libfreetype6 fonts-dejavu-core", jumps: true},
	{name: "glib", file: "libglib-2.0.so.0", debian: "libglib2.0-0"},
	{name: "curl", file: "libcurl.so.4", debian: "libcurl4"},
	{name: "jansson", file: "libjansson.so.4", debian: "libjansson4"},
	{name: "yaml", file: "libyaml-0.so.2", debian: "libyaml-0-2"},
	{name: "jsonc", file: "libjson-c.so.5", debian: "libjson-c5"},
	{name: "archive", file: "libarchive.so.13", debian: "libarchive13"},
	{name: "fftw", file: "libfftw3.so.3", debian: "libfftw3-double3"},
	{name: "rsvg", file: "librsvg-2.so.2", debian: "librsvg2-2", further: []string{"libcairo.so.2", "libgobject-2.0.so.0"}, jumps: true}, // Rust
	{name: "stdcxx", file: "libstdc++.so.6", debian: "libstdc++6", cxx: true, jumps: true},
	{name: "harfbuzz", file: "libharfbuzz.so.0", debian: "libharfbuzz0b fonts-dejavu-core", cxx: true},
	{name: "icu", file: "libicuuc.so.72", debian: "libicu72", further: []string{"libicui18n.so.72"}, cxx: true},
	{name: "go"}, // Go's assembly
	{name: "leveldb", file: "libleveldb.so.1d", debian: "libleveldb1d", cxx: true},
}
