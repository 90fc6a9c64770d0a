// Built without debugging information as libbare.so, and stripped.
int bare(int n) { return n * 7; }
