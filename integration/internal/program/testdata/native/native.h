// Native code that knows its own stack: every function records its return
// address and CFA on entry, and the record is written out before the program
// stops. Tests compare unwound stacks with it, not with another unwinder.
#ifndef NATIVE_H
#define NATIVE_H

typedef int (*function)(int);

// What the innermost function does (the "stop" of native_setup).
enum { STOP_INT3, STOP_BREAK, STOP_SEGV, STOP_SPIN, STOP_SLEEP, STOP_SYSCALL, STOP_RAISE, STOP_CORE };

// native_setup names the stem of the files to write, the way to stop, and the
// Go function that C calls back.
void native_setup(const char *stem, int stop, function callback);

// Entered from Go.
int outer(int n);         // outer > middle > last > the stop
int outer_calling(int n); // outer_calling > calling > Go's callback
int outer_deep(int n);    // outer_deep > deep (n times) > last > the stop
int thread_plain(int n);  // a thread of C's: thread_main > middle > last > the stop
int thread_calling(int n); // the same, but > calling > Go's callback
int thread_signal(int n); // a thread with a signal stack of its own

// The innermost functions.
int leaf_int3(int n);
int leaf_break(int n);
int leaf_segv(int n);
int leaf_spin(int n);
int leaf_sleep(int n);
int leaf_syscall(int n);
int leaf_raise(int n);

#endif
