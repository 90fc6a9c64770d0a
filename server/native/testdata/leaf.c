int one(int n) { return n + 1; }
static int leaf(int a, int b) { int c = a * b; return c - b; }
struct big { long a[600]; };
int frame(int n) { struct big b; b.a[n] = n; return one((int)b.a[0]) + leaf(n, 2); }
int loop(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i, n) ; return s; }
double vec(double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[i] * x[n-i-1]; return s; }
int _start(void) { return frame(3) + loop(4) + (int)vec(0, 0); }
