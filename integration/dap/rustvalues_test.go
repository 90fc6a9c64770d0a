package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// rusty is a program of Rust that stops where its variables hold what its lines say.
const rusty = `use std::arch::asm; use std::cell::*; use std::collections::*; use std::ffi::OsString; use std::path::PathBuf; use std::rc::Rc; use std::sync::*;
trait Area { fn area(&self) -> u32; } struct Tile { side: u32 } impl Area for Tile { fn area(&self) -> u32 { self.side * self.side } }
enum Shape { Circle(f64), Rect { w: u32, h: u32 }, Unit }
#[inline(never)] fn stop() { unsafe { asm!("int3") } }
#[inline(never)] fn hold(n: u64, s: &str, v: &Vec<i32>, name: String, o: Option<u32>, none: Option<u32>, sh: Shape, rect: Shape, sl: &[u8]) -> u64 {
    let t = (1u8, -2i64, 'x'); let big: u128 = 1u128 << 100; let arr = [1i16, 2, 3];
    let mut few: BTreeMap<i32, &str> = BTreeMap::new(); few.insert(2, "two"); few.insert(1, "one");
    let many: BTreeSet<u64> = (0..500).collect(); let empty: BTreeMap<u8, u8> = BTreeMap::new();
    let mut map: HashMap<i32, String> = HashMap::new(); map.insert(7, "seven".to_string()); let nothing: HashMap<u8, u8> = HashMap::new();
    let mut set: HashSet<u16> = HashSet::new(); for i in 0..40 { set.insert(i); } for i in 1..40 { set.remove(&i); }
    let mut ring: VecDeque<i64> = (0..4).collect(); ring.rotate_left(1); ring.pop_front(); ring.push_back(9); ring.push_back(8); ring.pop_front();
    let list: LinkedList<i8> = (5..8).collect(); let heap: BinaryHeap<i32> = (1..3).collect();
    let shared = Rc::new(11i32); let across = Arc::new("arc".to_string()); let cell = Cell::new(3u8); let lent = RefCell::new(vec![1u8]); let lock = Mutex::new(5i64);
    let path = PathBuf::from("/a/b"); let os = OsString::from("os"); let boxed: Box<[i32]> = vec![1, 2].into_boxed_slice();
    let object: Box<dyn Area> = Box::new(Tile { side: 6 }); let ok: Result<u8, String> = Ok(1); let failed: Result<u8, String> = Err("no".to_string());
    stop();
    println!("{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?}", few, many, empty, map, nothing, set, ring, list, heap, shared, across, cell, lent, lock, path, os, boxed, object.area(), ok, failed);
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
		"few": `2 elements {[1] = "one", [2] = "two"}`, "many.len()": "500", "many[499]": "499", "many[250]": "250", "empty": "0 elements {}", "map": `1 elements {[7] = "seven"}`,
		"nothing": "0 elements {}", "set": "1 elements {0}", "ring.len()": "4", "ring": "4 elements {3, 0, 9, 8}", "list": "3 elements {5, 6, 7}", "heap": "2 elements {2, 1}",
		"shared": "11", "across": `"arc"`, "cell": "3", "lent": "1 elements {1}", "lock": "5", "path": `"/a/b"`, "os": `"os"`, "boxed": "2 elements {1, 2}", "ok": "{Ok = {__0 = 1}}",
		"failed": `{Err = {__0 = "no"}}`, "n": "9", "s": `"slice"`, "*v": "3 elements {4, 5, 6}", "v[1]": "5", "v.len()": "3", "name": `"owned"`, "o": "{Some = {__0 = 3}}", "none": "{None = {}}",
		"sh": "{Circle = {__0 = 2.5}}", "rect": "{Rect = {w = 3, h = 4}}", "rect.Rect.h": "4", "sl[2]": "3", "t.1": "-2", "big": "1267650600228229401496703205376", "arr[0] + arr[2]": "4",
	} {
		m := c.request("evaluate", object{"expression": expression, "frameId": frame.ID, "context": "watch"})
		var body struct{ Result string }
		if !m.Success || m.Decode("body", &body) != nil || body.Result != want {
			t.Errorf("%s: %s, want %s", expression, m.Bytes(), want)
		}
	}
	m := c.request("evaluate", object{"expression": "object", "frameId": frame.ID, "context": "watch"})
	var body struct{ Result string }
	if !m.Success || m.Decode("body", &body) != nil || !strings.Contains(body.Result, "::Tile): {side = 6}") {
		t.Errorf("the trait object is %s", m.Bytes())
	}
	c.disconnect()
}
