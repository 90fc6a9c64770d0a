package starts

import (
	"debug/elf"
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
	{"fontconfig", "libfontconfig-dev"}, {"gcrypt", "libgcrypt20-dev"}, {"nettle", "nettle-dev"},
	{"hogweed", "nettle-dev"}, {"magic", "libmagic-dev"}, {"brotlienc", "libbrotli-dev"}, {"pq", "libpq-dev"},
	{"event", "libevent-dev"}, {"ffi", "libffi-dev"}, {"stdc++", "libstdc++-12-dev"},
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

// with are the libraries that archives import data from, besides C's.
var with = map[string][]string{"ncurses": {"-ltinfo"}, "readline": {"-ltinfo"}}

// link links all of an archive into a program. Another library stands for all that it
// imports. Of C++ all functions are exported, as Debian's libraries of C++ do.
func link(name, out string) error {
	object, imports := out+".o", out+".imports"
	if err := command("gcc", "-r", "-nostdlib", "-o", object, "-Wl,--whole-archive", "-l:lib"+name+".a", "-Wl,--no-whole-archive"); err != nil {
		return err
	}
	undefined, err := exec.Command("nm", "-u", object).Output()
	if err != nil {
		return err
	}
	var text strings.Builder
	for line := range strings.Lines(string(undefined)) {
		if n := strings.Fields(line); len(n) == 2 && n[1] != "_GLOBAL_OFFSET_TABLE_" && n[1] != "__dso_handle" && !strings.HasPrefix(n[1], "__start_") && !strings.HasPrefix(n[1], "__stop_") {
			fmt.Fprintf(&text, ".globl %[1]s\n.type %[1]s,@function\n%[1]s: ret\n.size %[1]s,1\n", n[1])
		}
	}
	if err := os.WriteFile(imports+".s", []byte(text.String()), 0o600); err != nil {
		return err
	}
	if err := command("gcc", "-shared", "-nostdlib", "-o", imports+".so", imports+".s"); err != nil {
		return err
	}
	args := []string{"-pie", "-nostdlib", "-Wl,-e,0", "-Wl,-z,notext", "-Wl,--defsym=__dso_handle=0", "-o", out, object, "-lc", "-lm"}
	args = append(append(args, with[name]...), imports+".so")
	if name == "stdc++" {
		args = append(args, "-Wl,--export-dynamic")
	}
	return command("gcc", args...)
}

// strip removes what a stripped library lacks, call-frame information too.
func strip(dir, name, full string) (sample, error) {
	s := sample{name, full, filepath.Join(dir, name+".stripped")}
	tool := "objcopy"
	if f, err := elf.Open(full); err == nil {
		if f.Machine == elf.EM_AARCH64 {
			tool = "aarch64-linux-gnu-objcopy"
		}
		f.Close()
	}
	return s, command(tool, "--strip-all", "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", full, s.stripped)
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s: %w: %s", name, err, lines[0])
	}
	return nil
}
