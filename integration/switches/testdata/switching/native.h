// Native code that knows its own stack.
#ifndef NATIVE_H
#define NATIVE_H

void level(int n); // calls Go's rung(n)
void stop(void);
void nap(void); // for 20 ms
void raise_signal(void);
void in_thread(int n); // a thread of C's that calls level(n)

#endif
