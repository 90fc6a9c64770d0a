int opened(int n) {
	int m = n + 1;
	return m;
}
