package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources are the programs that the corpus is built from.
//
//go:embed testdata
var sources embed.FS

// build is one way to build a program of the corpus: commands, which run in a folder with
// the sources, and make prog. Where they make prog.plain too, that one has the same code,
// and its debugging information is in a form that the reference tools can read.
type build struct {
	name     string
	short    bool // part of what CI runs
	commands []string
}

// programs are the files that a build makes and that are compared.
var programs = []string{"prog", "prog2"}

const (
	cc   = " work.c -o prog"
	cxx  = " work.cc part.cc -pthread -o prog"
	cxxl = " work.cc part.cc -pthread -lstdc++ -lm -o prog" // by a driver of C
)

// corpus lists the builds.
func corpus() (all []build) {
	for _, flags := range []string{"-O0 -gdwarf-4", "-O0 -gdwarf-5*", "-O1 -gdwarf-5", "-O2 -gdwarf-4*", "-O2 -gdwarf-5", "-O3 -gdwarf-5", "-Os -gdwarf-5", "-O2 -gdwarf-3", "-O2 -flto -gdwarf-5*"} {
		all = append(all, one("gcc", flags, cc))
	}
	for _, flags := range []string{"-O0 -gdwarf-5", "-O2 -gdwarf-4", "-O2 -gdwarf-5", "-O3 -gdwarf-5*"} {
		all = append(all, one("clang", flags, cc), one("clang-19", flags, cc))
	}
	for _, flags := range []string{"-O0 -gdwarf-5", "-O1 -gdwarf-4", "-O2 -gdwarf-4", "-O2 -gdwarf-5*", "-O3 -gdwarf-4", "-O3 -gdwarf-5", "-Os -gdwarf-5", "-O2 -flto -gdwarf-5*", "-O3 -flto -gdwarf-4",
		"-O2 -gdwarf-4 -fdebug-types-section*", "-O2 -gdwarf-5 -fdebug-types-section", "-O2 -gdwarf-5 -gsplit-dwarf", "-O2 -gdwarf-5 -gz=zlib*", "-O2 -g1", "-O2 -shared -fPIC -gdwarf-5"} {
		all = append(all, one("g++", flags, cxx))
	}
	for _, flags := range []string{"-O0 -gdwarf-5", "-O2 -gdwarf-4", "-O3 -gdwarf-5*", "-O2 -gdwarf-5 -fdebug-types-section"} {
		all = append(all, one("clang", flags, cxxl), one("clang-19", flags, cxxl))
	}
	all = append(all, reproducible()...)
	for _, flags := range []string{"-O2 -gdwarf-4", "-O2 -gdwarf-5*"} {
		all = append(all, one("gcc", flags, " label.s work.c -o prog"))
	}
	const keep = "cp prog prog.plain"
	return append(all,
		one("clang-19", "-O2 -flto -fuse-ld=lld -gdwarf-5", cxxl),
		one("clang-19", "-O2 -gdwarf-5 -gsplit-dwarf", cxxl),
		one("rustc", "-g*", " work.rs -o prog"), one("rustc", "-O -g", " work.rs -o prog"), one("rustc", "-O -g -C lto", " work.rs -o prog"),
		one("gdc", "-O0 -g", " work.d -o prog"), one("gdc", "-O2 -g*", " work.d -o prog"), one("gdc", "-O3 -g", " work.d -o prog"),
		build{"gcc C, by its profile", true, []string{
			"gcc -O2 -fprofile-generate work.c -o prog", "./prog", "gcc -O2 -gdwarf-5 -fprofile-use -Wno-missing-profile work.c -o prog"}},
		build{"g++, by its profile", false, []string{
			"g++ -O2 -fprofile-generate -c work.cc", "g++ -O2 -fprofile-generate -c part.cc", "g++ -fprofile-generate work.o part.o -pthread -o prog", "./prog",
			"g++ -O2 -gdwarf-5 -fprofile-use -c work.cc", "g++ -O2 -gdwarf-5 -fprofile-use -c part.cc", "g++ work.o part.o -pthread -o prog"}},
		build{"g++ -gdwarf-4, a package (.dwp)", true, []string{
			"g++ -O2 -gdwarf-4 -gsplit-dwarf" + cxx, keep, "dwp -e prog -o prog.dwp"}},
		build{"clang-19 -gdwarf-5, a package (.dwp)", false, []string{
			"clang-19 -O2 -gdwarf-5 -gsplit-dwarf" + cxxl, keep, "llvm-dwp-19 -e prog -o prog.dwp"}},
		build{"g++ -gdwarf-4, dwz -m", false, []string{
			"g++ -O2 -gdwarf-4" + cxx, keep, "g++ -O3 -gdwarf-4" + cxx + "2", "cp prog2 prog2.plain", "dwz -q -m common prog prog2"}},
		build{"g++ -gdwarf-5, dwz -m", true, []string{
			"g++ -O2 -gdwarf-5" + cxx, keep, "g++ -O1 -gdwarf-5" + cxx + "2", "cp prog2 prog2.plain", "dwz -q -m common prog prog2"}},
		build{"g++ -gdwarf-4, zlib-gnu", false, []string{
			"g++ -O2 -gdwarf-4" + cxx, keep, "objcopy --compress-debug-sections=zlib-gnu prog"}},
		build{"g++ -gdwarf-5, zstd", true, []string{
			"g++ -O2 -gdwarf-5" + cxx, keep, "objcopy --compress-debug-sections=zstd prog"}},
		build{"g++ -gdwarf-5, a separate debug file", false, []string{
			"g++ -O2 -gdwarf-5" + cxx, keep, "objcopy --only-keep-debug prog prog.debug", "strip prog", "objcopy --add-gnu-debuglink=prog.debug prog"}},
	)
}

// reproducible lists builds as distributions and build systems make them: the folder of compilation is
// relative, or none, so that programs from different folders are the same.
func reproducible() (all []build) {
	const below = "mkdir -p sub && cp work.* part.* sub && cd sub && "
	for _, tool := range []string{"gcc", "clang", "clang-19"} {
		for _, flags := range []string{"-O2 -gdwarf-4", "-O2 -gdwarf-5*"} {
			flags, short := strings.CutSuffix(flags, "*")
			make := func(where, mapped, rest string) {
				command := tool + " " + flags + " -ffile-prefix-map=" + mapped + rest
				all = append(all, build{tool + " " + flags + " " + mapped, short && tool != "clang", []string{where + command}})
			}
			make("", "$PWD=.", cc)
			make("", "$PWD=build/a", " $PWD/work.c -o prog")
			make(below, "$PWD=../../a/..", " ../work.c -o ../prog")
			make(below, "$PWD=..", " ../work.cc part.cc -pthread -o ../prog -lstdc++ -lm")
			make(below, "$(dirname $PWD)/=", " ../work.c -o ../prog")
		}
	}
	return append(all,
		one("g++", "-O2 -gdwarf-5 -flto -ffile-prefix-map=$PWD=.", cxx), one("g++", "-O2 -gdwarf-5 -fdebug-types-section -ffile-prefix-map=$PWD=src", cxx),
		build{"g++ -gdwarf-5 -gsplit-dwarf $PWD=./sub/..", false, []string{
			"mkdir -p sub && g++ -O2 -gdwarf-5 -ffile-prefix-map=$PWD=sub/.." + cxx + ".plain",
			"g++ -O2 -gdwarf-5 -gsplit-dwarf -ffile-prefix-map=$PWD=sub/.." + cxx}},
		one("rustc", "-O -g --remap-path-prefix=$PWD=src*", " $PWD/work.rs -o prog"))
}

// one is a build by one command. A star behind the flags makes it part of what CI runs.
func one(tool, flags, rest string) build {
	flags, short := strings.CutSuffix(flags, "*")
	what := strings.Fields(rest)[0]
	return build{tool + " " + flags + " " + what, short, []string{tool + " " + flags + rest}}
}

// tools are those that a build needs, but for what every machine has.
func (b *build) tools() (all []string) {
	for _, command := range b.commands {
		command = command[strings.LastIndex(command, "&& ")+1:]
		tool, _, _ := strings.Cut(strings.TrimPrefix(command, "& "), " ")
		if tool != "cp" && tool != "./prog" {
			all = append(all, tool)
		}
	}
	return all
}

// missing names the first tool that a build needs and the machine does not have.
func (b *build) missing() string {
	for _, tool := range b.tools() {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	return ""
}

// run builds in a folder.
func (b *build) run(dir string) error {
	if err := copySources(dir); err != nil {
		return err
	}
	for _, command := range b.commands {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, out)
		}
	}
	return nil
}

func copySources(dir string) error {
	return fs.WalkDir(sources, "testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600)
	})
}

// compare builds in a folder of its own and compares n addresses of each program.
func (b *build) compare(n int) (*tally, error) {
	dir, err := os.MkdirTemp("", "words")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := b.run(dir); err != nil {
		return nil, err
	}
	all := &tally{}
	for _, name := range programs {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		plain := file + ".plain"
		if _, err := os.Stat(plain); err != nil {
			plain = file
		}
		t, err := compare(file, plain, n)
		if err != nil {
			return nil, err
		}
		all.plus(t)
	}
	return all, nil
}

// compareCorpus compares the builds that are wanted, and names what it leaves out.
func compareCorpus(wanted func(b *build) bool, n int, say func(format string, args ...any)) error {
	var all tally
	built, left := 0, 0
	say("%s", heading)
	for _, b := range corpus() {
		if !wanted(&b) {
			left++
			continue
		}
		if tool := b.missing(); tool != "" {
			say("LEFT OUT: %s: no %s", b.name, tool)
			continue
		}
		t, err := b.compare(n)
		if err != nil {
			t = &tally{}
			t.differ(err.Error())
		}
		built++
		t.print(b.name, say)
		all.plus(t)
	}
	all.examples = nil
	all.print(fmt.Sprintf("all %d builds", built), say)
	if left > 0 {
		say("%d more builds: go run ./integration/words corpus", left)
	}
	return all.err()
}
