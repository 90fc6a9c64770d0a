static int more(int n) {
	return n + 5; // @more
}

int shared_add(int n) {
	int m = more(n); // @shared-add
	return m;        // @shared-add-return
}

static int chosen(int n) {
	int m = n * 7; // @chosen
	return m;      // @chosen-return
}

static int (*choose(void))(int) {
	return chosen; // @resolver
}

int shared_chosen(int n) __attribute__((ifunc("choose")));
