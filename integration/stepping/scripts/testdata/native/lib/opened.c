int opened_half(int n) {
	int m = n / 2; // @half
	return m;      // @half-return
}
