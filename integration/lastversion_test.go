package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind/plugin"
	"github.com/clewdbg/clew/unwind/wire/unwindv1"
)

// lastVersion has the files that the last released version wrote, its schemas, and
// its plugin contract. The rules that they prove are in docs/compatibility.md.
const lastVersion = "testdata/lastversion"

var recordVersion = flag.Bool("record", false, "replace the files of the last version by this version's")

// TestLastVersion: what the last version wrote is read, and says the same.
func TestLastVersion(t *testing.T) {
	if *recordVersion {
		recordFiles(t)
	}
	in := func(name string) string { return filepath.Join(lastVersion, name) }
	var written struct{ Stacks []stackjson.Stack }
	text := readFile(t, in("stack.json"))
	if err := json.Unmarshal(text, &written); err != nil || len(written.Stacks) != 1 || len(written.Stacks[0].Frames) < 20 {
		t.Fatalf("%v: %s", err, text)
	}
	if err := schematest.Check(schema.Stack, text); err != nil {
		t.Error(err)
	}
	snapshot := filepath.Join(t.TempDir(), "stack.snapshot.json")
	text = unzipped(t, in("snapshot.json.gz"))
	if err := schematest.Check(schema.Snapshot, text); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(snapshot, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		named bool
		args  []string
	}{
		{true, []string{in("stack.json")}},
		{true, []string{snapshot}},
		{true, []string{in("stack.pb.gz")}},
		{false, []string{"--images", in("stack.cif"), in("stack.cbf")}},
		{false, []string{in("stack.swift.json")}},
	} {
		o := clew(t, append([]string{"decode"}, c.args...)...).want(t, done)
		var words []string
		for _, f := range written.Stacks[0].Frames {
			if c.named {
				words = append(words, f.Function)
			} else if !f.Inlined {
				words = append(words, fmt.Sprintf("%016x", uint64(f.PC)), filepath.Base(f.Image))
			}
		}
		inOrder(t, o, words...)
	}
}

// TestSchemasOnlyGrow: whoever reads by the last version's schemas reads what this
// version writes.
func TestSchemasOnlyGrow(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(lastVersion, "schema", "*.json"))
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		var before, now any
		if err := json.Unmarshal(readFile(t, name), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(schema.Text(filepath.Base(name)), &now); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, problem := range grows(filepath.Base(name), before, now) {
			t.Error(problem)
		}
	}
	if got := grows("", map[string]any{"required": []any{"a"}, "properties": map[string]any{"a": "x", "b": "y"}},
		map[string]any{"required": []any{"a"}, "properties": map[string]any{"a": "z"}}); len(got) != 2 {
		t.Errorf("a changed and a missing property: %q", got)
	}
}

// grows says where now is not what before was, with more at most.
func grows(path string, before, now any) (problems []string) {
	switch before := before.(type) {
	case map[string]any:
		now, _ := now.(map[string]any)
		for key, value := range before {
			if key != "description" && key != "title" {
				problems = append(problems, grows(path+"/"+key, value, now[key])...)
			}
		}
	case []any:
		now, _ := now.([]any)
		more := strings.HasSuffix(path, "/enum") // values may come, what is required stays
		if len(now) < len(before) || len(now) > len(before) && !more {
			return []string{path + " has changed"}
		}
		for i := range before {
			problems = append(problems, grows(path, before[i], now[i])...)
		}
	default:
		if before != now {
			problems = []string{path + " has changed"}
		}
	}
	return problems
}

// TestPluginContract: a plugin of the last version can talk to this host.
func TestPluginContract(t *testing.T) {
	var before struct {
		Protocol                          uint
		CookieKey, CookieValue            string
		Service, LifelineEnv, SessionPath string
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(lastVersion, "handshake.json")), &before); err != nil {
		t.Fatal(err)
	}
	h := plugin.Handshake
	if before.Protocol != h.ProtocolVersion || before.CookieKey != h.MagicCookieKey || before.CookieValue != h.MagicCookieValue ||
		before.Service != plugin.Name || before.LifelineEnv != plugin.EnvLifeline || before.SessionPath != plugin.EnvSession {
		t.Errorf("the handshake was %+v", before)
	}
	var saved descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(readFile(t, filepath.Join(lastVersion, "unwinder.binpb")), &saved); err != nil {
		t.Fatal(err)
	}
	old, err := protodesc.NewFile(&saved, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := unwindv1.File_unwinder_proto
	if old.Package() != now.Package() || old.Messages().Len() < 10 {
		t.Fatalf("package %s, %d messages", now.Package(), old.Messages().Len())
	}
	sameMessages(t, old.Messages(), now.Messages())
	sameEnums(t, old.Enums(), now.Enums())
	for i := range old.Services().Len() {
		service := old.Services().Get(i)
		for j := range service.Methods().Len() {
			was, is := service.Methods().Get(j), now.Services().ByName(service.Name()).Methods().ByName(service.Methods().Get(j).Name())
			if is == nil || is.Input().FullName() != was.Input().FullName() || is.Output().FullName() != was.Output().FullName() ||
				is.IsStreamingClient() != was.IsStreamingClient() || is.IsStreamingServer() != was.IsStreamingServer() {
				t.Errorf("%s has changed", was.FullName())
			}
		}
	}
}

func sameMessages(t *testing.T, old, now protoreflect.MessageDescriptors) {
	for i := range old.Len() {
		was, is := old.Get(i), now.ByName(old.Get(i).Name())
		if is == nil {
			t.Errorf("%s is gone", was.FullName())
			continue
		}
		for j := range was.Fields().Len() {
			a := was.Fields().Get(j)
			b := is.Fields().ByNumber(a.Number())
			if b == nil || b.Name() != a.Name() || b.Kind() != a.Kind() || b.Cardinality() != a.Cardinality() {
				t.Errorf("%s has changed", a.FullName())
			}
		}
		sameMessages(t, was.Messages(), is.Messages())
		sameEnums(t, was.Enums(), is.Enums())
	}
}

func sameEnums(t *testing.T, old, now protoreflect.EnumDescriptors) {
	for i := range old.Len() {
		was, is := old.Get(i), now.ByName(old.Get(i).Name())
		for j := range was.Values().Len() {
			value := was.Values().Get(j)
			if is == nil || is.Values().ByNumber(value.Number()) == nil || is.Values().ByNumber(value.Number()).Name() != value.Name() {
				t.Errorf("%s has changed", value.FullName())
			}
		}
	}
}

// recordFiles replaces the files of the last version; a release does.
func recordFiles(t *testing.T) {
	testneed.Ptrace(t)
	program := filepath.Join(t.TempDir(), "app")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-linkmode=external -extldflags=-static", "-o", program, ".")
	build.Dir = filepath.Join("..", "examples", "brew")
	build.Env = append(os.Environ(), "CC="+testneed.CC(t))
	command(t, build)
	for format, name := range map[string]string{"json": "stack.json", "cbf": "stack.cbf", "swift": "stack.swift.json", "pprof": "stack.pb.gz", "snapshot": "snapshot.json"} {
		clew(t, "stack", "--break", "froth", "--format", format, "-o", filepath.Join(lastVersion, name), "--", program).want(t, done)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(readFile(t, filepath.Join(lastVersion, "snapshot.json"))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	contract, err := proto.Marshal(protodesc.ToFileDescriptorProto(unwindv1.File_unwinder_proto))
	if err != nil {
		t.Fatal(err)
	}
	handshake, err := json.Marshal(map[string]any{"protocol": plugin.ProtocolVersion, "cookieKey": plugin.Handshake.MagicCookieKey,
		"cookieValue": plugin.Handshake.MagicCookieValue, "service": plugin.Name, "lifelineEnv": plugin.EnvLifeline, "sessionPath": plugin.EnvSession})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"snapshot.json.gz": zipped.Bytes(), "unwinder.binpb": contract, "handshake.json": append(handshake, '\n')}
	names, err := schema.Files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		files[filepath.Join("schema", name.Name())] = schema.Text(name.Name())
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(lastVersion, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(lastVersion, "snapshot.json")); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unzipped(t *testing.T, name string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(readFile(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
