package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/names"
)

// demangleAll compares the names of the files' symbols with llvm-cxxfilt's, and counts the differences by their kinds.
func demangleAll(files []string) error {
	symbols, err := mangled(files)
	if err != nil {
		return err
	}
	theirs, err := askFilter(symbols)
	if err != nil {
		return err
	}
	count, examples := make(map[string]int), make(map[string][]string)
	for i, s := range symbols {
		kind := namesDiffer(s, names.Demangle(s), theirs[i])
		if count[kind]++; kind != "" && len(examples[kind]) < 3 {
			examples[kind] = append(examples[kind], fmt.Sprintf("  %s\n    clew %s\n    LLVM %s", s, names.Demangle(s), theirs[i]))
		}
	}
	sayLine("%8d symbols, %d the same", len(symbols), count[""])
	for _, kind := range filterKinds {
		if count[kind] > 0 {
			sayLine("%8d %s", count[kind], kind)
			for _, e := range examples[kind] {
				sayLine("%s", e)
			}
		}
	}
	return nil
}

// mangled lists the mangled names of functions and variables of files, each once.
func mangled(files []string) (all []string, err error) {
	for _, file := range files {
		f, err := elffile.Open(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
			for _, s := range elffile.Symbols(f.File, kind) {
				if strings.HasPrefix(s.Name, "_Z") || strings.HasPrefix(s.Name, "_R") {
					all = append(all, s.Name)
				}
			}
		}
		f.Close()
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func askFilter(symbols []string) ([]string, error) {
	cmd := exec.Command("llvm-cxxfilt-19")
	cmd.Stdin = strings.NewReader(strings.Join(symbols, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("llvm-cxxfilt-19: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(symbols) || bytes.Count(out, []byte("\n")) != len(symbols) {
		return nil, fmt.Errorf("llvm-cxxfilt-19 answers %d of %d symbols", len(lines), len(symbols))
	}
	return lines, nil
}

// Kinds of differences between two demangled names.
const (
	inLegacy    = "Rust's older names, which llvm-cxxfilt takes for C++"
	inStyle     = "spaces, parentheses and names of lambdas"
	inParams    = "types of what a local name is in, which LLVM writes and binutils leaves out"
	onlyLLVM    = "LLVM alone can read"
	onlyClew    = "clew alone can read"
	inSomething = "other"
)

var filterKinds = []string{inLegacy, inStyle, inParams, onlyLLVM, onlyClew, inSomething}

var (
	legacy  = regexp.MustCompile(`17h[0-9a-f]{16}E`)
	suffix  = regexp.MustCompile(` \(\.[^()]*\)$`)
	lambda  = regexp.MustCompile(`'lambda(\d*)'(\([^{}']*?\))`)
	lambdas = regexp.MustCompile(`\{lambda(\([^{}]*?\))#(\d+)\}`)
	unnamed = regexp.MustCompile(`'unnamed(\d*)'|\{unnamed type#\d+\}`)
	marks   = strings.NewReplacer(" ", "", "(", "", ")", "")
	results = regexp.MustCompile(`(^|[<(,] ?)[\w:]+(<[^<>]*>)?[*&]* ([\w:]+[<(])`)
)

// namesDiffer says in what two names differ, "" for nothing.
func namesDiffer(symbol, ours, theirs string) string {
	theirs = suffix.ReplaceAllString(theirs, "")
	switch {
	case ours == theirs:
		return ""
	case legacy.MatchString(symbol):
		return inLegacy
	case ours == symbol:
		return onlyLLVM
	case theirs == symbol:
		return onlyClew
	case alike(ours) == alike(theirs):
		return inStyle
	case withoutResults(alike(ours)) == withoutResults(alike(theirs)), strings.Contains(symbol, "Z"+"N") && strings.Count(symbol, "E") > 2 && shorter(ours, theirs):
		return inParams
	}
	return inSomething
}

// shorter says whether a name is another one with parts left out.
func shorter(ours, theirs string) bool {
	i := 0
	for k := range len(theirs) {
		if i < len(ours) && ours[i] == theirs[k] {
			i++
		}
	}
	return i == len(ours)
}

func withoutResults(name string) string { return results.ReplaceAllString(name, "$1$3") }

// alike writes a name without what is a matter of style.
func alike(name string) string {
	name = lambda.ReplaceAllString(name, "{lambda$2}")
	name = lambdas.ReplaceAllString(name, "{lambda$1}")
	name = unnamed.ReplaceAllString(name, "{unnamed}")
	return marks.Replace(name)
}
