package main

import "sync"

// Goroutines at locks: mutexes, readers and writers, conditions, groups, once.

type account struct {
	mu    sync.Mutex
	state sync.RWMutex
	any   *sync.Cond
	all   sync.WaitGroup
	first sync.Once
}

func (a *account) deposit() {
	a.mu.Lock()
	defer a.mu.Unlock()
}

func (a *account) read() {
	a.state.RLock()
	defer a.state.RUnlock()
}

func (a *account) write() {
	a.state.Lock()
	a.state.Unlock()
}

func (a *account) wait() {
	a.any.L.Lock()
	a.any.Wait()
}

func main() {
	a := &account{any: sync.NewCond(new(sync.Mutex))}
	a.mu.Lock()
	a.state.Lock()
	a.all.Add(1)
	entered := make(chan struct{})
	go a.first.Do(func() {
		close(entered)
		select {}
	})
	<-entered // which goroutine comes first must not depend on the scheduler
	for i := 0; i < 10; i++ {
		go a.deposit()
		go a.read()
		go a.write()
		go a.wait()
		go a.all.Wait()
		go a.first.Do(func() { select {} })
	}
	report()
}
