package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// archives are static libraries of Debian 12 and the packages that have them.
var archives = []struct{ name, pkg string }{
	{"lua5.4", "liblua5.4-dev"}, {"expat", "libexpat1-dev"}, {"png16", "libpng-dev"}, {"z", "zlib1g-dev"}, {"zstd", "libzstd-dev"}, {"lzma", "liblzma-dev"},
	{"bz2", "libbz2-dev"}, {"lz4", "liblz4-dev"}, {"jpeg", "libjpeg62-turbo-dev"}, {"pcre2-8", "libpcre2-dev"}, {"xml2", "libxml2-dev"},
	{"sqlite3", "libsqlite3-dev"}, {"gmp", "libgmp-dev"}, {"gsl", "libgsl-dev"}, {"readline", "libreadline-dev"}, {"ncurses", "libncurses-dev"},
	{"freetype", "libfreetype-dev"}, {"tcl8.6", "tcl8.6-dev"}, {"crypto", "libssl-dev"}, {"ssl", "libssl-dev"}, {"X11", "libx11-dev"},
	{"fontconfig", "libfontconfig-dev"}, {"gcrypt", "libgcrypt20-dev"}, {"gnutls", "libgnutls28-dev"}, {"nettle", "nettle-dev"},
	{"hogweed", "nettle-dev"}, {"magic", "libmagic-dev"}, {"brotlienc", "libbrotli-dev"}, {"tirpc", "libtirpc-dev"}, {"pq", "libpq-dev"},
	{"event", "libevent-dev"}, {"ffi", "libffi-dev"}, {"curl", "libcurl4-openssl-dev"}, {"icuuc", "libicu-dev"}, {"stdc++", "libstdc++-12-dev"},
}

// sample is a file with symbols, and the same without.
type sample struct {
	name, full, stripped string
}

// corpus makes the samples in a folder: all of them, or those with the names given; a path is
// a file with symbols of its own.
func corpus(dir string, names []string) (out []sample, err error) {
	for _, n := range names {
		if strings.Contains(n, "/") {
			s, err := strip(dir, filepath.Base(n), n)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	if err := install(names); err != nil {
		return nil, err
	}
	for _, a := range archives {
		if len(names) > 0 && !slices.Contains(names, a.name) {
			continue
		}
		full := filepath.Join(dir, a.name)
		if err := link(a.name, full); err != nil {
			fmt.Fprintf(os.Stderr, "starts: %s: %v (package %s)\n", a.name, err, a.pkg)
			continue
		}
		s, err := strip(dir, a.name, full)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// install installs the archives' packages in CI.
func install(names []string) error {
	if os.Getenv("CI") != "true" {
		return nil
	}
	args := []string{"install", "-y", "--no-install-recommends", "gcc", "g++", "binutils"}
	for _, a := range archives {
		if len(names) == 0 || slices.Contains(names, a.name) {
			args = append(args, a.pkg)
		}
	}
	return command("apt-get", args...)
}

// link links all of an archive into a program. Calls to other libraries stay open.
func link(name, out string) error {
	lib := "-l:lib" + name + ".a"
	return command("gcc", "-pie", "-nostartfiles", "-Wl,-e,0", "-o", out, "-Wl,--whole-archive", lib, "-Wl,--no-whole-archive", "-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,notext")
}

// strip removes what a stripped library lacks, call-frame information too.
func strip(dir, name, full string) (sample, error) {
	s := sample{name, full, filepath.Join(dir, name+".stripped")}
	return s, command("objcopy", "--strip-all", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", full, s.stripped)
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w: %s", name, err, lines[0])
	}
	return nil
}
