package schema_test

import (
	"io/fs"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
)

func TestFilesAreThere(t *testing.T) {
	names, err := fs.Glob(schema.Files, "*")
	if err != nil || len(names) != 9 {
		t.Errorf("%v, %v", names, err)
	}
	for _, name := range []string{schema.Snapshot, schema.Stack, schema.Decode, schema.Inspect, schema.InspectRow, schema.Plugins, schema.DAPExport, schema.DAPImages, schema.CrashReport} {
		if len(schema.Text(name)) == 0 {
			t.Errorf("%s is not there", name)
		}
	}
	if schema.Text("other.json") != nil {
		t.Error("a file that is not there has a text")
	}
	if err := schematest.Check("other.json", []byte("{}")); err == nil {
		t.Error("a schema that is not there accepts a document")
	}
}

// decoded puts frames and further fields into an otherwise valid document.
func decoded(frames, more string) string {
	return `{"wordSize":64,"complete":true,"frames":[` + frames + `]` + more + `}`
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, doc  string
		ok, closed bool // accepted; accepted when no field may be unknown
	}{
		{"nothing but the required", decoded("", ""), true, true},
		{"all kinds of frames", decoded(`{"kind":"pc","address":"0x401136"},{"kind":"ra","address":"0x0"},{"kind":"async","address":"0xff"},
			{"kind":"omit","count":3},{"kind":"truncated"}`, ""), true, true},
		{"an envelope", decoded("", `,"architecture":"x86_64","platform":"Linux","images":[
			{"base":"0x400000","endOfText":"0x401000","buildID":"0aff","name":"app","path":"/bin/app"},{"base":"0x0","endOfText":"0x1"}]`), true, true},
		{"an error", decoded("", `,"error":{"offset":3,"message":"unknown instruction 0x9f"}`), true, true},
		{"an unknown field", decoded("", `,"colour":1`), true, false},
		{"an unknown field of a frame", decoded(`{"kind":"pc","address":"0x1","colour":"f"}`, ""), true, false},
		{"a word of 8 bits", `{"wordSize":8,"complete":true,"frames":[]}`, false, false},
		{"no frames", `{"wordSize":64,"complete":true}`, false, false},
		{"no complete", `{"wordSize":64,"frames":[]}`, false, false},
		{"no word size", `{"complete":true,"frames":[]}`, false, false},
		{"no kind", decoded(`{"address":"0x1"}`, ""), false, false},
		{"an unknown kind", decoded(`{"kind":"trunc"}`, ""), false, false},
		{"a pc without address", decoded(`{"kind":"pc"}`, ""), false, false},
		{"a pc with count", decoded(`{"kind":"pc","address":"0x1","count":2}`, ""), false, false},
		{"an omit without count", decoded(`{"kind":"omit"}`, ""), false, false},
		{"an omit of nothing", decoded(`{"kind":"omit","count":0}`, ""), true, true},
		{"an omit of less", decoded(`{"kind":"omit","count":-1}`, ""), false, false},
		{"an omit with address", decoded(`{"kind":"omit","count":1,"address":"0x1"}`, ""), false, false},
		{"a number as address", decoded(`{"kind":"pc","address":1}`, ""), false, false},
		{"upper case", decoded(`{"kind":"pc","address":"0xA"}`, ""), false, false},
		{"a leading zero", decoded(`{"kind":"pc","address":"0x01"}`, ""), false, false},
		{"an image without end", decoded("", `,"images":[{"base":"0x0"}]`), false, false},
		{"half a byte of build ID", decoded("", `,"images":[{"base":"0x0","endOfText":"0x1","buildID":"abc"}]`), false, false},
		{"an error without offset", decoded("", `,"error":{"message":"x"}`), false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := schematest.Check(schema.Decode, []byte(tt.doc)); (err == nil) != tt.ok {
				t.Errorf("%s: %v", tt.doc, err)
			}
			if err := schematest.CheckOutput(schema.Decode, []byte(tt.doc)); (err == nil) != tt.closed {
				t.Errorf("closed: %s: %v", tt.doc, err)
			}
		})
	}
}

func TestInspect(t *testing.T) {
	const format = `{"format":"dwarfcfi","functions":1,"rows":2,"coveredBytes":3,"executableBytes":4,"problems":[]}`
	const row = `"format":"sframe","arch":"arm64","start":"0x0","end":"0x4"`
	for _, tt := range []struct {
		name, schema, doc string
		ok                bool
	}{
		{"nothing", schema.Inspect, `{"file":"f","arch":"amd64","formats":[]}`, true},
		{"a format", schema.Inspect, `{"file":"f","arch":"s390x","formats":[` + format + `]}`, true},
		{"slices", schema.Inspect, `{"file":"f","images":[{"arch":"arm64","formats":[` + format + `]}]}`, true},
		{"both", schema.Inspect, `{"file":"f","arch":"arm64","formats":[],"images":[{"arch":"arm64","formats":[]}]}`, false},
		{"neither", schema.Inspect, `{"file":"f"}`, false},
		{"no file", schema.Inspect, `{"arch":"amd64","formats":[]}`, false},
		{"another field", schema.Inspect, `{"file":"f","arch":"amd64","formats":[],"x":1}`, false},
		{"another format", schema.Inspect, `{"file":"f","arch":"amd64","formats":[{"format":"fpwalk","functions":1,"rows":2,"coveredBytes":3,"executableBytes":4,"problems":[]}]}`, false},
		{"no problems", schema.Inspect, `{"file":"f","arch":"amd64","formats":[{"format":"dwarfcfi","functions":1,"rows":2,"coveredBytes":3,"executableBytes":4}]}`, false},
		{"bare row", schema.InspectRow, `{` + row + `}`, true},
		{"row", schema.InspectRow, `{` + row + `,"function":"f","cfa":"sp+16","ra":"x30","fp":"unchanged","saved":{"x19":"[cfa-8]"},"flags":["mangled"],"encoding":"0x1","delegate":"dwarfcfi","expression":"sp,deref"}`, true},
		{"no end", schema.InspectRow, `{"format":"sframe","arch":"arm64","start":"0x0"}`, false},
		{"a number", schema.InspectRow, `{"format":"sframe","arch":"arm64","start":0,"end":"0x4"}`, false},
		{"an unknown flag", schema.InspectRow, `{` + row + `,"flags":["odd"]}`, false},
		{"a flag twice", schema.InspectRow, `{` + row + `,"flags":["signal","signal"]}`, false},
		{"an empty rule", schema.InspectRow, `{` + row + `,"cfa":""}`, false},
		{"another field of a row", schema.InspectRow, `{` + row + `,"x":1}`, false},
	} {
		if err := schematest.CheckOutput(tt.schema, []byte(tt.doc)); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// In outputs, no object of a snapshot or an answer may have a field that the
// contract does not know; for readers, any may.
func TestClosedObjects(t *testing.T) {
	const frame = `"index":0,"kind":"pc","pc":"0x1","strategy":"x","trust":"cfi"`
	snapshot := func(top, images, threads, expect string) string {
		return `{"version":1,"arch":"amd64","os":"linux","images":[` + images + `],"threads":[` + threads + `],"memory":[],"expect":{` + expect + `}` + top + `}`
	}
	const thread = `"registers":{"rip":"0x1"}`
	docs := []struct{ schema, doc string }{
		{schema.Stack, `{"stacks":[],"x":1}`},
		{schema.Stack, `{"stacks":[{"frames":[],"stop":"end","x":1}]}`},
		{schema.Stack, `{"stacks":[{"stop":"end","frames":[{` + frame + `,"x":1}]}]}`},
		{schema.Stack, `{"stacks":[{"stop":"end","frames":[{` + frame + `,"rejected":[{"strategy":"s","reason":"r","x":1}]}]}]}`},
		{schema.Snapshot, snapshot(`,"x":1`, "", "", "")},
		{schema.Snapshot, snapshot("", `{"path":"a","base":"0x0","x":1}`, "", "")},
		{schema.Snapshot, snapshot("", "", `{`+thread+`,"x":1}`, "")},
		{schema.Snapshot, snapshot("", "", `{`+thread+`,"claims":[{"kind":"pc","pc":"0x1","x":1}]}`, "")},
		{schema.Snapshot, snapshot("", "", `{`+thread+`,"segments":[{"low":"0x0","high":"0x1","kind":"g0","x":1}]}`, "")},
		{schema.Snapshot, snapshot("", "", "", `"stacks":[{"x":1}]`)},
		{schema.Snapshot, snapshot("", "", "", `"stacks":[{"frames":[{"x":1}]}]`)},
	}
	for _, d := range docs {
		if err := schematest.Check(d.schema, []byte(d.doc)); err != nil {
			t.Errorf("%s: %v", d.doc, err)
		}
		if err := schematest.CheckOutput(d.schema, []byte(d.doc)); err == nil {
			t.Errorf("closed, and accepted: %s", d.doc)
		}
	}
}

func TestDAPAnswers(t *testing.T) {
	const plugin = `{"name":"x","rank":0,"builtin":false,"path":"/x","state":"idle","restarts":0}`
	const image = `{"path":"/x","base":"0x1000","end":"0x2000","executableBytes":5,"unwind":[{"strategy":"fpwalk","anywhere":true,"coveredBytes":0,"share":0,"frames":2}]}`
	for _, tc := range []struct {
		name, schema, doc string
		ok                bool
	}{
		{"plugins", schema.Plugins, `{"plugins":[` + plugin + `]}`, true},
		{"a state", schema.Plugins, `{"plugins":[{"name":"x","rank":0,"builtin":false,"path":"/x","state":"tired","restarts":0}]}`, false},
		{"no list", schema.Plugins, `{}`, false},
		{"images", schema.DAPImages, `{"images":[` + image + `]}`, true},
		{"a number as address", schema.DAPImages, `{"images":[{"path":"/x","base":4096,"end":"0x2000","executableBytes":5,"unwind":[]}]}`, false},
		{"no images", schema.DAPImages, `{"images":[]}`, true},
		{"export", schema.DAPExport, `{"files":[{"name":"x.json","data":"e30="}],"stacks":1,"truncated":0}`, true},
		{"a folder", schema.DAPExport, `{"files":[{"name":"a/x.json","data":"e30="}],"stacks":1,"truncated":0}`, false},
		{"no files", schema.DAPExport, `{"files":[],"stacks":1,"truncated":0}`, false},
		{"another field", schema.DAPExport, `{"files":[{"name":"x","data":""}],"stacks":1,"truncated":0,"x":1}`, false},
	} {
		if err := schematest.CheckOutput(tc.schema, []byte(tc.doc)); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
