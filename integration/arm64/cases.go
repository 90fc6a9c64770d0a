package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/integration/internal/throughproxy"
	"github.com/clewdbg/clew/internal/testneed"
)

// testCase is one thing to run in the machine.
type testCase struct {
	name, about string
	needs       []string // programs, as testneed.Needs calls them
	// build builds what it runs into a folder, which keeps its path in the machine.
	build builder
	// script runs it, in a folder for its results; $1 is the folder of what was built.
	script string
}

type builder func(ctx context.Context, folder string) error

// The cross compilers that cases need.
var (
	gcc     = []string{"aarch64-linux-gnu-gcc", "aarch64-linux-gnu-strip"}
	gpp     = append(gcc[:2:2], "aarch64-linux-gnu-g++")
	clangTo = append(gpp[:3:3], "clang")
)

var cases = []testCase{
	{"tests", "unit tests of packages that know of processors and processes", gcc, buildTests(tested), runTests},
	{"brk", "breakpoint instructions of all numbers in a program, a library, a stripped library and generated code", gcc, buildBrk, runBrk("0 1 77 1000 61440")},
	{"exclusive", "steps and breakpoints in sequences of LDXR and STXR", gcc, buildExclusive, runExclusive},
	{"faults", "code that breaks the rules of BTI, MTE and PAC; programs for 32 bits", gcc, buildFaults, runFaults()},
	matrixCase("matrix", gcc, "the table of docs/accuracy.md: with tables, frame pointers or symbols", "O1-g,O2-g,fp,fp-so,eh,eh-so,none,none-so"),
	matrixCase("others", clangTo, "the same of other compilers, with SFrame, outlined code and outlined atomics",
		"cxx,cxx-so,clang-so,opened-O2-sframe-v1-stripped,opened-O2-sframe-v2-stripped,opened-O2-sframe-v3-stripped,atomics-so,oz-so"),
	matrixCase("pac", gpp, "the same with pointer authentication and landing pads",
		"pac-g,pac-fp,pac-fp-so,pac-eh-so,pac-leaf-so,pac-sframe,pac-cxx-so,pac-none,pac-none-so"),
	coresCase("cores", "core files of crashes in C", crashedIn),
	stepsCase("steps", "where steps lead, as in docs/stepping.md", steppedIn),
	{"sampled", "stacks at instructions taken at random", gcc, buildSampled,
		sampled("go", 2500, 1) + " &&\n" + sampled("crypto", 60, 20) + " &&\n" + sampled("sqlite3", 30, 5) + " &&\n" + sampled("c", 30, 5)},
	{"goroutines", "a thousand goroutines, beside dlv", gcc, buildThousand, `CLEW="$1"/clew "$1"/bench listing beside -built "$1"`},
	{"reports", "the reports for Delve that are about arm64 (docs/delve)", gcc, buildReports, runReports},
	{"dap", "a part of Delve's own tests of DAP, without clew and through clew proxy", gcc, buildDAP(dapPart), runDAP(dapPart)},
}

// longCases run only by name, with a longer -timeout.
var longCases = []testCase{
	{"tests-2", "unit tests of other packages", gcc, buildTests(testedMore), runTests},
	{"high", "a stack and code above 48 bits; needs -kernel linux-image-arm64-16k, which has addresses of 52 bits", gcc, buildHigh, runHigh()},
	matrixCase("rust", append(gcc[:2:2], "rustc"), "stacks of Rust; rustc ($RUSTC) needs the standard library of aarch64-unknown-linux-gnu", "rust,rust-so"),
	stepsCase("steps-2", "where steps lead in builds without tables, without any hint, and with lines", steppedMore),
	stepsCase("steps-3", "the same in the other builds without signed return addresses", steppedOthers),
	stepsCase("steps-4", "the same in the other builds with them", steppedSigned),
	{"fatal", "what editors are told of fatal signals in C: TestFaults of integration/dap", gcc, buildFatal, runFatal},
	{"scripts", "steps by their lines, as in docs/stepping-languages.md: into C and C++, through callbacks, exceptions, longjmp", gpp, buildScripts, runScripts},
	{"dap-zones", "those of Delve's own tests of DAP whose program needs time zones", gcc, buildDAP(dapZones), runDAP(dapZones)},
	{"dap-1", "Delve's own tests of DAP whose names begin with A to D", gcc, buildDAP("^Test[A-D]"), runDAP("^Test[A-D]")},
	{"dap-2", "those whose names begin with E to L", gcc, buildDAP("^Test[E-L]"), runDAP("^Test[E-L]")},
	{"dap-3", "those whose names begin with M to R", gcc, buildDAP("^Test[M-R]"), runDAP("^Test[M-R]")},
	{"dap-4", "those whose names begin with S to Z", gcc, buildDAP("^Test[S-Z]"), runDAP("^Test[S-Z]")},
}

var dapPart = throughproxy.Suites[0].Part

// ciCases are a part of them that is fit for CI.
var ciCases = []testCase{
	{"brk", "breakpoint instructions of one number", gcc, buildBrk, runBrk("1000")},
	{"matrix", "stacks and core files of a few builds", gcc, buildMatrix(ciMatrix),
		measureRight(`-here -build `+ciMatrix+` -scenario nested`) + " &&\n" + measureRight(`-here -build pac-eh-so -scenario "thread, signal"`) + " &&\n" +
			measureRight(`-cores -build pac-eh-so -scenario nested`)},
	stepsCase("steps", "steps in one build", ciSteps),
}

// sampled takes samples of a workload, one of so many instructions.
func sampled(workload string, every, often int) string {
	return fmt.Sprintf(`"$1"/measure sampled -built -o "$1" -libraries %s -n 550 -every %d -often %d -least 99.9`, workload, every, often)
}

// measureRight measures cells of integration/truth/matrix, all of which are to be right.
func measureRight(args string) string {
	return `"$1"/measure matrix -built "$1" ` + args + ` -v -json >cells.json && ! grep '"kind"' cells.json | grep -v '"right"'`
}

const (
	dapZones      = "^Test(ScopesAndVariablesRequests2|SetVariable|VariableValueTruncation|VariablesLoading|VariablesMetadata)$"
	ciMatrix      = "eh-so,fp-so,pac-eh-so"
	ciSteps       = "pac-linked-O2-omit-stripped"
	steppedMore   = "linked-O2-omit-notables-stripped,pac-linked-O2-omit-notables-stripped,static-O2-omit-notables,linked-g-called-by-notables,opened-O1-g-fp,pac-opened-O2-fp-stripped,static-O0-g-fp"
	steppedOthers = "static-O1-g-fp,static-O2-fp,linked-O1-g-fp,linked-O2-omit,linked-O2-omit-stripped,static-O2-g-omit,opened-O2-fp-stripped"
	steppedSigned = "pac-static-O2-g-omit,pac-static-O0-g-fp,pac-static-O1-g-fp,pac-static-O2-fp,pac-linked-O1-g-fp,pac-linked-O2-fp-stripped,pac-opened-O1-g-fp,pac-static-O2-omit,pac-static-O2-omit-notables,pac-linked-O2-omit"
	crashedIn     = "O2-g,fp-so,eh-so,pac-eh-so,none-so"
	steppedIn     = "static-O2-omit,linked-O2-fp-stripped,pac-linked-O2-omit-stripped"
	sampledIn     = "c,crypto,sqlite3,go"
)

// matrixCase measures builds of integration/truth/matrix.
func matrixCase(name string, needs []string, about, builds string) testCase {
	return testCase{name, about, needs, buildMatrix(builds),
		measureRight("-here -build " + builds)}
}

// coresCase measures core files of builds of integration/truth/matrix.
func coresCase(name, about, builds string) testCase {
	return testCase{name, about, gcc, buildMatrix(builds), measureRight("-cores -build " + builds)}
}

// stepsCase tries every step in builds of integration/stepping/places. A step that is not right fails it, a refused one too.
func stepsCase(name, about, builds string) testCase {
	return testCase{name, about, gcc, buildSteps(builds), `"$1"/measure places -built "$1" -only clew -build ` + builds + ` -v`}
}

// of is the case with other builds.
func (c testCase) of(builds string) (testCase, error) {
	switch c.name {
	case "matrix":
		needs := clangTo
		if strings.Contains(builds, "rust") {
			needs = append(needs[:len(needs):len(needs)], "rustc")
		}
		return matrixCase(c.name, needs, c.about, builds), nil
	case "cores":
		return coresCase(c.name, c.about, builds), nil
	case "steps":
		return stepsCase(c.name, c.about, builds), nil
	}
	return c, fmt.Errorf("-build is for matrix, cores and steps, not for %s: %w", c.name, errUsage)
}

// choose returns the cases that have the names, all of the list if there is no name.
func choose(list []testCase, names []string) (chosen []testCase, err error) {
	if len(names) == 0 {
		return list, nil
	}
	list = slices.Concat(list, longCases)
	for _, name := range names {
		i := slices.IndexFunc(list, func(c testCase) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no case %q: %w", name, errUsage)
		}
		chosen = append(chosen, list[i])
	}
	return chosen, nil
}

// build builds cases, and the script that runs them.
func build(ctx context.Context, work string, chosen []testCase) (job, error) {
	folder := filepath.Join(work, "arm64")
	j := job{script: filepath.Join(work, "job"), files: []string{folder}, parts: len(chosen)}
	script := "failed=0\n"
	for _, c := range chosen {
		to := filepath.Join(folder, c.name)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return j, err
		}
		if err := stage(ctx, "building "+c.name, 5*time.Minute, func(ctx context.Context) error { return c.build(ctx, to) }); err != nil {
			return j, err
		}
		script += fmt.Sprintf("mkdir -p /results/%[1]s && cd /results/%[1]s && set -- %[2]s\nif (%[3]s\n); then echo 'PASS %[1]s'; else echo 'FAIL %[1]s'; failed=1; fi\n", c.name, to, c.script)
	}
	return j, os.WriteFile(j.script, []byte(script+"exit $failed\n"), 0o755)
}

// stage does a part of the work within a time that allows for a slow machine, and says how long it took.
func stage(ctx context.Context, what string, limit time.Duration, do func(context.Context) error) error {
	limit = testneed.Patience(limit).Round(time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %v", limit))
	defer cancel()
	fmt.Fprintf(os.Stderr, "arm64: %s\n", what)
	start := time.Now()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s, after %.0f s: %w", what, time.Since(start).Seconds(), errors.Join(err, context.Cause(ctx)))
	}
	fmt.Fprintf(os.Stderr, "arm64: %s: %.0f s\n", what, time.Since(start).Seconds())
	return nil
}

// goBuild builds a program for the machine.
func goBuild(ctx context.Context, to, pkg string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-ldflags=-s -w", "-o", to}, args, []string{pkg})...)
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	return command(cmd)
}

func command(cmd *exec.Cmd) error {
	cmd.WaitDelay = 30 * time.Second // its own children may keep its output open
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
