package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// rusty is a program of Rust that stops where its variables hold what its lines say.
const rusty = `use std::arch::asm;
enum Shape { Circle(f64), Rect { w: u32, h: u32 }, Unit }
#[inline(never)] fn stop() { unsafe { asm!("int3") } }
#[inline(never)] fn hold(n: u64, s: &str, v: &Vec<i32>, name: String, o: Option<u32>, none: Option<u32>, sh: Shape, rect: Shape, sl: &[u8]) -> u64 {
    let t = (1u8, -2i64, 'x'); let big: u128 = 1u128 << 100; let arr = [1i16, 2, 3];
    stop();
    println!("{} {} {:?} {} {:?} {:?} {:?} {} {:?} {:?}", n, s, v, name, o, none, t, big, arr, sl);
    match (sh, rect) { (Shape::Circle(x), Shape::Rect { w, h }) => x as u64 + w as u64 + h as u64, (Shape::Unit, _) => 1, _ => n }
}
fn main() { let v = vec![4, 5, 6]; let x = hold(9, "slice", &v, "owned".to_string(), Some(3), None, Shape::Circle(2.5), Shape::Rect { w: 3, h: 4 }, &[1u8, 2, 3]); std::process::exit((x > 100) as i32) }
`

// TestRustValues: variables of Rust: variants, tuples, strings and vectors, which references stand for.
func TestRustValues(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	rustc := testneed.Tool(t, "rustc")
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "rusty.rs"), filepath.Join(dir, "rusty")
	if err := os.WriteFile(source, []byte(rusty), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(rustc, "-g", "-o", exe, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	frame := c.stack(threadOf(t, c.event("stopped")), 0, 50).StackFrames[1]
	for expression, want := range map[string]string{
		"n": "9", "s": `"slice"`, "*v": "3 elements {4, 5, 6}", "v[1]": "5", "v.len()": "3", "name": `"owned"`, "o": "{Some = {__0 = 3}}", "none": "{None = {}}",
		"sh": "{Circle = {__0 = 2.5}}", "rect": "{Rect = {w = 3, h = 4}}", "rect.Rect.h": "4", "sl[2]": "3", "t.1": "-2", "big": "1267650600228229401496703205376", "arr[0] + arr[2]": "4",
	} {
		m := c.request("evaluate", object{"expression": expression, "frameId": frame.ID, "context": "watch"})
		var body struct{ Result string }
		if !m.Success || m.Decode("body", &body) != nil || body.Result != want {
			t.Errorf("%s: %s, want %s", expression, m.Bytes(), want)
		}
	}
	c.disconnect()
}
