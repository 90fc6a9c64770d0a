// Built with -O0 as libplug.so, which the program opens.
static int ready;

__attribute__((constructor)) static void loaded() {
	ready = 1; // @loaded
}

extern "C" int plugged(int n) {
	int m = n + ready; // @plugged
	return m * 2;
}
