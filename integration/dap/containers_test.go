package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// holders is a program with containers, which it leaves as its lines say.
const holders = `#include <array>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include <cstdlib>
#include <cstring>
struct Point { int x, y; };
struct Shape { virtual ~Shape() {} int id = 7; };
struct Square : Shape { int side = 3; };
struct Flags { unsigned low : 3; int mid : 5; unsigned long high : 40; } flags = {5, -3, 123456789012UL};
int grid[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
__attribute__((noinline)) void stop() { __asm__ volatile("int3" ::: "memory"); }
__attribute__((noinline)) int hold(const std::string &given, Shape &shape) {
	std::vector<int> numbers = {1, 2, 3}, none;
	std::vector<Point> points = {{1, 2}, {3, 4}};
	std::string text = "hello", longer(40, 'x');
	std::string_view view = "seen";
	std::array<short, 2> pair = {7, 8};
	std::list<long> listed = {10, 20, 30};
	std::forward_list<char> chain = {'a', 'b'};
	std::map<int, std::string> named = {{2, "two"}, {1, "one"}};
	std::set<int> sorted = {3, 1, 2};
	std::unordered_map<int, int> hashed = {{4, 40}};
	std::optional<int> some = 9, empty;
	std::unique_ptr<Point> owned(new Point{5, 6});
	std::shared_ptr<int> shared = std::make_shared<int>(11);
	alignas(std::vector<int>) char garbage[sizeof(std::vector<int>)];
	std::memset(garbage, 0x5a, sizeof garbage);
	auto *bad = reinterpret_cast<std::vector<int> *>(garbage);
	auto *ring = &listed;
	stop();
	flags.mid++;
	return numbers[0] + (int)text.size() + flags.low + flags.mid + (int)flags.high + grid[1][2] + grid[0][0] + bad->capacity() + (int)ring->size();
}
int main() {
	Square square;
	int sum = hold("given", square);
	__asm__ volatile("int3" ::: "memory");
	std::exit(flags.low == 5 && flags.mid == -1 && flags.high == 123456789012UL && grid[0][0] == 1 && grid[1][2] == 99 && sum != 0 ? 0 : 3);
}
`

// TestContainers: containers of C++ are shown as what they hold; what is not initialized is shown as it lies in memory. What is
// written changes that alone.
func TestContainers(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cxx := testneed.Tool(t, "g++")
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "holders.cc"), filepath.Join(dir, "holders")
	if err := os.WriteFile(source, []byte(holders), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cxx, "-std=c++17", "-g", "-O0", source, "-o", exe).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := start(t, binary("clew")).dial()
	c.initialize()
	c.ok("launch", object{"mode": "exec", "program": exe, "outputMode": "remote"})
	c.event("initialized")
	c.ok("configurationDone", nil)
	thread := threadOf(t, c.event("stopped"))
	frame := c.stack(thread, 0, 50).StackFrames[1]
	value := func(expression string) string {
		t.Helper()
		m := c.request("evaluate", object{"expression": expression, "frameId": frame.ID, "context": "watch"})
		var body struct{ Result string }
		if !m.Success || m.Decode("body", &body) != nil {
			return string(m.Bytes())
		}
		return body.Result
	}
	for expression, want := range map[string]string{
		"numbers": "3 elements {1, 2, 3}", "none": "0 elements {}", "points": "2 elements {{x = 1, y = 2}, {x = 3, y = 4}}", "text": `"hello"`,
		"longer": `"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"`, "view": `"seen"`, "pair": "{7, 8}", "listed": "3 elements {10, 20, 30}",
		"chain": "2 elements {97 'a', 98 'b'}", "named": `2 elements {{first = 1, second = "one"}, {first = 2, second = "two"}}`,
		"sorted": "3 elements {1, 2, 3}", "hashed": "1 elements {{first = 4, second = 40}}", "some": "some 9", "empty": "none",
		"numbers[1]": "2", "numbers.size()": "3", "named[1].second": `"two"`, "points[1].y": "4", "*owned.get()": "{x = 5, y = 6}", "*shared.get()": "11",
		"listed[2] * 2 + 1": "61", "text.size() == 5": "true", "grid[1][2]": "7", "flags.mid": "-3", "sizeof(Point)": "8",
		"*(Point *)owned.get()": "{x = 5, y = 6}", "shape.side": "3", "shape.id": "7",
	} {
		if got := value(expression); want != "" && got != want {
			t.Errorf("%s is %s, want %s", expression, got, want)
		}
	}
	if got := value("&shape"); !strings.HasSuffix(got, " (Square *)") {
		t.Errorf("the object's address is %s", got)
	}
	if got := value("shape"); !strings.Contains(got, ": (Square) {Shape = {") {
		t.Errorf("the object is %s", got)
	}
	if got := value("*bad"); got == "" || got[0] != '{' {
		t.Errorf("what is not initialized is %s", got)
	}
	for expression, text := range map[string]string{"grid[1][2]": "99", "flags.mid": "-2"} {
		c.ok("setExpression", object{"expression": expression, "value": text, "frameId": frame.ID})
		if got := value(expression); got != text {
			t.Errorf("%s is %s, want %s", expression, got, text)
		}
	}
	for expression, text := range map[string]string{"numbers": "1", "flags.low": "9", "hold": "1", "some.nothing": "1", "flags.high": "x", "stop()": "1"} {
		if m := c.request("setExpression", object{"expression": expression, "value": text, "frameId": frame.ID}); m.Success {
			t.Errorf("%s = %s: %s", expression, text, m.Bytes())
		}
	}
	c.ok("continue", object{"threadId": thread})
	c.event("stopped")
	c.ok("continue", object{"threadId": thread})
	if code := c.event("exited")["exitCode"]; code != 0.0 { // the program has looked itself
		t.Errorf("exit code %v", code)
	}
	c.disconnect()
}
