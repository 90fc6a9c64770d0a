typedef int (*function)(int);

// Every function takes and gives a number, so that what a wrong breakpoint
// breaks shows in the checksum.
int outer(int n);
int outer_calling(int n);
int outer_again(int n);
int outer_crowd(int n);
int outer_jump(int n);
int outer_waiting(int n);
int outer_signal(int n);
int thread_run(int n);
void steps_setup(const char *record, function callback);
