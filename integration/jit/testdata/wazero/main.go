// Command wazero runs WebAssembly that calls itself and then loops for ever. Its
// arguments are what it does before it loops, and how deep it calls.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// module is a module in WebAssembly's binary format (WebAssembly core specification, section 5): its function f calls
// itself so many times as its argument says, then env.back, then it loops.
var module = []byte{
	0, 'a', 's', 'm', 1, 0, 0, 0,
	1, 9, 2, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 0, 0, // types: func(i32) i32, func()
	2, 12, 1, 3, 'e', 'n', 'v', 4, 'b', 'a', 'c', 'k', 0, 1, // imports: func 0
	3, 2, 1, 0, // func 1
	7, 5, 1, 1, 'f', 0, 1, // exports
	10, 27, 1, 25, 0,
	0x20, 0, 0x45, 0x04, 0x40, // if argument == 0
	0x10, 0, // call env.back
	0x03, 0x40, 0x0c, 0, 0x0b, // loop for ever
	0x0b,
	0x20, 0, 0x41, 1, 0x6b, 0x10, 1, 0x20, 0, 0x6a, 0x0b, // return f(argument - 1) + argument
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	depth := must(strconv.ParseUint(os.Args[2], 10, 32))
	config := wazero.NewModuleConfig()
	backs := 0
	back := func(ctx context.Context) {
		if backs++; os.Args[1] == "nested" && backs == 1 {
			inner := must(runtime.InstantiateModule(ctx, must(runtime.CompileModule(ctx, module)), config.WithName("inner")))
			callInner(ctx, inner.ExportedFunction("f"), depth)
		}
		fmt.Println("loops")
	}
	must(runtime.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(back).Export("back").Instantiate(ctx))
	outer := must(runtime.InstantiateModule(ctx, must(runtime.CompileModule(ctx, module)), config.WithName("outer")))
	f := outer.ExportedFunction("f")
	// Calls that are over leave their words on the stack.
	if os.Args[1] == "deeper" {
		deeper(ctx, must(runtime.InstantiateModule(ctx, must(runtime.CompileModule(ctx, finite)), config.WithName("finite"))), 50)
	}
	must(f.Call(ctx, depth))
}

// finite has a function g that returns at once.
var finite = []byte{
	0, 'a', 's', 'm', 1, 0, 0, 0,
	1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 'g', 0, 0, 10, 4, 1, 2, 0, 0x0b,
}

//go:noinline
func deeper(ctx context.Context, m api.Module, n int) {
	var room [64]byte
	if n > 0 {
		deeper(ctx, m, n-1)
	}
	must(m.ExportedFunction("g").Call(ctx))
	_ = room
}

//go:noinline
func callInner(ctx context.Context, f api.Function, depth uint64) { must(f.Call(ctx, depth)) }
