package document_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/server/export/document"
)

// answer is two stacks as clew stack writes them.
const answer = `"stacks":[
	{"frames":[
		{"index":0,"kind":"pc","pc":"0x1010","strategy":"registers","trust":"context","function":"in","file":"a.c","line":3,"inlined":true},
		{"index":1,"kind":"pc","pc":"0x1010","strategy":"registers","trust":"context","function":"out","file":"a.c","line":7},
		{"index":2,"kind":"ra","pc":"0x1020","strategy":"dwarfcfi","trust":"cfi"}],
		"stop":"end"},
	{"frames":[{"index":0,"kind":"ra","pc":"0x1030","strategy":"registers","trust":"context"}],"stop":"truncated","reason":"no rule"}]`

var withStacks = map[string]string{
	"stacks": `{` + answer + `,"images":[{"base":"0x1000","endOfText":"0x2000","buildID":"0aff","path":"/a"}]}`,
	"snapshot": `{"version":1,"arch":"amd64","os":"linux","images":[{"path":"/a","base":"0x0","end":"0x2000","buildID":"0aff"}],
		"maps":[{"start":"0x1000","end":"0x2000","perm":"r-xp","path":"/a"}],"threads":[],"memory":[],"expect":{` + answer + `}}`,
}

// TestReadStacks: stacks in JSON and in snapshots are backtraces with the images that
// come with them, and with the words that they have already.
func TestReadStacks(t *testing.T) {
	for what, text := range withStacks {
		docs := slices.Collect(document.Read([]byte(text), document.Options{}))
		if len(docs) != 2 {
			t.Errorf("%s: %d documents: %v", what, len(docs), docs[0].Err)
			continue
		}
		first, second := docs[0], docs[1]
		frames := []cbf.Frame{{Kind: cbf.PC, Address: 0x1010}, {Kind: cbf.RA, Address: 0x1020}}
		calls := [][]document.Call{{{"in", "a.c", 3}, {"out", "a.c", 7}}, nil}
		if first.Err != nil || !reflect.DeepEqual(first.Frames, frames) || !reflect.DeepEqual(first.Calls, calls) || !first.Complete || first.WordSize != cbf.Word64 {
			t.Errorf("%s: %+v", what, first)
		}
		if !reflect.DeepEqual(second.Frames, []cbf.Frame{{Kind: cbf.RA, Address: 0x1030}, {Kind: cbf.Truncated}}) || second.Complete {
			t.Errorf("%s: %+v", what, second)
		}
		for _, d := range docs {
			if img, ok := d.Images.Lookup(0x1010); !ok || img.Base != 0x1000 || img.Path != "/a" || len(img.BuildID) != 2 {
				t.Errorf("%s: %+v, %v", what, img, ok)
			}
		}
	}
}

// TestReadNoStacks: what has none says so.
func TestReadNoStacks(t *testing.T) {
	for text, want := range map[string]string{
		`{"stacks":[]}`: "no stack in it",
		`{"version":1,"arch":"amd64","os":"linux","images":[],"threads":[],"memory":[]}`:                          "clew unwind finds them",
		`{"version":1,"arch":"amd64","os":"linux","images":[],"threads":[],"memory":[],"expect":{"stacks":[{}]}}`: "expect",
		`{"stacks":[{"frames":[{}],"stop":"end"}]}`:                                                               "frames[0]",
	} {
		d := one(t, []byte(text), document.Options{})
		if d.Err == nil || !strings.Contains(d.Err.Error(), want) || d.Format != document.JSON {
			t.Errorf("%s: %v: %v", text, d.Format, d.Err)
		}
	}
}
