package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A pipeline of stages under one context.

type stage func(context.Context, <-chan int, chan<- int) error

type group struct {
	wg   sync.WaitGroup
	once sync.Once
	err  error
}

func (g *group) Go(f func() error) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		if err := f(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	}()
}

func pass(ctx context.Context, in <-chan int, out chan<- int) error {
	for {
		select {
		case x, ok := <-in:
			if !ok {
				return errors.New("closed")
			}
			select {
			case out <- x + 1:
			case <-ctx.Done():
				return ctx.Err()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for i := 0; i < 6; i++ {
		var g group
		first := make(chan int)
		in := first
		for _, s := range []stage{pass, pass, pass} {
			s, from, to := s, in, make(chan int)
			g.Go(func() error { return s(ctx, from, to) })
			in = to
		}
		go func() {
			for n := 0; ; n++ {
				first <- n
			}
		}()
		go g.wg.Wait()
	}
	report()
}
