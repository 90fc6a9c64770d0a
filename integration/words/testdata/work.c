// C: calls that are inlined into each other, pointers to functions, recursion, rare
// paths that are moved away, jumps instead of calls, variable arguments.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *left, *right;
  long key;
  char name[24];
};

static long compared;

static inline int compare(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  compared++;
  return x < y ? -1 : x > y;
}

static inline struct node *make(long key) {
  struct node *n = calloc(1, sizeof *n);
  if (!n) {
    perror("make");
    abort();
  }
  n->key = key;
  snprintf(n->name, sizeof n->name, "node %ld", key);
  return n;
}

static struct node *insert(struct node *n, long key) {
  if (!n) return make(key);
  if (key < n->key)
    n->left = insert(n->left, key);
  else
    n->right = insert(n->right, key);
  return n;
}

static inline long weight(const struct node *n) { return n->key * (long)strlen(n->name); }

static long sum(const struct node *n) {
  if (!n) return 0;
  return sum(n->left) + weight(n) + sum(n->right);
}

static inline long mix(long h, long v) { return (h ^ v) * 1099511628211L; }

__attribute__((noinline)) static long hash(const char *s) {
  long h = 1469598103934665603L;
  while (*s) h = mix(h, *s++);
  return h;
}

__attribute__((noinline)) static void complain(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  va_end(list);
}

static long twice(long x) { return 2 * x; }
static long square(long x) { return x * x; }
static long (*const steps[])(long) = {twice, square, labs};

__attribute__((noinline)) long chosen(long x, int which) { return steps[which % 3](x); }

long filter(const long *all, size_t n, long least) {
  long kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (all[i] < 0) {
      complain("%zu: %ld is negative\n", i, all[i]);
      if (all[i] < -1000000) exit(3);
      continue;
    }
    switch (all[i] % 7) {
      case 0: kept += twice(all[i]); break;
      case 1: kept += square(all[i]); break;
      case 2: kept -= all[i] / 3; break;
      case 3: kept ^= all[i]; break;
      case 4: kept = mix(kept, all[i]); break;
      default: if (all[i] > least) kept++;
    }
  }
  return kept;
}

int main(int argc, char **argv) {
  enum { n = 2000 };
  long all[n];
  for (int i = 0; i < n; i++) all[i] = (i * 7919L) % 1009 - (i % 97 == 0);
  long kept = filter(all, n, argc);
  qsort(all, n, sizeof *all, compare);
  struct node *root = NULL;
  for (int i = 0; i < n; i++) root = insert(root, all[(i * 37) % n]);
  kept += sum(root) + hash(argv[0]) + chosen(argc, argc);
  return printf("%ld %ld\n", kept, compared) < 0;
}
