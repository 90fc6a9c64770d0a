// Native code that knows its own stack: every function records its return
// address and CFA on entry, and the record is written out before the program
// stops. Tests compare unwound stacks with it, not with another unwinder.
// Run ../../sframe.sh after a change: libraries of this code are kept there.
#ifndef NATIVE_H
#define NATIVE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef int (*function)(int);

// What the innermost function does (the "stop" of native_setup).
enum { STOP_INT3, STOP_BREAK, STOP_SEGV, STOP_SPIN, STOP_SLEEP, STOP_SYSCALL, STOP_RAISE, STOP_CORE, STOP_TINY, STOP_PLT };

// native_setup names the stem of the files to write, the way to stop, and the
// Go function that C calls back.
void native_setup(const char *stem, int stop, function callback);

// native_ready writes the addresses of places to stop at to STEM.where, and
// stops: from here on a breakpoint can be set at them.
void native_ready(void);

// Entered from Go.
int outer(int n);         // outer > middle > last > the stop
int outer_calling(int n); // outer_calling > calling > Go's callback
int outer_deep(int n);    // outer_deep > deep (n times) > last > the stop
int outer_catching(int n); // outer_catching > catching: what crossed > throwing threw > middle > last > the stop
int outer_cleaning(int n); // the same, but stops in a destructor that runs on the way, in crossed
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
int leaf_tiny(int n);
int leaf_plt(int n);

#ifdef __cplusplus
}
#endif

#endif
