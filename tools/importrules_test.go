// Package tools holds no code, only the versions of the tools that tools/lint
// runs, and the test of their import rules.
package tools

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/OpenPeeDeeP/depguard/v2"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/go/analysis"
)

// rules reads depguard's lists from .golangci.yml, as golangci-lint hands them
// to depguard. A list that depguard cannot compile is an error here; golangci-lint
// only logs it, and checks nothing.
func rules(t *testing.T, root string) *analysis.Analyzer {
	text, err := os.ReadFile("../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Enable   []string
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						ListMode string `yaml:"list-mode"`
						Files    []string
						Allow    []string
						Deny     []struct{ Pkg, Desc string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	settings := depguard.LinterSettings{}
	for name, rule := range config.Linters.Settings.Depguard.Rules {
		list := &depguard.List{ListMode: rule.ListMode, Allow: rule.Allow, Deny: map[string]string{}}
		for _, file := range rule.Files {
			list.Files = append(list.Files, strings.ReplaceAll(file, "${config-path}", root))
		}
		for _, deny := range rule.Deny {
			list.Deny[deny.Pkg] = deny.Desc
		}
		settings[name] = list
	}
	if len(settings) == 0 || !strings.Contains(strings.Join(config.Linters.Enable, " "), "depguard") {
		t.Fatal(".golangci.yml does not enable depguard")
	}
	analyzer, err := depguard.NewAnalyzer(&settings)
	if err != nil {
		t.Fatal(err)
	}
	return analyzer
}

// refused returns why the rules refuse an import in a file, "" if they do not.
func refused(t *testing.T, rules *analysis.Analyzer, file, path string) string {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, "package p\n\nimport "+strconv.Quote(path), parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var why []string
	_, err = rules.Run(&analysis.Pass{
		Fset:   files,
		Files:  []*ast.File{parsed},
		Report: func(d analysis.Diagnostic) { why = append(why, d.Message) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(why, "; ")
}

const clew = "github.com/clewdbg/clew/"

func TestImportRules(t *testing.T) {
	// A checkout in a folder named like one of the parts changes nothing.
	const root = "/home/server/unwind/plugins/clew"
	rules := rules(t, root)
	for _, c := range []struct {
		file          string
		allowed, deny []string
	}{
		{"cbf/x.go", []string{"io", "encoding/binary"},
			[]string{clew + "imagemap", clew + "unwind", clew + "internal/testneed", "pgregory.net/rapid", "golang.org/x/sys/unix"}},
		{"cbf/x_test.go", []string{clew + "cbf", "pgregory.net/rapid", clew + "internal/testneed"},
			[]string{clew + "unwind", "google.golang.org/grpc"}},
		{"crash/x.go", []string{"os", "syscall", clew + "internal/crashguard"}, []string{clew + "internal/testneed", clew + "server/crashreport", "golang.org/x/sys/unix"}},
		{"internal/crashguard/x.go", []string{"os/exec"}, []string{clew + "server/crashreport", "golang.org/x/sys/unix"}},
		{"imagemap/envelope/x.go", []string{"debug/elf", clew + "imagemap"},
			[]string{clew + "cbf", clew + "unwind", "github.com/santhosh-tekuri/jsonschema/v6"}},
		{"imagemap/x_test.go", []string{"github.com/santhosh-tekuri/jsonschema/v6"}, []string{clew + "server/delve"}},

		{"sframe/x.go", []string{"encoding/binary", clew + "unwind", clew + "unwind/rule"},
			[]string{clew + "internal/unwind/cfi", clew + "unwind/wire", clew + "plugins/sframe", "golang.org/x/arch/x86/x86asm"}},
		{"unwind/x.go", []string{"fmt", clew + "imagemap", clew + "cbf", clew + "unwind/wire"},
			[]string{clew + "plugins/fpwalk", clew + "server/engine", clew + "cmd/clew", clew + "internal/testneed", clew + "internal/unwind/cfi",
				"google.golang.org/protobuf/proto", "google.golang.org/grpc", "github.com/hashicorp/go-plugin",
				"golang.org/x/arch/x86/x86asm", "pgregory.net/rapid", "github.com/go-delve/delve/pkg/proc"}},
		{"internal/unwind/snapshot/x_test.go", []string{"pgregory.net/rapid", "github.com/santhosh-tekuri/jsonschema/v6"},
			[]string{clew + "plugins/fpwalk", clew + "server/offline", "github.com/google/go-dap"}},
		{"internal/unwind/snapshot/schema/schematest/x.go", []string{"github.com/santhosh-tekuri/jsonschema/v6"}, []string{clew + "server/offline"}},
		{"unwind/wire/x.go", []string{clew + "unwind", "google.golang.org/protobuf/proto", "google.golang.org/grpc/codes", "google.golang.org/grpc"},
			[]string{"github.com/hashicorp/go-plugin", "golang.org/x/arch/x86/x86asm", clew + "server/pluginhost", "pgregory.net/rapid"}},
		{"unwind/wire/unwindv1/x.go", []string{"google.golang.org/protobuf/reflect/protoreflect"}, []string{"github.com/hashicorp/go-hclog"}},
		{"unwind/plugin/x.go", []string{"github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog", "google.golang.org/grpc", clew + "unwind/wire"},
			[]string{clew + "plugins/fpwalk", "google.golang.org/protobuf/proto"}},
		{"internal/unwind/prologue/x.go", []string{"golang.org/x/arch/arm64/arm64asm"}, []string{"google.golang.org/grpc"}},

		{"plugins/fpwalk/x.go", []string{clew + "unwind", clew + "internal/unwind/prologue", clew + "plugins/fpwalk/internal/chain", "golang.org/x/arch/x86/x86asm"},
			[]string{clew + "server/assembler", clew + "cmd/clew", clew + "cbf",
				clew + "imagemap", "google.golang.org/grpc", "github.com/go-delve/delve/pkg/proc", clew + "internal/testneed"}},
		{"plugins/fpwalk/x_test.go", []string{clew + "plugins/fpwalk", "pgregory.net/rapid", clew + "internal/testneed"},
			[]string{clew + "server/assembler"}},
		{"plugins/scan/x.go", []string{clew + "unwind", clew + "internal/unwind/callsite", clew + "internal/unwind/prologue"}, []string{clew + "server/assembler"}},

		{"server/live/x.go", []string{clew + "cbf", clew + "imagemap", clew + "unwind/wire", clew + "server/delve", "github.com/google/go-dap", "google.golang.org/grpc"},
			[]string{clew + "plugins/fpwalk", clew + "cmd/clew", clew + "integration/check", "github.com/go-delve/delve/service/api", clew + "internal/testneed"}},
		{"server/live/x_test.go", []string{clew + "internal/testneed", "pgregory.net/rapid"}, []string{clew + "plugins/fpwalk", "github.com/go-delve/delve/pkg/proc"}},
		{"server/delve/x.go", []string{"github.com/go-delve/delve/pkg/proc"}, []string{clew + "plugins/fpwalk", "unsafe"}},
		{"server/delve/targets/x.go", []string{clew + "server/delve/internals"}, []string{clew + "server/delve", clew + "server/delve/held", clew + "server/delve/interpose"}},
		{"server/delve/interpose/x.go", []string{clew + "server/delve/targets"}, []string{clew + "server/delve", clew + "server/delve/held", clew + "server/delve/steps"}},
		{"server/delve/interpose/x_test.go", []string{clew + "server/delve", clew + "server/delve/delvetest"}, nil},
		{"server/delve/held/x.go", []string{clew + "server/delve/interpose"}, []string{clew + "server/delve", clew + "server/delve/reading"}},
		{"server/delve/reading/x.go", []string{clew + "server/delve/held"}, []string{clew + "server/delve", clew + "server/delve/steps"}},
		{"server/delve/steps/x.go", []string{clew + "server/delve/reading"}, []string{clew + "server/delve"}},
		{"server/remote/x.go", []string{"github.com/go-delve/delve/service/rpc2", clew + "server/live"}, []string{"github.com/go-delve/delve/pkg/proc"}},
		{"server/terminal/x.go", []string{"github.com/go-delve/delve/service/rpc2", clew + "server/dap"}, []string{clew + "plugins/fpwalk", "unsafe"}},
		{"server/delve/internals/x.go", []string{"unsafe", "github.com/go-delve/delve/pkg/proc"}, []string{clew + "plugins/fpwalk"}},
		{"server/dap/wire/x.go", []string{clew + "server/dapwire", "github.com/google/go-dap", "net"},
			[]string{clew + "unwind", clew + "server/delve", clew + "server/dap", clew + "server/live"}},
		{"server/dapwire/x.go", []string{"github.com/google/go-dap"}, []string{clew + "unwind", clew + "server/dap/wire"}},
		{"server/delver/x.go", nil, []string{"github.com/go-delve/delve/pkg/proc"}},
		{"server/native/x.go", []string{clew + "server/internal/codemap", clew + "server/symbols", "golang.org/x/arch/x86/x86asm"}, []string{clew + "server/delve", clew + "server/dap", clew + "server/stop"}},
		{"server/assembler/x.go", []string{clew + "unwind", "context"}, []string{"os", "net", "net/http", "os/exec", "syscall", clew + "server/delve"}},

		{"cmd/clew/x.go", []string{clew + "plugins/fpwalk", clew + "server/delve", "github.com/spf13/cobra"},
			[]string{"github.com/go-delve/delve/cmd/dlv/cmds", clew + "integration/check", clew + "internal/testneed"}},
		{"integration/x_test.go", []string{clew + "cmd/clew", "github.com/go-delve/delve/pkg/proc", clew + "plugins/fpwalk"}, nil},
		{"internal/testneed/x.go", []string{"testing"}, []string{clew + "unwind"}},
	} {
		for _, path := range c.allowed {
			if why := refused(t, rules, filepath.Join(root, c.file), path); why != "" {
				t.Errorf("%s may not import %s: %s", c.file, path, why)
			}
		}
		for _, path := range c.deny {
			if refused(t, rules, filepath.Join(root, c.file), path) == "" {
				t.Errorf("%s may import %s", c.file, path)
			}
		}
	}
}

// A strategy knows its own folder, and no other's.
func TestPluginsDoNotKnowEachOther(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../plugins", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if other := otherPlugin(strings.TrimPrefix(filepath.ToSlash(path), "../"), strings.Trim(spec.Path.Value, `"`)); other != "" {
				t.Errorf("%s imports %s: strategies do not know each other", path, other)
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d files of plugins read: %v", seen, err)
	}
}

// otherPlugin returns the strategy that an import in a file of another strategy
// belongs to, "" if it belongs to none.
func otherPlugin(file, path string) string {
	rest, ok := strings.CutPrefix(path, clew+"plugins/")
	if !ok {
		return ""
	}
	other, _, _ := strings.Cut(rest, "/")
	if own, _, _ := strings.Cut(strings.TrimPrefix(file, "plugins/"), "/"); own == other {
		return ""
	}
	return other
}

func TestOtherPlugin(t *testing.T) {
	for _, c := range []struct{ file, path, want string }{
		{"plugins/fpwalk/x.go", clew + "plugins/fpwalk/internal/chain", ""},
		{"plugins/fpwalk/x.go", clew + "plugins/scan", "scan"},
		{"plugins/fpwalk/x.go", clew + "plugins/fpwalker", "fpwalker"},
		{"plugins/fpwalk/deep/x_test.go", clew + "plugins/scan/deep", "scan"},
		{"plugins/scan/x.go", clew + "unwind", ""},
	} {
		if got := otherPlugin(c.file, c.path); got != c.want {
			t.Errorf("%s imports %s: %q, want %q", c.file, c.path, got, c.want)
		}
	}
}
