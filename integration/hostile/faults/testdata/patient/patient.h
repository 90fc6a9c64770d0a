// descend recurses n times and then waits for ever, counting, or executes a
// breakpoint instruction where pulse is NULL.
int descend(int n, volatile long *pulse);
