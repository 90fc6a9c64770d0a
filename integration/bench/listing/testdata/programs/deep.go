package main

import (
	"fmt"
	"sort"
	"strings"
)

// Deep stacks: recursion, generics, closures, deferred and inlined calls, interfaces.

type visitor interface{ visit(n int) }

type tree struct{ wait func() }

func (t tree) visit(n int) {
	if n == 0 {
		t.wait()
		return
	}
	even(t, n)
}

//go:noinline
func even(v visitor, n int) { odd(v, n-1) }

//go:noinline
func odd(v visitor, n int) { v.visit(n) }

func each[T any](list []T, f func(T)) {
	for _, x := range list {
		f(x)
	}
}

func small(f func()) { f() }

type byWait struct{ wait func() }

func (b byWait) Len() int           { return 2 }
func (b byWait) Swap(i, j int)      {}
func (b byWait) Less(i, j int) bool { small(b.wait); return i < j }
func (b byWait) String() string     { b.wait(); return "" }

func unwound(wait func()) {
	defer func() {
		_ = recover()
		wait()
	}()
	defer wait()
	panic("on purpose")
}

func main() {
	never := make(chan int)
	wait := func() { <-never }
	for i := 0; i < 8; i++ {
		go tree{wait}.visit(4 * i)
		go each([]string{"a"}, func(string) { each([]int{1}, func(int) { wait() }) })
		go sort.Sort(byWait{wait})
		go func() { _ = fmt.Sprint(byWait{wait}) }()
		go func() { _ = strings.Map(func(r rune) rune { wait(); return r }, "x") }()
		go unwound(wait)
	}
	report()
}
