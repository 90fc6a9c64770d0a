package main

// Goroutines at channels: receive, send, select, nil channels, a range loop.

type job struct{ n int }

//go:noinline
func produce(out chan<- job, n int) {
	for i := 0; i < n; i++ {
		out <- job{i}
	}
}

//go:noinline
func consume(in <-chan job) (sum int) {
	for j := range in {
		sum += j.n
	}
	return sum
}

func both(a, b chan job, quit <-chan struct{}) {
	select {
	case <-a:
	case b <- job{}:
	case <-quit:
	}
}

func main() {
	var none chan job
	quit := make(chan struct{})
	for i := 0; i < 12; i++ {
		c, d := make(chan job), make(chan job)
		go produce(c, i+1)
		go consume(d)
		go both(none, none, quit)
		go func() { <-none }()
		go func() { none <- job{} }()
		go func() { select {} }()
	}
	report()
}
