int run(const char *way, const char *file, int x);
