void count_in_c(int *to);
void count_lines(int *to);
